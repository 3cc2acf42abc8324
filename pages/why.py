"""Why: does projecting help on these rows? Spectrum, margins, ξ_k and a predicted best k
beside the measured one."""

import streamlit as st

from pages.frame import badges, local, navigation, receipts, words
from pages.parts.why import projection
from pillar_core import geometry as geo
from pillar_core.numerics import number_words

settings = navigation.begin()
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
numbers = {
    "energy": f"{100 * spectrum['cumulative'].iloc[k - 1]:.1f} %",
    "missed": f"{missed:.2f}",
    "gap": number_words(spectrum["gap"].iloc[k - 1], 2),
    "best": f"{best['k'].iloc[0]:,.0f}",
}
of = f"{len(hyperplanes.pairs)} pairs{'' if is_complete else ', a preview'}"
words.metrics(
    "why",
    numbers,
    k=k,
    of=of,
    epsilon=settings.epsilon,
    percent=100 * best["accuracy"].iloc[0],
)
ratio, kind = projection.collapse(settings)
if ratio is not None:
    st.caption(
        f"**Spread within classes over spread between them: {ratio:.2g}** (labelled {kind} rows)."
        " At 0 features have collapsed, and the number of dimensions no longer matters to noisy"
        " training ([Wang et al. 2024](https://arxiv.org/abs/2405.08920)). The sets in"
        " `docs/explore.md` have 1.1 to 6.9."
    )
view = local.choice(
    "geometry-view",
    label="View",
    default="xi",
    options={
        "gain": "When it helps",
        "xi": "ξ: what k directions miss",
        "margins": "Margins",
        "spectrum": "Spectrum",
        "best": "Best k",
    },
)
projection.VIEWS[view](settings)
