"""Why: does projecting help on these rows? Spectrum, margins, ξ_k and a predicted best k
beside the measured one."""

import streamlit as st

from pages.frame import badges, local, navigation, receipts, words
from pages.parts.lessons import lesson
from pages.parts.why import projection
from pillar_core import geometry as geo
from pillar_core.numerics import number_words

settings = navigation.begin()
lesson.banner("why", settings)
if not receipts.look(settings):
    st.stop()
separation = projection.Separation(settings)
basis = projection.basis(separation, geo.BasisKind.PUBLIC_PCA)
spectrum = geo.spectrum(basis)
hyperplanes, is_complete = projection.separators(separation)
best = geo.best_k(projection.predicted_curves(settings, (settings.epsilon,)))
k = projection.present_k(settings, basis.rank)
missed = geo.xi_of(hyperplanes.weights, basis.vectors)[:, k - 1].mean()
badges.show_row(badges.NON_PRIVATE)
of = f"{len(hyperplanes.pairs)} pairs{'' if is_complete else ', a preview'}"
percent = 100 * best["accuracy"].iloc[0]
words.metrics(
    (
        f"Energy at k = {k}",
        f"{100 * spectrum['cumulative'].iloc[k - 1]:.1f} %",
        "Share of the public rows' variance that k directions hold. Public only.",
    ),
    (
        f"Missed, ξ at k = {k}",
        f"{missed:.2f}",
        (f"Share of the classes' separators that k directions miss, mean over {of}. Non-private."),
    ),
    (
        f"Gap Δ after direction {k}",
        number_words(spectrum["gap"].iloc[k - 1], 2),
        (
            "How far the public rows' spread falls from direction k to the next, λₖ − λₖ₊₁: the"
            " smaller the gap, the more public rows the theorem requires."
        ),
    ),
    (
        f"Predicted best k at ε = {settings.epsilon:g}",
        f"{best['k'].iloc[0]:,.0f}",
        (
            f"The model of Gaussian classes takes {percent:.0f} % of the rows for right there."
            " That is no accuracy: on four real sets it was 3 to 13 points off, mostly too"
            " high. From class means without noise: non-private."
        ),
    ),
)
ratio, kind = projection.collapse(settings)
if ratio is not None:
    st.caption(
        f"**Spread within classes over spread between them: {ratio:.2g}** (labelled {kind} rows)."
        " At 0 features have collapsed, and the number of dimensions no longer matters to noisy"
        " training ([Wang et al. 2024](https://arxiv.org/abs/2405.08920)). The four"
        " sets that the prediction was checked on have 1.1 to 6.9."
    )
view = local.choice(
    "geometry-view",
    label="View",
    default="xi",
    options={
        "xi": "ξ: what k directions miss",
        "gain": "When it helps",
        "margins": "Margins",
        "spectrum": "Spectrum",
        "best": "Best k",
    },
)
projection.VIEWS[view](settings)
