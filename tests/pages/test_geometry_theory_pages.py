"""The geometry and theory pages: every view draws on an empty cache, numbers are those of the
library, refusals are words."""

import dataclasses

from page_reading import charts, links, metric, unexplained, words
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import geometry, params
from pillar_core.theory import CALCULATORS


def test_the_numbers_above_are_the_librarys(start, split):
    app = start("why", k="8")
    spectrum = geometry.spectrum(geometry.basis_of(geometry.rows_of(split)))
    assert metric(app, "Energy at k = 8") == f"{100 * spectrum['cumulative'].iloc[7]:.1f} %"
    assert metric(app, "Gap Δ after direction 8") == f"{spectrum['gap'].iloc[7]:.2g}"
    ratio = geometry.collapse_ratio(split.public_x, split.public_y)
    assert f"between them: {ratio:.2g}** (labelled public rows)" in words(app)


def test_margins_lead_to_the_theorem_at_their_own_values(start):
    app = start("why", controls="geometry-view:margins", k="8", epsilon="0.1")
    assert "Compatibility χ at this γ" in words(app)
    (query,) = (query for label, query in links(app).items() if "Theorem 1 at this" in label)
    app = start("playgrounds", **query)
    assert not app.error
    inputs = {field.label: field.value for field in app.number_input}
    assert inputs["k, directions"] == 8
    assert inputs["ε, budget"] == 0.1
    assert 0 < inputs["Δ, eigengap"] < 0.1


def test_private_and_noised_directions_wear_their_badges(start):
    app = start("why", epsilon="0.5")
    app.session_state["local.bases"] = "public_pca,private_pca,dp_pca,random,identity"
    app.run()
    assert "DP: spends ε" in words(app)
    assert "an experiment, its noise is known" in words(app)


def test_pinned_rows_are_drawn_beside_the_sidebars(start):
    a = dataclasses.replace(Settings(), data="breast_cancer")
    app = start("why", controls="geometry-view:xi", a=codec.pin(a))
    assert "pinned A" in str(charts(app))


def test_every_theorem_has_labels_and_draws_and_a_broken_range_is_said(start):
    for calculator in CALCULATORS.values():
        assert all(param.label for param in params.params_of(calculator.settings).values())
    app = start("playgrounds", controls="theory-view:theorems")
    assert not app.error
    assert unexplained(app) == {}
    for name in [*CALCULATORS, "pillar_theorem_1"]:
        app.session_state["local.theorem"] = name
        app.run()
        assert CALCULATORS[name].says in words(app)
    assert not app.warning
    app.session_state["local.pillar_theorem_1.epsilon"] = 0.5
    app.run()
    assert "ε < 1/√k" in app.warning[0].value
    app.session_state["local.pillar_theorem_1.beta"] = 2.0
    app.run()
    assert "beta must be" in app.error[0].value


def test_many_components_are_explained(start):
    app = start("playgrounds", controls="theory-view:disjunctions")
    assert not app.error
    assert unexplained(app) == {}
    for name, value in (("graph.n", 2), ("graph.p", 0.002), ("graph.d", 100)):
        app.session_state[f"local.{name}"] = value
    app.run()
    assert "More unlabelled rows join them" in words(app)
