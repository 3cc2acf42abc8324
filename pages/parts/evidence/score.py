"""The Evidence page's attack on a score: what a gradient subspace distance, released without noise, tells about one private row."""

import streamlit as st

from pages.frame import badges, core, memory, navigation, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.studies.evidence import score_leak
from pillar_core.studies.evidence.score_leak import ScoreLeak


def leak(settings: Settings) -> None:
    """Three readings of one released distance by two attackers, beside the published attack."""
    words.say("score", st.markdown)
    if not core.split(settings).facts.n_public:
        st.info("There are no public rows to score against: choose some in the sidebar.", icon=":material/info:")
        return
    study = _score_leak(settings)
    sure, table = study.table.iloc[0], study.table.set_index(["attacker", "sees"])["success"]
    badges.show_row(*badges.DIAGNOSTIC)
    numbers = {
        "distance": f"{study.distance:.4f}",
        "moves": f"{study.largest_movement:.2g}",
        "sure": f"{100 * sure['success']:.0f} %",
        "paper": f"{100 * table.iloc[-1]:.1f} %",
    }
    words.metrics("score", numbers, k=score_leak.K, rows=study.rows)
    title = "Without noise, the score gives away one row to anyone who knows the rest"
    drawn = plots.right_guesses(study.table, mode=theme.mode(), published=score_leak.PUBLISHED, title=title)
    show_figure(drawn, study.table, FigureInfo("score_leak", settings))
    left, right = st.columns([3, 1], vertical_alignment="center")
    words.say("score_published", left.caption)
    with right:
        navigation.link("screen", "Screen with a paid score")


@memory.of_rows(max_entries=8, show_spinner="Attacking the score …", by=core.split_key)
def _score_leak(settings: Settings) -> ScoreLeak:
    split = core.split(settings)
    return score_leak.score_leak(split.features.x_train[split.private], split.public_x, seed=settings.seed)
