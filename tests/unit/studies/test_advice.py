"""Advice: from public facts and public rows alone, right as far as its own range says, and what paying for a choice costs."""

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import pillar_core as pc
from pillar_core import rng
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.studies.advice import free, paid
from pillar_core.studies.advice.paid import chosen_and_trained
from pillar_core.types import FeatureSet


@pytest.fixture(scope="module")
def digits() -> FeatureSet:
    return pc.load_features(pc.load_dataset("digits"))


def with_noise(split, seed):
    """The same sizes, classes and public rows, everything else drawn anew, labels too."""
    own, generator = split.features, rng.stream(seed, "advice test")
    x, y = (generator.standard_normal(own.x_train.shape) * 50).astype(np.float32), generator.integers(own.n_classes, size=len(own.x_train))
    features = dataclasses.replace(own, x_train=x, y_train=y, x_test=x[:30], y_test=y[:30])
    return dataclasses.replace(split, features=features, memo=type(split.memo)())


def unlabelled(split):
    return dataclasses.replace(split, public_y=None, memo=type(split.memo)())


@pytest.mark.parametrize("kind", ["labelled", "unlabelled", "candidates"])
def test_private_and_test_rows_change_nothing(digits, kind):
    split = pc.split(digits, public_fraction=0.1)
    split = unlabelled(split) if kind == "unlabelled" else split
    candidates = {"mine": FeatureSet(split.public_x, split.public_y, None, None, digits.classes)} if kind == "candidates" else None
    assert pc.advise(split, candidates=candidates) == pc.advise(with_noise(split, 1), candidates=candidates)


def test_advice_runs_as_it_is_and_is_right_within_its_range(digits):
    split = pc.split(digits, public_fraction=0.1, seed=3)
    advice = pc.advise(split, epsilon=1.0)
    low, high = advice.expected_accuracy
    assert 0 <= low < high <= 1
    record = pc.run(advice.method, split, epsilon=1.0, **advice.settings)
    assert low <= record.accuracy <= high
    assert pc.METHODS[advice.method].title in advice.sentence
    assert f"{50 * (low + high):.0f} ±" in advice.sentence
    assert advice.price.startswith("free")


def test_a_target_is_reached_by_a_smaller_budget_where_it_is_lower(digits):
    split = pc.split(digits, public_fraction=0.1)
    small, large = (pc.advise(unlabelled(split), target_accuracy=share) for share in (0.4, 0.8))
    assert small.epsilon < large.epsilon
    unreachable = pc.advise(unlabelled(split), target_accuracy=1.0)
    assert "no ε" in unreachable.reasons[0]


def test_candidates_that_cannot_fit_are_left_out_with_the_reason(digits):
    split = pc.split(digits, public_fraction=0.1)
    narrow = pc.features(np.zeros((30, 3)), np.arange(30) % 2)
    fitting = FeatureSet(split.public_x, split.public_y, None, None, digits.classes)
    advice = pc.advise(split, candidates={"narrow": narrow, "fitting": fitting}, alike=["fitting"])
    assert advice.public == "fitting"
    assert any("narrow is left out" in reason and "3 features" in reason for reason in advice.reasons)
    with pytest.raises(DataError, match="narrow"):
        pc.advise(split, candidates={"narrow": narrow})


def test_no_public_set_is_named_whose_likeness_nobody_paid_for_or_stated(digits):
    split, bare = pc.split(digits, public_fraction=0.1), pc.split(digits)
    near = FeatureSet(split.public_x, split.public_y, None, None, digits.classes)
    narrow = dataclasses.replace(near, x_train=near.x_train[near.y_train < 2], y_train=near.y_train[near.y_train < 2])
    other = FeatureSet(split.public_x, split.public_y % 3, None, None, ("a", "b", "c"))
    sides = {"near": near, "narrow": narrow, "other": other}
    for candidates in (sides, {"near": near}, {"narrow": narrow}):
        advice = pc.advise(bare, candidates=candidates)
        assert (advice.public, advice.method) == (None, "dp_raft")
        assert "paid" in advice.sentence
        assert not any(name in advice.sentence for name in sides)
        assert advice.reasons[0] == free.UNKNOWN
    assert pc.advise(bare, candidates=sides, alike=["near"]).public == "near"
    assert pc.advise(bare, candidates={"own": near, "other": other}).public == "own"
    assert (pc.advise(bare).public, pc.advise(split).public) == ("none", "own")
    brought = pc.split(dataclasses.replace(digits, x_train=digits.x_train + 1), public=near)
    assert (pc.advise(brought).public, pc.advise(brought, alike=["own"]).public) == (None, "own")
    with pytest.raises(SettingError, match="far"):
        pc.advise(bare, candidates=sides, alike=["far"])
    with pytest.raises(SettingError, match="none"):
        pc.advise(bare, candidates={"none": near})


def test_the_paid_choice_finds_the_near_set_and_stays_within_the_whole_budget(digits):
    generator, own = rng.stream(0, "shuffled columns"), pc.split(digits, public_fraction=0.1)
    near = FeatureSet(own.public_x, None, None, None, ())
    far = FeatureSet(own.public_x[:, generator.permutation(digits.d)], None, None, None, ())
    private = dataclasses.replace(digits, x_train=digits.x_train[own.private], y_train=digits.y_train[own.private])
    sides = {"far": pc.split(private, public=far), "near": pc.split(private, public=near)}
    advice, record = chosen_and_trained(sides, epsilon=1.0)
    assert advice.public == "near"
    assert 0.9 < record.guarantee.epsilon.upper <= 1.0
    assert len(record.guarantee.events) == 2
    assert "chosen on private rows" in " ".join(record.guarantee.assumptions)
    assert advice.price.startswith("paid")
    said = pc.statement(record)
    assert f"public set 'near' was chosen on private rows, the learner {pc.METHODS[advice.method].title} from public rows" in said.text
    exact = pc.accounting.mu_of(record.guarantee.epsilon.upper, record.guarantee.delta)
    assert said.fields["gaussian_mu"] == pytest.approx(exact, rel=1e-6)
    assert "What that means" in said.text


def test_what_the_paid_choice_promises_hangs_on_no_choice(digits, monkeypatch):
    """Two learners with other releases: whichever set is chosen, the same events and ε are stated."""
    own, learners = pc.split(digits, public_fraction=0.1), {"one": "pillar", "other": "pillar_kalman"}
    private = dataclasses.replace(digits, x_train=digits.x_train[own.private], y_train=digits.y_train[own.private])
    public = {name: FeatureSet(own.public_x + place, None, None, None, ()) for place, name in enumerate(learners)}
    sides = {name: pc.split(private, public=rows) for name, rows in public.items()}
    advice = pc.advise(sides["one"])
    fixed = iter(2 * [*learners.values()])
    monkeypatch.setattr(paid, "advise", lambda rows, **asked: dataclasses.replace(advice, method=next(fixed)))
    records = {}
    for name in learners:
        seen = torch.tensor([1e6 * (name == one) for one in learners], dtype=torch.float64)
        with monkeypatch.context() as patch:
            patch.setattr(paid, "GaussianMechanism", lambda *how, seen=seen, **more: SimpleNamespace(release=lambda sums: seen))
            chosen, records[name] = chosen_and_trained(sides, epsilon=1.0)
        assert (chosen.public, records[name].method) == (name, learners[name])
    one, other = (records[name].guarantee for name in learners)
    assert (one.epsilon, one.events) == (other.epsilon, other.events)


def test_a_learner_whose_curve_could_cross_is_not_chosen(digits, monkeypatch):
    own = pc.split(digits, public_fraction=0.1)
    private = dataclasses.replace(digits, x_train=digits.x_train[own.private], y_train=digits.y_train[own.private])
    sides = {name: pc.split(private, public=FeatureSet(own.public_x, None, None, None, ())) for name in "ab"}
    advice = dataclasses.replace(pc.advise(sides["a"]), method="prototypes")
    monkeypatch.setattr(paid, "advise", lambda rows, **asked: advice)
    monkeypatch.setattr(paid, "GaussianMechanism", None)  # refused before the choice
    with pytest.raises(UnsupportedError, match="no full-batch Gaussian run"):
        chosen_and_trained(sides, epsilon=1.0)


def test_rows_that_one_set_makes_public_are_not_weighed_as_private_beside_another(digits):
    sides = {str(seed): pc.split(digits, public_fraction=0.1, seed=seed) for seed in (0, 1)}
    assert len({len(split.private) for split in sides.values()}) == 1
    with pytest.raises(DataError, match="same private rows"):
        chosen_and_trained(sides, epsilon=1.0)


def test_a_row_that_leaves_takes_no_more_than_its_own_answer_from_the_paid_choice():
    """41 equal rows between two classes of the public head: in a float32 product the logits' last bit hangs on how many rows there are,
    and one row less turned 28 answers where it may turn one."""
    for seed in (2, 7):
        generator, classes = rng.stream(seed, "a tie"), tuple("0123456789")
        public = FeatureSet(generator.standard_normal((60, 1280)).astype(np.float32), np.arange(60) % 10, None, None, classes)
        head = paid._public_head(_beside(np.zeros((2, 1280)), public))
        tie = head.weights[:, 0].astype(np.float64) + head.weights[:, 1]
        apart = head.weights[:, 0].astype(np.float64) - head.weights[:, 1]
        for _ in range(5):
            tie /= np.linalg.norm(tie)
            tie -= apart * (tie @ apart + head.bias[0] - head.bias[1]) / (apart @ apart)
        rows = np.repeat(tie[None] + (0.0 if head.transform.mean is None else head.transform.mean), 41, axis=0)
        scores = [paid._scores(_beside(rows[:n], public))[0] for n in range(30, 42)]
        assert max(abs(after.sum() - before.sum()) for before, after in itertools.pairwise(scores)) <= 1


def _beside(x, public):
    rows = FeatureSet(x.astype(np.float32), np.zeros(len(x), dtype=np.int64), None, None, public.classes)
    return pc.split(rows, public=public)
