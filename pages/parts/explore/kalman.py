"""Why PILLAR Kalman works: one picture each for its prior, for how far a direction is believed, and for distillation."""

import streamlit as st

from pages.frame import badges, core, memory, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.studies import kalman_reasons

LEARNER = kalman_reasons.LEARNER


def panel(settings: Settings) -> None:
    """The three pictures of the run that the settings describe."""
    st.markdown("## Why it works")
    reasons = _reasons(core.run_key(settings), settings)
    if reasons is None:
        st.caption("This run left the public directions aside, for its private rows spread elsewhere: there is no prior to show.")
        return
    mode = theme.mode()
    prior = plots.by_direction(
        reasons.prior,
        {"expected": "expected under the prior", "noise": "noise alone", "seen": "seen"},
        title="1. The prior",
        y_title="mean square (log scale)",
        caption="The first noisy sum, direction by direction. How far it stands above the noise says how large a head to expect.",
        y_log=True,
        mode=mode,
    )
    believed = plots.by_direction(
        reasons.believed,
        {"all": "after all sums", "first": "after the first"},
        title="2. What is believed",
        y_title="share known from data",
        caption=f"A direction moves the head as far as its noise allows: all {len(reasons.believed)} count for {reasons.effective:.1f}.",
        mode=mode,
    )
    words = "" if reasons.accuracies is None else f" Test accuracy {' → '.join(f'{100 * part:.1f} %' for part in reasons.accuracies)}."
    distilled = plots.by_direction(
        reasons.distilled,
        {"after": "after the public rows", "before": "before"},
        title="3. Distillation",
        y_title="size of the head",
        caption="The head is fitted to its own answers on public rows: directions without a noisy sum join in." + words,
        mode=mode,
    )
    drawings = (("prior", prior, reasons.prior), ("believed", believed, reasons.believed), ("distilled", distilled, reasons.distilled))
    for column, (name, figure, table) in zip(st.columns(3), drawings, strict=True):
        provenance = [badges.PRIVATE, *([badges.NON_PRIVATE] if name == "distilled" and reasons.accuracies else []), badges.EXPERIMENT]
        with column:
            show_figure(figure, table, FigureInfo(f"kalman_{name}", settings, provenance))
    st.caption(
        "All three are computed from what this run released anyway and from public rows; they cost no further ε. What each part is worth "
        "on average is in docs/papers.md, under “Part by part”."
    )


@memory.of_rows(max_entries=8, show_spinner="Reading the run's own figures …")
def _reasons(run_key: str, _settings: Settings) -> kalman_reasons.Reasons | None:
    return kalman_reasons.reasons(core.spec(_settings), core.split(_settings))
