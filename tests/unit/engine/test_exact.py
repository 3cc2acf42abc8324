"""Sums in whole numbers: each row's term is the same to the last bit whoever else is there, and no
longer than the clip norm."""

import numpy as np
import pytest
import torch

from contract import checks
from contract.cases import IMAGES, case_for, small_split
from pillar_core.auditing import Rows
from pillar_core.engine import exact, gradient
from pillar_core.engine.mixed import preconditioned_sum
from pillar_core.errors import LedgerError, SettingError, UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.methods import METHODS
from pillar_core.methods.closed_form.pillar_one_shot import class_sums
from pillar_core.methods.parts.deep import networks
from pillar_core.rng import Streams, stream
from pillar_core.runs import assumptions
from pillar_core.runs import run as runs
from pillar_core.splits.transform import Transform, unit_rows
from pillar_core.threads import using
from users import raises

K, CLASSES, CLIPS = 37, 5, (0.4, 1e-3)
EXACT = [name for name, method in METHODS.items() if method.is_exact]


def hostile(n=90, k=K):
    """(rows, labels, two heads) with rows and weights of every size."""
    generator = stream(0, "hostile rows")
    z = (generator.standard_normal((n, k)) * np.exp(8 * generator.standard_normal((n, 1)))).astype(
        np.float32
    )
    z[:8] = np.stack(
        [
            0 * z[0],
            z[0] * 0 + 1e30,
            z[0] * 0 + 1e-40,
            np.eye(k)[0] * 1e15,
            z[9],
            -z[9],
            z[0] * np.inf,
            z[0] * np.nan,
        ]
    )
    heads = 10 * generator.standard_normal((2, CLASSES, k + 1)).astype(np.float32)
    heads[1] *= 1e6
    heads[1, 0] = heads[1, 1]  # ties
    return z, torch.from_numpy(generator.integers(0, CLASSES, n)), torch.from_numpy(heads)


def sums(z, labels, heads, rows=slice(None)):
    return exact.clipped_sum(exact.integer_rows(z[rows], bias=True), labels[rows], heads, CLIPS)


def sums_of_scaled(z, labels, heads, rows=slice(None)):
    """Of gradients that a hostile scaling multiplies before the clip."""
    return exact.clipped_sum(
        exact.integer_rows(z[rows]),
        labels[rows],
        heads[..., :-1],
        CLIPS,
        scaling=hostile_scaling(K),
    )


def hostile_scaling(k):
    """(2, C, k) scales of every size: within one head by 10³ and by 10⁻³⁰, and no numbers."""
    scaling = torch.from_numpy(
        np.exp(2 * stream(0, "hostile scaling").standard_normal((2, CLASSES, k)))
    ).float()
    scaling[1, 0], scaling[1, 1, 0], scaling[1, 2, 0] = 1e-30, torch.nan, 0.0
    return scaling


def in_floating_point(z, labels, heads, rows=slice(None)):
    """The fast path on a grid: what exact noise after rounded sums would release."""
    part = Rows.of(z[rows], labels[rows]).wide(bias=True)
    total = gradient.clipped_sum(
        part, gradient.squared_lengths(part), labels[rows], heads, torch.tensor(CLIPS)
    )
    units = exact.ROW_UNITS * exact.RESIDUAL_UNITS / torch.tensor(CLIPS, dtype=torch.float64)
    return (total * units[:, None, None]).round().long()


def adds_up(sum_of):
    """The sum of all rows is that of the rows' own terms, in Python's whole numbers, in any order,
    number and company."""
    z, labels, heads = hostile()
    terms = [sum_of(z, labels, heads, np.array([row])) for row in range(len(z))]
    everyone = sum_of(z, labels, heads)
    assert (
        np.array([term.numpy() for term in terms], dtype=object).sum(axis=0) == everyone.numpy()
    ).all(), "rows move each other"
    order = stream(1, "order").permutation(len(z))
    for kept in (order, order[1:], np.sort(order[:50]), np.repeat(order, 40)):
        times = torch.from_numpy(np.bincount(kept, minlength=len(z)))
        expected = torch.stack(terms).mul(times.view(-1, 1, 1, 1)).sum(0)
        assert torch.equal(sum_of(z, labels, heads, kept), expected), "rows move each other"


@pytest.mark.parametrize("sum_of", [sums, sums_of_scaled])
def test_rows_do_not_move_each_other(sum_of):
    adds_up(sum_of)


def test_rows_that_move_each_other_are_seen():
    """The twin: sums in floating point, rounded to the same grid."""
    raises(AssertionError, "move each other", adds_up, in_floating_point)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [300, 1 << 12, 1 << 20])
def test_neither_chunks_nor_threads_move_a_sum(threads, chunk, monkeypatch):
    z, labels, heads = hostile(n=3000)
    usual = sums(z, labels, heads)
    monkeypatch.setattr(exact, "FLOATS", chunk)
    monkeypatch.setattr(exact, "CHUNK_ROWS", 7)
    with using(threads):
        assert torch.equal(sums(z, labels, heads), usual)


def test_picked_rows_are_those_rows_and_numbers_that_are_none_end_in_whole_ones():
    z, labels, heads = hostile()
    picked = np.array([3, 4, 50])
    of_all = exact.clipped_sum(
        exact.integer_rows(z, bias=True), labels, heads, CLIPS, torch.from_numpy(picked)
    )
    assert torch.equal(of_all, sums(z, labels, heads, picked))
    rows = exact.integer_rows(hostile()[0])
    assert not rows.units[6].any()
    assert not rows.units[7].any()
    assert torch.isfinite(rows.scale).all()
    z, labels, heads = hostile()
    heads[0, 0, 0], heads[0, 1, 0], heads[1, 2, 1] = torch.nan, torch.inf, -torch.inf
    assert torch.equal(
        sums(z, labels, heads),
        torch.stack([sums(z, labels, heads, np.array([row])) for row in range(len(z))]).sum(0),
    )


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("k", [1, K, 2100])
def test_a_row_moves_a_sum_by_at_most_its_units(k, is_scaled):
    z, labels, heads = hostile(60, k)
    rows = exact.integer_rows(z, bias=True)
    scaling, longest, most = (
        (hostile_scaling(k + 1) if is_scaled else None),
        0,
        rows.sensitivity * (exact.SCALE_UNITS if is_scaled else 1),
    )
    for row in range(len(z)):
        term = exact.clipped_sum(rows, labels, heads, CLIPS, torch.tensor([row]), scaling=scaling)
        for head in term.numpy().astype(object):
            squares = int((head**2).sum())
            assert squares <= most**2
            longest = max(longest, squares)
    assert longest > (0.8 * most) ** 2  # the bound is near


def class_terms_add_up(sum_of):
    z, labels, _ = hostile()
    z[20:] = unit_rows(z[20:])
    y = labels.numpy()
    terms = np.stack([sum_of(z[[row]], y[[row]]).numpy() for row in range(len(z))]).astype(object)
    assert (sum_of(z, y).numpy() == terms.sum(axis=0)).all(), "rows move each other"
    assert (sum_of(z[::-1].copy(), y[::-1].copy()).numpy() == terms.sum(axis=0)).all(), (
        "rows move each other"
    )
    lengths = [int((term**2).sum()) for term in terms]
    assert max(lengths) <= exact.SUM_UNITS**2
    assert max(lengths) > (0.99 * exact.SUM_UNITS) ** 2
    assert not any(lengths[row] for row in (1, 3, 6, 7))  # too long, or no numbers


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_class_sums_are_those_of_the_rows(weight):
    class_terms_add_up(lambda z, y: exact.class_sums(z, y, n_classes=CLASSES, count_weight=weight))


def test_class_sums_in_floating_point_are_seen():
    """The twin: float sums, rounded to the same grid."""
    with pytest.raises(AssertionError, match="move each other"):
        class_terms_add_up(
            lambda z, y: (class_sums(z, y, n_classes=CLASSES, count_weight=0.0) * 2**53).round()
        )


def test_sums_are_near_those_in_floating_point_and_a_wide_row_has_its_norm():
    generator = stream(0, "ordinary rows")
    z = unit_rows(generator.standard_normal((500, K)).astype(np.float32))
    _, _, heads = hostile()
    labels = torch.from_numpy(generator.integers(0, CLASSES, len(z)))
    exactly, fast = (of(z, labels, heads / 30)[0].double() for of in (sums, in_floating_point))
    assert float((exactly - fast).norm() / fast.norm()) < 0.01
    scaling = hostile_scaling(K)[:1].clamp(0.5, 2.0)
    scaled = exact.clipped_sum(
        exact.integer_rows(z), labels, heads[:1, :, :-1] / 30, [0.8], scaling=scaling
    )[0].double()
    scaled *= 0.8 / (exact.integer_rows(z).sensitivity * exact.SCALE_UNITS)
    expected = preconditioned_sum(
        torch.from_numpy(z), labels, heads[0, :, :-1] / 30, scaling[0], l2_clip_norm=0.8
    )
    assert float((scaled - expected).norm() / expected.norm()) < 0.02
    # numpy's einsum adds up the squares of a lone row of more than 8,192 numbers in another order
    # than those of two.
    rows = stream(0, "wide rows").standard_normal((40, 9000)).astype(np.float32)
    together = Transform(normalise=True)(rows)
    np.testing.assert_array_equal(
        together, np.concatenate([Transform(normalise=True)(row[None]) for row in rows])
    )
    as_before = np.einsum("ij,ij->i", rows.astype(np.float64), rows.astype(np.float64))
    assert (
        as_before
        != [np.einsum("ij,ij->i", row, row)[0] for row in rows[:, None].astype(np.float64)]
    ).any()


def test_products_of_fewer_bits_are_seen_and_replaced(monkeypatch):
    z, labels, heads = hostile()
    usual, whole = sums(z, labels, heads), torch.Tensor.__matmul__

    def fewer_bits(left, right):
        return (
            whole(left, right)
            if left.dtype == torch.int64
            else whole(left.float(), right.float()).double()
        )

    assert exact.has_exact_products("cpu")
    exact.has_exact_products.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "__matmul__", fewer_bits)
        assert not exact.has_exact_products("cpu")
        assert torch.equal(sums(z, labels, heads), usual)
        record = runs.run("noisy_gd", small_split(), epsilon=2.0, steps=2, seed=None)
        assert runs.NO_EXACT_BLAS in record.notes
    exact.has_exact_products.cache_clear()


def test_a_numpy_that_projects_with_fewer_bits_is_refused(monkeypatch):
    monkeypatch.setattr(exact, "has_exact_products", lambda device: device != "numpy")
    with pytest.raises(UnsupportedError, match="numpy"):
        runs.run("noisy_gd", small_split(), epsilon=2.0, steps=2, seed=None)


def test_what_is_not_exact_is_refused_or_no_longer_called_so():
    with pytest.raises(SettingError, match="delta"):
        runs.run("noisy_gd", small_split(), epsilon=2.0, delta=0.0, steps=2, seed=None)
    for shape in ((2**39, 1), (1, 2**29)):
        rows = np.broadcast_to(np.float32(0), shape)
        raises(SettingError, "fewer rows or numbers", exact.integer_rows, rows)
        with pytest.raises(SettingError, match="fewer rows or numbers"):
            exact.class_sums(rows, np.zeros(1, dtype=np.int64), n_classes=2)
    assert runs.with_fast_part(("a", assumptions.NOISE_EXACT, "b")) == (
        "a",
        assumptions.NOISE_SYSTEM,
        assumptions.LOW_BITS,
        "b",
    )


def test_no_rounding_of_roots_moves_a_sum(monkeypatch):
    z, labels, heads = hostile()
    usual, root = sums(z, labels, heads), torch.Tensor.sqrt
    for away in (1 - 1e-15, 1 + 1e-15):
        monkeypatch.setattr(torch.Tensor, "sqrt", lambda values, away=away: root(values) * away)
        assert torch.equal(sums(z, labels, heads), usual)


@pytest.mark.parametrize(
    ("name", "sampled"),
    [
        ("from_scratch", True),
        *((name, sampled) for name in EXACT if name not in IMAGES for sampled in (False, True)),
    ],
)
def test_exact_learners_keep_their_contract(name, sampled, monkeypatch):
    monkeypatch.setattr(
        Streams, "public", lambda _, purpose: stream(0, purpose)
    )  # neighbours share public draws
    monkeypatch.setattr(networks, "stream", lambda _, purpose: stream(0, purpose))
    case = case_for(METHODS[name], is_release=True, sampled=sampled)
    checks.declared_is_spent(case)
    checks.charged_as_called(case)
    checks.is_within_sensitivity(case)
    _, ledger = case.fit(case.view)
    assert ledger.noise_laws == {"exact"}


def test_a_release_says_which_law_its_noise_has_and_does_not_mix_with_experiments():
    exactly, fast = (
        runs.run(name, small_split(), epsilon=2.0, steps=2, seed=None)
        for name in ("dp_sgd", "dope_sgd")
    )
    assert assumptions.NOISE_EXACT in exactly.guarantee.assumptions
    assert assumptions.LOW_BITS not in exactly.guarantee.assumptions
    assert assumptions.LOW_BITS in fast.guarantee.assumptions
    assert assumptions.NOISE_EXACT not in fast.guarantee.assumptions
    case, release = case_for(METHODS["noisy_gd"]), case_for(METHODS["noisy_gd"], is_release=True)
    ledgers = [Ledger(), Ledger()]
    case.method.fit_many(
        [case.settings] * 2, case.view, [case.streams(1), release.streams(0)], ledgers
    )
    assert [ledger.noise_laws for ledger in ledgers] == [{"fast"}, {"exact"}]


def test_a_learner_that_declares_exact_noise_and_draws_other_is_refused(monkeypatch):
    plan = runs.solve("noisy_gd", small_split(), epsilon=2.0, steps=2, seed=None)
    laws = Ledger.release

    def one_fast(self, event, call, value, draw, *, label=""):
        answer = laws(self, event, call, value, draw, label=label)
        self.noise_laws.add("fast")
        return answer

    monkeypatch.setattr(Ledger, "release", one_fast)
    raises(LedgerError, "floating point", runs.run_many, [plan], small_split())
