"""Watch the noise: one private training, step by step, on the rows at hand."""

import dataclasses

import streamlit as st

from pages.frame import badges, core, local, memory, plain, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core.plots import Mode
from pillar_core.plots.steps import training_in_steps
from pillar_core.plots.theme import Figure
from pillar_core.studies import one_training as steps
from pillar_core.types import Values

_steps = core.of_run(steps.training_steps, max_entries=8, show_spinner="Training once more, step by step …")


def panel(settings: Settings) -> None:
    """The animation, and one step in numbers."""
    pillar = settings if settings.method == "pillar" else dataclasses.replace(settings, method="pillar")
    if pillar is not settings:
        st.caption("Shown for PILLAR, whose steps are sums over rows in few public directions.")
    key = core.run_key(pillar)
    parts = _steps(pillar)
    figure = _figure(key, theme.mode(), parts, pillar)
    info = FigureInfo("training_steps", pillar, [badges.NON_PRIVATE, badges.PRIVATE, badges.EXPERIMENT])
    show_figure(figure, parts.pushes, info)
    numbers = [int(step) for step in parts.pushes["step"]]
    step = local.slider("noise-step", numbers, numbers[0])
    rows = parts.opened[parts.opened["step"] == step].drop(columns="step")
    st.dataframe(rows, hide_index=True, key="table-noise-step")
    words.say("noise", pushed=plain.text(parts.pushed), k=parts.k, noise=parts.noise)


@memory.of_rows(max_entries=8, is_free=True)
def _figure(run_key: str, mode: Mode, _parts: steps.TrainingSteps, _settings: Settings) -> Figure:
    of: Values = {"noise": _parts.noise, "pushed": _parts.pushed, "classes": core.split(_settings).features.classes}
    return training_in_steps(_parts.points, _parts.heads, _parts.pushes, mode=mode, **of)
