"""Geometry: does projecting help on these rows? Spectrum, margins, ξ_k and a predicted best k beside the measured one."""

import streamlit as st

from pages.frame import badges, failures, history, local, navigation, session, theme
from pages.parts.geometry import shapes
from pages.parts.geometry import views as geometry_views
from pillar_core import geometry as geo
from pillar_core.types import Provenance

navigation.begin()
settings = session.current()
history.look(settings)

theme.title(
    "When does projecting help?",
    "Projection pays when few <b>public</b> directions hold what separates the <b>private</b> classes. Here is how many that takes, "
    "what is lost on the way, and the k where that balances the noise of a privacy budget <b>ε</b>.",
)

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
    chosen = local.one(
        "View", geometry_views.VIEWS, "xi", name="geometry-view", help="Looks at the same rows; the sidebar's k and ε are marked in each."
    )
    geometry_views.draw(chosen, settings)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Directions**: one eigendecomposition of the centred public rows; the first k columns serve every k. Private directions and "
        "everything that reads labels are non-private diagnostics: for your eyes, not for release.\n"
        f"- **Separators**: support vector machines (squared hinge, C = 1) on at most {shapes.ROWS_PER_CLASS:,} private rows a class; "
        "ξ_k = 1 − ‖A_kᵀw‖/‖w‖ without the intercept.\n"
        "- **Margins**: the largest value that the chosen share of rows reach; negative where classes cannot be separated.\n"
        "- **Prediction**: class means and variances in the basis, noise of one release, a linear rule. "
        "A model that was checked on four real sets, not a bound: see `docs/geometry.md`."
    )
