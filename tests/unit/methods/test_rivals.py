"""The field's other forms: what each does beyond the contract."""

import math

import numpy as np
import pytest

import pillar_core as pc
from contract.cases import case_for, small_split
from contract.tapes import Recorder
from pillar_core.methods import METHODS
from pillar_core.methods.closed_form import dp_ls
from pillar_core.methods.voting import prototypes
from pillar_core.splits.transform import unit_rows


def test_dp_ls_is_least_squares_with_the_public_second_moment():
    """Brute force: the minimiser of N·mean_pub(θᵀu)² − 2θᵀb̃ + λ‖θ‖² for what was released."""
    case, tape = case_for(METHODS["dp_ls"]), Recorder()
    result, _ = case.fit(case.view, tape)
    facts = case.view.facts
    z = case.view.prepare(standardise=None, centre=None, normalise=True).z_public.astype(np.float64)
    curvature = facts.n_private * np.mean(
        [np.outer(row, row) for row in z], axis=0
    ) + dp_ls.RIDGE_PER_NOISE * np.eye(8)
    gradient = result.classifier.weights.T @ curvature - tape.released[0].numpy()
    assert (
        np.abs(gradient).max() <= 1e-5 * np.abs(tape.released[0].numpy()).max()
    )  # float32 weights
    assert pc.run("dp_ls", small_split(n=60, d=40), epsilon=math.inf).accuracy > 0.5


def test_prototypes_are_purely_private_and_without_noise_the_rows_most_like_the_class():
    record = pc.run("prototypes", small_split(n=600), epsilon=0.5, delta=1e-12, prototypes=2)
    assert record.settings["noise_scale"] == pytest.approx(2.0, rel=1e-3), (
        "ε = 1/scale, whatever δ is"
    )
    split = small_split(n=300, d=5)
    record = pc.run("prototypes", split, epsilon=math.inf, prototypes=1)
    z = record.classifier.transform(split.public_x).astype(np.float64)
    private = record.classifier.transform(split.features.x_train[split.private]).astype(np.float64)
    y = split.features.y_train[split.private]
    ends = prototypes.similarity_range(z.astype(np.float32), prototypes.PrototypesSettings())
    low, high = (end / prototypes.ROW_UNITS**2 for end in ends)
    for label in range(3):
        similar = [
            sum(min(max(row @ other, low), high) for other in private[y == label]) for row in z
        ]
        np.testing.assert_allclose(
            record.classifier.weights[:, label], z[int(np.argmax(similar))], atol=1e-6
        )


def test_similarities_of_rows_add_up_in_any_order_and_company():
    """In floating point, sums of 3,000 rows move each other."""
    generator = np.random.default_rng(0)
    z, public = (
        unit_rows(generator.normal(size=(count, 16)).astype(np.float32)) for count in (3000, 4)
    )
    low, high = prototypes.similarity_range(public, prototypes.PrototypesSettings())

    def sums(rows):
        return prototypes.scores(
            rows, np.zeros(len(rows), dtype=np.int64), public, n_classes=1, low=low, high=high
        )[0]

    terms = np.stack([sums(row[None]) for row in z])
    assert (terms.min(), terms.max()) == (0, high - low), "a row spreads a score by what is charged"
    for kept in (slice(None), slice(1, None), generator.permutation(3000)[:2000]):
        np.testing.assert_array_equal(sums(z[kept]), terms[kept].sum(axis=0))
