"""Figures of the geometry and theory pages, tested without pixels: what is drawn where, and with which words."""

import math

import numpy as np
import pandas as pd
import pytest

from pillar_core import plots, theory
from pillar_core.studies import geometry as studies

KS = [1, 4, 16, 64]


def xi():
    rows = [(b, k, 0.5 / k, 0.2 / k, 0.9 / k, 3) for b in ("public_pca", "random") for k in KS]
    return pd.DataFrame(rows, columns=["basis", "k", "mean", "low", "high", "pairs"])


def line(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_xi_draws_the_mean_and_spans_the_pairs():
    figure = plots.xi_against_k(xi(), k=16)
    assert list(line(figure, "public directions").y) == [0.5 / k for k in KS]
    band = next(trace for trace in figure.data if trace.fill == "toself")
    assert max(band.y) == 0.9
    assert min(band.y) == 0.2 / 64
    assert "0.50 at k = 1" in figure.layout.meta["alt"]


def test_margins_rates_and_graphs_draw_what_there_is():
    table = pd.DataFrame({"class": ["a", "a", "b", "b"], "whole": [0.2, 0.1, -0.1, -0.3], "projected": [0.2, -0.1, 0.0, -0.3]})
    figure = plots.margin_histogram(table, k=3, d=9, classes=("a", "b"))
    assert figure.layout.title.text == "In k = 3 directions 2 of 4 rows lie on the wrong side, with all features 0"
    assert [sum(trace.y) for trace in figure.data] == [2, 2, 2, 2]
    names = {trace.name for trace in plots.rates(theory.rate_curves("k", [1, 10], gamma=0.0)).data}
    assert names == {"generic semi-private learner"}
    figure = plots.component_graph([0, 0, 1, 1, 2], np.array([[0, 1], [2, 3]]), k=2, n_unlabelled=5)
    assert np.isnan(np.array(figure.data[0].x, dtype=float)).sum() == 2
    assert "3 components" in figure.layout.title.text
    assert len(plots.component_table([0, 1], k=1)) == 2


def test_gains_lie_against_public_facts_with_the_present_place_marked():
    # (ε, δ) = (1, 1e-5) is μ = 0.268051 of a Gaussian, in closed form: ten classes of 180 rows in 1,280 directions.
    ratio = studies.noise_ratio(n_private=1800, d=1280, classes=10, epsilon=1.0)
    assert ratio == pytest.approx(10 * math.sqrt(1280) / (1800 * 0.268051), rel=1e-4)
    table = studies.projection_gains()
    assert not table.duplicated(["set", "epsilon"]).any()
    figure = plots.projection_gains(table, spearman=table.attrs["spearman"], present=ratio)
    drawn = {trace.name: trace for trace in figure.data}
    assert set(drawn) == set(table["set"])
    digits = table[table["set"] == "Digits (pixels)"]
    assert list(drawn["Digits (pixels)"].y) == pytest.approx(list(digits["gain"]))
    assert list(drawn["Digits (pixels)"].error_y.array) == pytest.approx(list(digits["high"] - digits["gain"]))
    assert figure.layout.title.text == "Projection helps where noise is larger than the signal"
    unsure = plots.projection_gains(table.assign(low=-1.0), spearman=0.0)
    assert unsure.layout.title.text.endswith("?"), "a headline is computed"
    assert ratio in [shape.x0 for shape in figure.layout.shapes]
    assert f"Rank correlation {table.attrs['spearman']:.2f} over {len(table)} cells" in figure.layout.meta["caption"]
