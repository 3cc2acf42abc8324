"""Every calculator against numbers worked out by hand, and the ranges that its theorem states."""

import math

import pytest

from contract.checks import bad_values
from pillar_core import params, theory
from pillar_core.errors import SettingError
from pillar_core.theory import CALCULATORS, Form
from users import raises

PRINTED, CORRECTED, DERIVED = Form.PRINTED, Form.CORRECTED, Form.DERIVED

# Inputs, then the numbers by hand. √(ln(2/0.02)/2) = √2.302585 = 1.517427, so
# 1600·(2.517427)² = 10,139.90.
HAND = {
    "pillar_theorem_1": (
        {
            "k": 25,
            "gamma": 0.5,
            "xi": 0.2,
            "gap": 0.1,
            "alpha": 0.1,
            "beta": 0.02,
            "epsilon": 0.1,
            "loss": "hinge",
        },
        {
            "public rows": {PRINTED: 1600 * 2.5174271293851465**2 / 0.08**2},
            "Lipschitz constant": {PRINTED: 1 / 0.36},
            "private rows": {
                PRINTED: 5 / (0.36 * 0.01),
                CORRECTED: 5 / (0.36 * 0.01) + 1 / 0.036**2,
            },
        },
    ),
    "pillar_theorem_2": (
        {
            "k": 9,
            "gamma": 0.5,
            "xi": 0.1,
            "gap": 0.2,
            "eta": 0.009,
            "radius": 2.0,
            "alpha": 0.1,
            "beta": 0.1,
            "epsilon": 0.3,
        },
        {
            "1/Lipschitz": {PRINTED: 0.5 * (0.9 - 0.7), CORRECTED: 0.45 * (0.9 - 0.4)},
            "private rows": {PRINTED: 100 / 0.1, CORRECTED: 100 / 0.225},
            "largest shift": {PRINTED: 9 * 0.9 * 0.2 / 140, CORRECTED: 9 * 0.9 * 0.2 / 80},
        },
    ),
    "pillar_theorem_4": (
        {
            "k": 9,
            "gamma": 0.5,
            "xi": 0.0,
            "gap": 0.2,
            "eta": 0.01,
            "radius": 1.0,
            "alpha": 0.1,
            "beta": 0.04,
            "epsilon": 0.3,
        },
        {
            "margin left": {PRINTED: 0.5 * (0.9 - 0.7), CORRECTED: 0.5 * (0.9 - 0.1)},
            "public rows": {
                PRINTED: math.log(50) / 0.01,
                CORRECTED: 1600 * 2.5174271293851465**2 / 0.18**2,
            },
            "private rows": {PRINTED: 100 / 0.1, CORRECTED: 100 / 0.4 + 90},
        },
    ),
    "pillar_corollary_2": (
        # 4√100 + 2√(ln(4·10^4/0.04)) = 40 + 2√13.815511 = 47.433848; times 0.01: 0.47433848. L =
        # M/(0.9γ) = 3.11636773.
        {
            "d": 100,
            "theta": 0.005,
            "sigma": 0.005,
            "n_private": 10_000,
            "alpha": 0.1,
            "beta": 0.04,
            "epsilon": 0.1,
        },
        {
            "margin": {PRINTED: 1 - 0.4743384504624082},
            "radius": {PRINTED: 1 + 0.4743384504624082},
            "public rows": {
                PRINTED: 1.4743384504624082**2 * math.log(50) / (0.5256615495375918 * 0.005) ** 2
            },
            "private rows": {
                PRINTED: 1.4743384504624082
                * math.sqrt(2)
                / (0.01 * 0.5256615495375918 * (1 - 0.05256615495375918)),
                CORRECTED: 311.636773 + 31.1636773**2,
            },
            "private rows without projection": {DERIVED: 3116.36773 + 31.1636773**2},
        },
    ),
    "pillar_lemma_4": (
        {"k": 3, "d": 5, "gap": 0.5, "n_public": 400, "beta": 2.0},
        {
            "projector distance, at most": {PRINTED: 0.8},
            "fewest public rows": {PRINTED: 256.0},
            "probability, at least": {PRINTED: 1 - math.exp(-2)},
            "largest possible distance": {DERIVED: 2.0},
        },
    ),
    "pillar_lemma_5": (
        {"gap": 0.4, "frobenius": 0.05},
        {"projector distance, at most": {PRINTED: 0.25}},
    ),
    "pillar_table_v": (
        {
            "d": 900,
            "k": 9,
            "gamma": 0.5,
            "xi": 0.4,
            "alpha": 0.1,
            "epsilon": 0.1,
            "low_rank": 0.01,
            "n": 2,
        },
        {
            "PILLAR": {PRINTED: 1000.0},
            "generic semi-private learner": {PRINTED: 6000.0, CORRECTED: 90_000.0},
            "DP-SGD, restricted Lipschitz": {PRINTED: 601.0},
            "DP-SGD, no assumption": {DERIVED: 6000.0},
            "random projection (JL)": {PRINTED: 400.0, CORRECTED: 400 * math.sqrt(math.log(2))},
            "GEP": {PRINTED: 203.3},
        },
    ),
    "semi_private_theorem_1": (
        {"d": 10, "p": 0.5, "components": 3, "alpha": 0.1, "beta": 0.1, "epsilon": 0.5},
        {
            "unlabelled rows": {PRINTED: math.log(2000) / math.log(2)},
            "private rows": {
                PRINTED: (3 + math.log(10)) / 0.05,
                DERIVED: (3 * math.log(2) + math.log(40)) * 80,
            },
        },
    ),
    "semi_private_theorem_2": (
        # 9·ln(1600) + 4 = 70.39980; over 199 and 99: 0.3537678 and 0.7111091.
        {"d": 200, "k": 100, "p": 0.01, "alpha": 0.1, "beta": 0.01, "epsilon": 1.0},
        {
            "unlabelled rows": {
                PRINTED: 8 * math.log(1600),
                CORRECTED: 4 * math.log(1 - 70.39980 / 99) / math.log(0.99),
            },
            "private rows": {DERIVED: (2 * math.log(2) + math.log(400)) * 80},
        },
    ),
    "semi_private_theorem_3": (
        {"d": 50, "k": 4, "gamma": 0.9, "eta": 0.01, "alpha": 0.1, "beta": 0.5, "epsilon": 0.2},
        {
            "margin left": {PRINTED: 0.9 - math.sqrt(0.02), CORRECTED: 0.5},
            "unlabelled rows": {
                PRINTED: 200 / (0.5 * 0.81),
                CORRECTED: 200 / (0.5 * 1e-4),
                DERIVED: 32 * (1 + math.sqrt(math.log(8) / 2)) ** 2 / 1e-4,
            },
            "private rows": {CORRECTED: 200.0},
        },
    ),
    "adamix_theorem_3": (
        {
            "d": 100,
            "n": 1000,
            "rho": 0.02,
            "lipschitz": 1.0,
            "distance": 0.5,
            "ball": 1.0,
            "steps": 100,
        },
        {
            "λ": {PRINTED: math.sqrt(0.02 / 100), CORRECTED: 200.0},
            "excess risk, at most": {CORRECTED: 2 * 1400**2 / (200 * 100 * 1000) + 0.05},
            "of it privacy, T → ∞": {PRINTED: 0.025, CORRECTED: 0.05},
        },
    ),
    "adamix_theorem_4": (
        {"d": 100, "n": 1000, "n_public": 25, "rho": 0.02, "lipschitz": 1.0, "curvature": 0.5},
        {
            "cost of privacy, at most": {PRINTED: 40 / (0.5 * 5 * 1000 * 0.2)},
            "distance of the public start, at most": {PRINTED: 0.8},
        },
    ),
    "pillar_proposition_3": (
        {"gamma": 0.5, "xi": 0.2, "gap": 0.1, "alpha": 0.1, "beta": 0.2},
        {
            "public rows": {
                PRINTED: math.log(10) / 0.05**2,
                CORRECTED: 1600 * (1 + math.sqrt(math.log(10) / 2)) ** 2 / 0.08**2,
            },
            "labelled rows": {PRINTED: 250.0, CORRECTED: 625.0},
        },
    ),
    "gsd_theorem_4_2": (
        # √(2·0.5)·… : d = √2·0.5·0.4 + 0.1 = 0.3828427, squared 0.1465685; ln(1/δ) = 4.
        {
            "gsd": 0.4,
            "singular": 0.5,
            "next_singular": 0.1,
            "k": 1,
            "p": 100,
            "n_private": 1000,
            "epsilon": 2.0,
            "delta": math.exp(-4),
            "smoothness": 1.0,
        },
        {
            "steps": {PRINTED: 200.0},
            "reconstruction error": {PRINTED: 0.14656854},
            "excess risk inside the subspace": {PRINTED: 0.001},
            "excess risk outside it": {PRINTED: 0.0014656854},
            "excess risk without public rows": {DERIVED: 0.01},
        },
    ),
    "gsd_theorem_c2": (
        {
            "p": 10,
            "epsilon": 2.0,
            "clip": 0.8,
            "top": 1.0,
            "second": 0.1,
            "squared_singular": 0.5,
            "closeness": 0.6,
            "failure": 0.1,
        },
        {
            "gap after clipping": {PRINTED: 1.26, CORRECTED: 0.54},
            "examples": {
                PRINTED: 6.4
                / (2 * 1.26 * 0.2)
                * (0.4 * math.log(10) + 2 * math.log(8 / (0.36 * 1.26))),
                CORRECTED: 6.4
                / (2 * 0.54 * 0.2)
                * (0.4 * math.log(10) + 2 * math.log(8 / (0.36 * 0.54))),
            },
            "ε of the printed sampler": {CORRECTED: 1.28},
        },
    ),
}


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_calculator_reproduces_a_hand_computation(name):
    inputs, expected = HAND[name]
    outcome = CALCULATORS[name](**inputs)
    for value, numbers in expected.items():
        # Hand computations carry seven digits.
        found = {form: outcome.value(value, form) for form in numbers}
        assert found == pytest.approx(numbers, rel=1e-6), value


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_calculator_says_what_it_is(name):
    calculator = CALCULATORS[name]
    outcome = calculator()
    assert calculator.source
    assert calculator.says
    assert outcome.ranges
    assert all(value.latex and not math.isnan(value.value) for value in outcome.values)
    corrected = {value.name for value in outcome.values if value.form is CORRECTED}
    assert not corrected or calculator.corrections


def test_extreme_inputs_have_an_answer_in_own_words():
    raises(SettingError, "too extreme", CALCULATORS["pillar_theorem_1"], gamma=1e-300, gap=5e-324)
    inside = CALCULATORS["pillar_theorem_1"](k=40, epsilon=0.158, beta=0.2)
    assert inside.violations == ()
    assert CALCULATORS["pillar_theorem_1"](k=100, epsilon=0.1).violations
    outcome = CALCULATORS["pillar_theorem_1"](gap=0.0, gamma=-0.2)
    assert outcome.value("public rows") == math.inf
    assert outcome.value("private rows") == math.inf
    assert CALCULATORS["pillar_lemma_4"](gap=0.0).value("projector distance, at most") == math.inf
    assert (
        CALCULATORS["pillar_theorem_4"](gap=0.001, eta=0.01).value("public rows", CORRECTED)
        == math.inf
    )


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_calculator_refuses_inputs_outside_its_domain(name):
    calculator = CALCULATORS[name]
    for param in params.params_of(calculator.settings).values():
        for bad in bad_values(param):
            raises(SettingError, param.name, calculator, **{param.name: bad})
    raises(SettingError, "no input", calculator, nobody=1)


@pytest.mark.parametrize(
    ("name", "inputs", "broken"),
    [
        ("pillar_theorem_1", {"k": 40, "epsilon": 0.2}, "ε < 1/√k"),
        ("pillar_theorem_1", {"beta": 0.25}, "β < 1/4"),
        ("pillar_theorem_1", {"gamma": -0.1}, "γ₀"),
        ("pillar_theorem_4", {"eta": 0.1}, "η < 9(1 − ξ₀)Δ_k/140"),
        ("pillar_lemma_5", {"gap": 0.1, "frobenius": 0.03}, "‖B‖_F < Δ_k/4"),
        ("pillar_corollary_2", {"d": 2048, "sigma": 0.5}, "γ > 0"),
        ("semi_private_theorem_2", {"k": 20}, "k > 35"),
        ("semi_private_theorem_3", {"gamma": 0.01}, "γ > √(η/β)"),
        ("gsd_theorem_c2", {"clip": 3.0}, "λ̃ > 0"),
        ("gsd_theorem_4_2", {"k": 2}, "k = 1"),
        ("pillar_proposition_3", {"alpha": 0.3}, "α < 1/4"),
        ("adamix_theorem_4", {"n": 10, "n_public": 100}, "N_pub ≤ N"),
    ],
)
def test_a_broken_range_is_listed_with_the_value(name, inputs, broken):
    calculator = CALCULATORS[name]
    assert any(line.startswith(broken) for line in calculator(**inputs).violations)


def test_theorem_1_fits_corollary_2_and_rate_curves_cross_where_they_should():
    """Corollary 2, corrected, is Theorem 1 at k = 1, ξ = 0 and the mixture's normalised margin and
    gap."""
    inputs, _ = HAND["pillar_corollary_2"]
    corollary = CALCULATORS["pillar_corollary_2"](**inputs)
    gamma, radius = corollary.value("margin"), corollary.value("radius")
    theorem = CALCULATORS["pillar_theorem_1"](
        k=1,
        gamma=gamma / radius,
        xi=0.0,
        gap=(1 - 0.005**2) / radius**2,
        alpha=0.1,
        beta=0.04,
        epsilon=0.1,
    )
    assert corollary.value("public rows", CORRECTED) == pytest.approx(theorem.value("public rows"))
    assert corollary.value("private rows", CORRECTED) == pytest.approx(
        theorem.value("private rows", CORRECTED)
    )
    # PILLAR beats JL exactly while √k < (1 − ξ)·√(log n)/γ.
    table = theory.rate_curves("k", [10, 2000], gamma=0.1, xi=0.0, n=45_000)
    for k, wins in ((10, True), (2000, False)):
        rows = table[table["x"] == k].set_index("method")["rows"]
        assert bool(rows["PILLAR"] < rows["random projection (JL)"]) is wins
    assert len(table) == 2 * len(theory.rates.CURVES)
    raises(SettingError, "axis", theory.rate_curves, "nobody", [1])
    raises(SettingError, "k must be", theory.rate_curves, "k", [0])
