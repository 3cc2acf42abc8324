"""Bounds against simulation at their stated probability, on small cases with a fixed seed, and
playgrounds against truth.

A bound that fails with probability at most p may be exceeded in R independent draws at most c
times, where P(Binomial(R, p) > c) < 1e-6: `allowed(R, p)`. Power: the same counts must reject a
bound that is smaller by the factor that stands in the test (the bounds are loose, some by more than
ten).
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from pillar_core import rng, theory
from pillar_core.errors import SettingError
from pillar_core.theory import CALCULATORS, Form
from pillar_core.theory.pillar_shift import moment_shift, public_rows
from users import raises, refuses

LEVEL = 1e-6


def allowed(draws, p):
    return int(binom.isf(LEVEL, draws, p))


def rotated_pairs(weights, angle, n, generator):
    """Sample second moment of rows that are ±(cos, ±sin) mixtures of neighbours, so that sampling
    turns the eigenvectors."""
    d = len(weights)
    directions = []
    for i in range(d):
        for sign in (-1, 1):
            v = np.zeros(d)
            v[i], v[(i + 1) % d] = math.cos(angle), sign * math.sin(angle)
            directions.append(v)
    directions = np.array(directions)
    chances = np.repeat(weights, 2) / 2
    counts = generator.multinomial(n, chances)
    population = (directions.T * chances) @ directions
    return population, (directions.T * (counts / n)) @ directions


def top(moment, k):
    values, vectors = np.linalg.eigh(moment)
    return values[::-1], vectors[:, ::-1][:, :k]


def distance_of(a, b):
    return np.linalg.norm(a @ a.T - b @ b.T)


@pytest.mark.parametrize(("k", "n", "beta"), [(1, 2000, 1.0), (2, 2000, 1.0), (1, 20_000, 3.0)])
def test_lemma_4_holds_at_its_probability(k, n, beta):
    generator, weights = rng.stream(4, "lemma 4", k, n), np.array([0.6, 0.25, 0.1, 0.05])
    draws, exceeded, sharp = 300, 0, 0
    for _ in range(draws):
        population, sample = rotated_pairs(weights, 0.4, n, generator)
        values, a = top(population, k)
        distance = distance_of(a, top(sample, k)[1])
        bound = theory.projector_bound(n=n, gap=values[k - 1] - values[k], beta=beta)
        assert n >= theory.fewest_rows(gap=values[k - 1] - values[k], beta=beta)
        exceeded += distance > bound
        sharp += distance > bound / 60
    assert exceeded <= allowed(draws, math.exp(-beta))
    assert sharp > allowed(draws, math.exp(-beta))


def test_lemma_5_bounds_measured_projector_distances():
    generator = rng.stream(6, "lemma 5")
    worst = 0.0
    for _ in range(200):
        values = np.sort(generator.random(6))[::-1] + 0.5
        k = int(generator.integers(1, 6))
        gap = values[k - 1] - values[k]
        b = generator.standard_normal((6, 6))
        b = (b + b.T) * (0.2499 * gap / np.linalg.norm(b + b.T))
        moved = np.diag(values) + b
        assert np.linalg.eigvalsh(moved).min() > 0
        outcome = CALCULATORS["pillar_lemma_5"](gap=gap, frobenius=float(np.linalg.norm(b)))
        assert outcome.violations == ()
        distance = distance_of(np.eye(6)[:, :k], top(moved, k)[1])
        assert distance <= outcome.value("projector distance, at most")
        worst = max(worst, distance / outcome.value("projector distance, at most"))
    assert worst > 0.3


def test_theorem_1s_public_rows_keep_nine_tenths_of_the_separator():
    """With n_U rows ‖Â_kᵀw*‖ ≥ 0.9(1 − ξ) fails with probability at most β/2."""
    generator, weights, k, beta = rng.stream(7, "theorem 1"), np.array([0.7, 0.2, 0.1]), 1, 0.2
    population, _ = rotated_pairs(weights, 0.3, 10, generator)
    values, a = top(population, k)
    w = a[:, 0] * 0.8 + np.array([0.0, 0.0, 0.6])
    w /= np.linalg.norm(w)
    xi = 1 - abs(float(a[:, 0] @ w))
    n = math.ceil(public_rows(beta=beta, xi=xi, gap=float(values[0] - values[1])))
    failures = 0
    for _ in range(200):
        estimated = top(rotated_pairs(weights, 0.3, n, generator)[1], k)[1]
        failures += abs(float(estimated[:, 0] @ w)) < 0.9 * (1 - xi)
    assert failures <= allowed(200, beta / 2)


def test_lemma_6_corrected_is_total_variation_and_is_reached():
    """|vᵀ(Σ_f − Σ_g)v| ≤ TV on the unit ball; moving η of the mass onto v reaches it."""
    generator = rng.stream(8, "lemma 6")
    points = generator.standard_normal((12, 4))
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
    for _ in range(200):
        f, g = generator.dirichlet(np.ones(12)), generator.dirichlet(np.ones(12))
        variation = 0.5 * np.abs(f - g).sum()
        assert np.linalg.norm((points.T * (f - g)) @ points, 2) <= variation + 1e-12
    moment = np.diag([0.0, 0.5, 0.5])
    shifted = 0.9 * moment + 0.1 * np.diag([1.0, 0, 0])
    bound = moment_shift(eta=0.1, radius=1.0, form=Form.CORRECTED)
    assert np.linalg.norm(shifted - moment, 2) == pytest.approx(bound)


def test_unlabelled_rows_show_the_whole_graph_and_connect_both_sides():
    """Rows that are single edges of a fixed graph, each with probability p: with n_unl rows all
    edges are seen, 1 − β/2."""
    edges, p, beta = 8, 0.1, 0.2
    n = math.ceil(theory.semi_private.graph_rows(d=6, p=p, beta=beta))
    generator, failures, few = rng.stream(10, "graph"), 0, 0
    for _ in range(300):
        seen = generator.multinomial(n, [*[p] * edges, 1 - p * edges])[:edges]
        failures += bool((seen == 0).any())
        few += bool(
            (generator.multinomial(n // 8, [*[p] * edges, 1 - p * edges])[:edges] == 0).any()
        )
    assert failures <= allowed(300, beta / 2)
    assert few > allowed(300, beta / 2)
    d, k, p, beta = 180, 80, 0.02, 0.02
    outcome = CALCULATORS["semi_private_theorem_2"](d=d, k=k, p=p, beta=beta)
    assert outcome.violations == ()
    n = math.ceil(outcome.value("unlabelled rows", Form.CORRECTED))
    counts = [
        theory.component_graph(
            theory.random_graph_rows(n, d=d, k=k, p=p, seed=s, part="unlabelled")[0]
        ).count
        for s in range(10)
    ]
    assert sum(count > 2 for count in counts) <= allowed(10, beta)


def test_derived_labelled_rows_reach_the_error_at_the_stated_probability():
    d, k, p, alpha, beta, epsilon = 12, 6, 0.3, 0.1, 0.2, 1.0
    graph = theory.component_graph(
        theory.random_graph_rows(200, d=d, k=k, p=p, seed=0, part="unlabelled")[0]
    )
    n = math.ceil(
        theory.semi_private.choice_rows(
            components=graph.count, alpha=alpha, beta=beta, epsilon=epsilon
        )
    )
    x_test, y_test = theory.random_graph_rows(500, d=d, k=k, p=p, seed=0, part="test")
    failing = few = 0.0
    for seed in range(60):
        x, y = theory.random_graph_rows(n, d=d, k=k, p=p, seed=seed, part="private")
        chosen = theory.choice(graph, x, y, epsilon=epsilon, x_test=x_test, y_test=y_test)
        failing += float(chosen.probabilities[chosen.true_errors > alpha].sum())
        scarce = theory.choice(graph, x[:3], y[:3], epsilon=epsilon, x_test=x_test, y_test=y_test)
        few += float(scarce.probabilities[scarce.true_errors > alpha].sum())
    assert failing / 60 <= beta / 2
    assert few / 60 > beta / 2


def test_adamix_theorem_3_bounds_the_mean_excess_risk_of_its_algorithm():
    """Linear losses ⟨g_i, w⟩ with ‖g_i‖ = 1 on the unit ball: the minimum is known, the noise
    decides the excess."""
    d, n, rho, steps = 10, 200, 0.05, 200
    generator = rng.stream(11, "adamix")
    g = generator.standard_normal((n, d)) + 0.3
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    total = g.sum(axis=0)
    best = -total / np.linalg.norm(total)
    reference = np.zeros(d)
    strength = theory.adamix.best_regularisation(d=d, lipschitz=1.0, rho=rho, distance=1.0)
    sigma = math.sqrt(steps / (2 * rho))
    excesses = []
    for _ in range(40):
        w, mean = reference.copy(), np.zeros(d)
        for t in range(1, steps + 1):
            mean += 2 * t / (steps * (steps + 1)) * w
            w = w - 2 / (strength * (t + 1)) * (
                total + sigma * generator.standard_normal(d) + strength * (w - reference)
            )
            w /= max(1.0, np.linalg.norm(w))
        excesses.append(float(total @ (mean - best)) / n)
    bound = theory.adamix.excess_bound(
        d=d, n=n, rho=rho, lipschitz=1.0, distance=1.0, ball=1.0, steps=steps
    )
    spread = np.std(excesses) / math.sqrt(len(excesses))
    assert np.mean(excesses) - 5 * spread <= bound
    assert np.mean(excesses) > bound / 100


def test_gsd_theorem_c2_holds_for_the_exact_sampler_in_the_plane():
    """k = 1, p = 2: the density ∝ exp(mε/2·λ₁cos²) over angles, integrated on a grid, keeps |cos| >
    √(1 − ρ²)."""
    inputs = {
        "p": 2,
        "epsilon": 1.0,
        "clip": 1.0,
        "top": 0.7,
        "second": 0.3,
        "closeness": 0.5,
        "failure": 0.05,
    }
    m = CALCULATORS["gsd_theorem_c2"](**inputs).value("examples", Form.CORRECTED)
    angles = np.linspace(-math.pi / 2, math.pi / 2, 20_001)

    def chance(count):
        density = np.exp(count * 0.5 * (0.7 - 0.3) * (np.cos(angles) ** 2 - 1))
        close = np.abs(np.cos(angles)) > math.sqrt(1 - 0.25)
        return float(density[close].sum() / density.sum())

    assert chance(m) >= 0.95
    assert chance(m / 100) < 0.95


def test_corollary_2s_radius_holds_and_projection_takes_the_dimension_out():
    from pillar_core.data import load_dataset

    d, n, beta = 64, 1000, 0.1
    inputs = {"d": d, "theta": 0.01, "sigma": 0.01, "n_private": n, "beta": beta}
    outcome = CALCULATORS["pillar_corollary_2"](**inputs)
    data = load_dataset("gaussian_mixture", n=n, n_test=2, d=d, theta=0.01, sigma=0.01)
    signs = 2 * data.y_train - 1
    assert (np.linalg.norm(data.x_train, axis=1) <= outcome.value("radius")).all()
    assert (signs * (data.x_train @ data.known["mu"]) >= outcome.value("margin")).all()
    inputs = {"error": 0.1, "epsilon": 0.5, "theta": 0.02, "sigma": 0.02}
    with_k = [theory.rows_needed(k=1, **inputs) for _ in (16, 256)]
    without = [theory.rows_needed(k=d, **inputs) for d in (64, 256, 1024)]
    assert with_k[0] == with_k[1]
    assert without[0] < without[1] < without[2]
    hard = [theory.rows_needed(k=d, **{**inputs, "sigma": 0.6}) for d in (64, 256, 1024)]
    assert hard[1] / hard[0] > 3
    assert theory.rows_needed(k=1, **{**inputs, "sigma": 5.0}) == math.inf


def test_graph_and_choice_are_those_of_brute_force():
    x, y = theory.random_graph_rows(12, d=14, k=6, p=0.1, seed=1, part="unlabelled")
    graph = theory.component_graph(x)
    edges = {(i, j) for row in x for i in np.flatnonzero(row) for j in np.flatnonzero(row) if i < j}
    assert set(map(tuple, graph.edges.tolist())) == edges
    for i, j in edges:
        assert graph.labels[i] == graph.labels[j]
    assert len(graph.labels) == 14
    assert (np.diff(np.bincount(graph.labels)) <= 0).all()
    assert not x[y][:, 6:].any()
    assert not x[~y][:, :6].any()
    x, y = theory.random_graph_rows(20, d=8, k=3, p=0.2, seed=2, part="private")
    graph = theory.component_graph(x)
    chosen = theory.choice(graph, x, y, epsilon=0.7)
    errors = np.array(
        [
            (x[:, np.isin(graph.labels, np.flatnonzero(union))].any(axis=1) != y).sum()
            for union in chosen.unions
        ]
    )
    np.testing.assert_array_equal(chosen.errors, errors)
    weights = np.exp(-0.35 * errors)
    np.testing.assert_allclose(chosen.probabilities, weights / weights.sum(), rtol=1e-12)
    assert theory.choice(graph, x, y, epsilon=math.inf).probabilities[errors.argmin()] > 0
    raises(SettingError, "epsilon", theory.choice, graph, x, y, epsilon=0.0)
    with pytest.raises(SettingError, match="components"):
        theory.choice(theory.component_graph(np.eye(20)), np.eye(20), np.ones(20), epsilon=1.0)
    refuses("0 and 1", theory.component_graph, np.full((3, 3), 0.5))


def test_the_mixtures_predicted_error_is_that_of_simulation():
    """The release's weights drawn directly, and the error of each integrated exactly."""
    d, n, theta, sigma, epsilon = 32, 60, 0.3, 0.5, 0.5
    from scipy.stats import norm

    from pillar_core.accounting import mu_of

    generator = rng.stream(12, "mixture")
    errors = []
    for _ in range(400):
        z = sigma * generator.standard_normal((n, d))
        z[:, 0] += 1
        z[:, 1] += theta * generator.standard_normal(n)
        w = (z / np.linalg.norm(z, axis=1, keepdims=True)).sum(axis=0) + generator.standard_normal(
            d
        ) / mu_of(epsilon, 1e-5)
        errors.append(norm.cdf(-w[0] / math.sqrt(theta**2 * w[1] ** 2 + sigma**2 * (w @ w))))
    predicted = theory.predicted_error(n_private=n, epsilon=epsilon, k=d, theta=theta, sigma=sigma)
    # 400 draws with standard deviation about 0.1: standard error 0.005; the prediction replaces a
    # sum of squares by its mean.
    assert np.mean(errors) == pytest.approx(predicted, abs=0.025)


def test_measured_playgrounds_follow_their_predictions():
    from pillar_core.studies import playgrounds

    table = playgrounds.mixture(
        d=64, theta=0.05, sigma=0.4, epsilon=0.5, n_private=[60, 500], n_public=200, seeds=4
    )
    means = table.groupby(["projection", "n_private"])[["error", "predicted"]].mean()
    # Four seeds of a noisy release: the widest spread (few rows, no projection) is about 0.07, so
    # 0.035 for a mean of four.
    assert (means["error"] - means["predicted"]).abs().max() < 0.1
    few = means.xs(60, level="n_private")["error"]
    assert few["first public direction"] < 0.05 < 0.15 < few["none"]
    graphs = playgrounds.disjunctions(
        d=20, k=10, p=0.1, epsilons=[0.5], n_private=[5, 100], n_unlabelled=60, seeds=3
    )
    assert graphs.groupby("n_private")["error"].mean().is_monotonic_decreasing
    assert set(graphs["components"]) == {2}
