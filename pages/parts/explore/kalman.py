"""Why PILLAR Kalman works: one picture each for its prior, for how far a direction is believed, and for distillation."""

import streamlit as st

from pages.frame import badges, core, memory, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.studies import one_training

LEARNER = one_training.LEARNER


def panel(settings: Settings) -> None:
    """The three pictures of the run that the settings describe."""
    st.markdown("## Why it works")
    reasons = _reasons(core.run_key(settings), settings)
    if reasons is None:
        st.caption("This run left the public directions aside, for its private rows spread elsewhere: there is no prior to show.")
        return
    reached = " → ".join(f"{100 * part:.1f} %" for part in reasons.accuracies or ())
    fields = {"rows": len(reasons.believed), "effective": reasons.effective, "reached": f" Test accuracy {reached}." if reached else ""}
    for column, (name, drawing) in zip(st.columns(3), words.WORDS["kalman"].items(), strict=True):
        table, style = getattr(reasons, name), drawing | {"caption": drawing["caption"].format_map(fields)}
        provenance = [badges.PRIVATE, *([badges.NON_PRIVATE] if name == "distilled" and reached else []), badges.EXPERIMENT]
        with column:
            figure = plots.by_direction(table, **style, mode=theme.mode())
            show_figure(figure, table, FigureInfo(f"kalman_{name}", settings, provenance))
    words.say("kalman")


@memory.of_rows(max_entries=8, show_spinner="Reading the run's own figures …")
def _reasons(run_key: str, _settings: Settings) -> one_training.Reasons | None:
    return one_training.reasons(core.spec(_settings), core.split(_settings))
