"""Geometry: does projecting help on these rows? Spectrum, margins, ξ_k and a predicted best k beside the measured one."""

from pages.frame import badges, failures, history, local, navigation, session, theme, words
from pages.parts.geometry import shapes
from pages.parts.geometry import views as geometry_views
from pillar_core import geometry as geo
from pillar_core.types import Provenance

navigation.begin()
settings = session.current()
history.look(settings)

words.title("geometry")

with failures.shown("The geometry of these rows could not be drawn."):
    separation = shapes.Separation(settings)
    basis = shapes.basis(separation, geo.BasisKind.PUBLIC_PCA)
    spectrum = geo.spectrum(basis)
    found, is_complete = shapes.separators(separation)
    best = geo.best_k(shapes.predicted(settings, (settings.epsilon,)))
    k = int(best["k"].iloc[0]) if settings.is_rule_k else min(settings.k, basis.rank)
    missed = geo.xi_of(found.weights, basis.vectors)[:, k - 1].mean()
    badges.provenance_row(Provenance.NON_PRIVATE)
    theme.metrics(
        (
            f"Energy at k = {k}",
            f"{100 * spectrum['cumulative'].iloc[k - 1]:.1f} %",
            "Share of the public rows' variance that k directions hold. Public only.",
        ),
        (
            f"Missed, ξ at k = {k}",
            f"{missed:.2f}",
            "Share of the classes' separators that k directions miss, "
            f"mean over {len(found.pairs)} pairs{'' if is_complete else ', a preview'}. Non-private.",
        ),
        (
            f"Gap Δ at k = {k}",
            f"{spectrum['gap'].iloc[k - 1]:.2g}",
            "λ_k − λ_k₊₁ of the public rows: small gaps make theory ask for many.",
        ),
        (
            f"Predicted best k at ε = {settings.epsilon:g}",
            f"{best['k'].iloc[0]:,.0f}",
            f"Predicted accuracy {100 * best['accuracy'].iloc[0]:.0f} %. From class means without noise: non-private.",
        ),
    )
    geometry_views.VIEWS[local.one("geometry-view")](settings)

words.explained("geometry", rows=shapes.ROWS_PER_CLASS)
