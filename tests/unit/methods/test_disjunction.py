"""The disjunction learner and its data set, against brute force over candidates and over random
graphs."""

import dataclasses
import itertools

import numpy as np
import pytest

import pillar_core as pc
from contract.cases import boolean_split, small_split
from pillar_core import rng
from pillar_core.data.generators import disjunctions
from pillar_core.errors import SettingError
from pillar_core.methods.halfspaces import disjunction
from pillar_core.runs.run import solve
from pillar_core.splits import split_features
from pillar_core.types import FeatureSet
from users import raises, refuses


def graphs(variables):
    """Every graph on `variables` vertices as a tuple of edges."""
    pairs = list(itertools.combinations(range(variables), 2))
    for mask in range(2 ** len(pairs)):
        yield [pair for bit, pair in enumerate(pairs) if mask >> bit & 1], len(pairs)


@pytest.mark.parametrize("variables", [2, 3, 4])
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_probabilities_equal_sums_over_every_graph(variables, p):
    active = together = 0.0
    for edges, pairs in graphs(variables):
        weight = p ** len(edges) * (1 - p) ** (pairs - len(edges))
        covered = {vertex for edge in edges for vertex in edge}
        active += weight * (0 in covered if covered else 1 / variables)
        together += weight * (0 in covered and 1 in covered)
    assert disjunctions.active_probability(variables, p=p) == pytest.approx(active, rel=1e-12)
    assert disjunctions.co_active_probability(variables, p=p) == pytest.approx(together, rel=1e-12)


def test_rows_are_those_of_definition_4():
    data = pc.load_dataset("disjunctions", n=18_000, n_test=50, d=12, k=5, p=0.15, seed=3)
    members = data.known["members"]
    others = np.setdiff1d(np.arange(12), members)
    assert set(np.unique(data.x_train)) == {0.0, 1.0}
    np.testing.assert_array_equal(data.x_train[:, members].any(axis=1), data.y_train == 1)
    np.testing.assert_array_equal(data.x_train[:, others].any(axis=1), data.y_train == 0)
    for label, group in ((1, members), (0, others)):
        rows = data.x_train[data.y_train == label][:, group]
        expected = data.known["active_probability"][label]
        pairs = rows[:, 0] * rows[:, 1]
        both = data.known["co_active_probability"][label]
        for share, truth in ((rows[:, 0].mean(), expected), (pairs.mean(), both)):
            # Six standard errors of a frequency over about 9,000 rows.
            assert abs(share - truth) <= 6 * np.sqrt(truth * (1 - truth) / len(rows))
            assert (
                abs(share - 1.3 * truth) > 6 * np.sqrt(truth * (1 - truth) / len(rows))
                or truth > 0.9
            )
    repeated = pc.load_dataset("disjunctions", n=18_000, n_test=50, d=12, k=5, p=0.15, seed=3)
    np.testing.assert_array_equal(repeated.x_train, data.x_train)
    raises(SettingError, "at most d", pc.load_dataset, "disjunctions", d=12, k=11)


def test_scores_equal_brute_force_over_all_unions():
    generator = rng.stream(0, "scores")
    x = (generator.random((40, 9)) < 0.3).astype(np.float32)
    y = generator.integers(0, 2, 40)
    found = np.zeros((3, 9), dtype=bool)
    found[0, :2] = found[1, 2:6] = found[2, 7:] = True
    ours = disjunction.right_rows(x, y, found)
    for candidate in range(8):
        members = disjunction.union(found, candidate)
        np.testing.assert_array_equal(
            members, found[[bool(candidate >> bit & 1) for bit in range(3)]].any(axis=0)
        )
        assert ours[candidate] == (x[:, members].any(axis=1) == (y == 1)).sum()


def test_components_join_and_the_truth_is_found_at_a_moderate_budget():
    x = np.zeros((3, 6), dtype=np.float32)
    x[0, [0, 2]] = x[1, [2, 4]] = x[2, [1]] = 1
    found = disjunction.components(x)
    assert [np.flatnonzero(row).tolist() for row in found] == [[0, 2, 4], [1]]
    split = pc.split(pc.load_dataset("disjunctions", seed=1), public_fraction=0.1)
    record = pc.run("disjunction", split, epsilon=0.5)
    assert record.accuracy == 1.0
    assert record.guarantee.epsilon.upper <= 0.5


@pytest.mark.parametrize(("relation", "scale"), [("add_or_remove_one", 2.0), ("replace_one", 4.0)])
def test_the_scale_follows_from_the_budget(relation, scale):
    one = solve("disjunction", boolean_split(), epsilon=0.5, relation=relation)
    assert one.settings.noise_scale == pytest.approx(scale, rel=2e-3)
    assert one.guarantee.epsilon.upper <= 0.5
    assert pc.run("disjunction", boolean_split(), epsilon=float("inf")).accuracy == 1.0


def test_data_that_do_not_fit_are_refused_and_private_rows_do_not_decide_it():
    refuses("disjunctions", pc.run, "disjunction", small_split(), epsilon=1.0)
    generator = rng.stream(1, "real")
    x = generator.standard_normal((40, 3)).astype(np.float32)
    refuses("boolean", pc.run, "disjunction", half_public(x), epsilon=1.0)
    lonely = np.eye(20, dtype=np.float32)[np.arange(400) % 20]
    refuses("20 components", pc.run, "disjunction", half_public(lonely), epsilon=1.0)
    split = boolean_split()
    x = split.features.x_train.copy()
    x[split.private[0]] = 0.25
    other = dataclasses.replace(split, features=dataclasses.replace(split.features, x_train=x))
    assert (
        pc.run("disjunction", other, epsilon=1.0).guarantee
        == pc.run("disjunction", split, epsilon=1.0).guarantee
    )


def half_public(x):
    return split_features(
        FeatureSet(x, np.arange(len(x)) % 2, None, None, ("a", "b")), public_fraction=0.5
    )
