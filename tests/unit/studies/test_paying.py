"""The paid answer to "what would it take?": the law of the path, the one charge, and what was spent in hindsight."""

import dataclasses
import math
from unittest.mock import patch

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract import checks
from contract.cases import small_split
from contract.tapes import Recorder, Replay
from pillar_core import accounting
from pillar_core import ledger as events
from pillar_core.auditing import noise
from pillar_core.errors import BudgetError, DataError, LedgerError, SettingError
from pillar_core.ledger import Call, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.rng import stream
from pillar_core.runs.run import Solved, solve
from pillar_core.studies import paying

GRID = (0.5, 2.0, 8.0)
RUNS = 60
SIGNIFICANCE = 1e-6
"""Some dozen p-values in all: a false alarm in one of ten thousand suites."""
DEVIATIONS = 5.0
"""Standard errors of a Monte Carlo mean, at a chance of 6e-7."""
SOUND = GaussianMechanism.release_path


def grid(*epsilons: float) -> list[Solved]:
    split = small_split()
    return [solve(paying.LEARNER, split, epsilon=epsilon) for epsilon in epsilons]


def faulty(self: GaussianMechanism, total: torch.Tensor, coarser: list[float], *, charged: float, same: bool) -> list[torch.Tensor]:
    """A path of noises drawn each by itself, or all from the same normals."""
    stds = [multiplier * self.l2_clip_norm for multiplier in (*coarser, self.noise_multiplier)]
    shared = self._noise(total, 1.0)
    call = Call("gaussian_path", tuple(total.shape), stds[-1], self.l2_clip_norm, self.l2_clip_norm, detail=tuple(stds))
    event = events.gaussian(charged, replace_one_factor=self.replace_one_factor)
    return self.ledger.release(event, call, total, lambda: [total + (std * shared if same else self._noise(total, std)) for std in stds])


def independent(self, total, coarser):
    return faulty(self, total, coarser, charged=self.noise_multiplier, same=False)


def scaled(self, total, coarser):
    return faulty(self, total, coarser, charged=self.noise_multiplier, same=True)


def at_the_first_price(self, total, coarser):
    """The sound path, charged as its coarsest part."""
    cheap = dataclasses.replace(self, noise_multiplier=coarser[0])
    return faulty(cheap, total, [], charged=coarser[0], same=False) + SOUND(dataclasses.replace(self, ledger=Ledger()), total, coarser)[1:]


FAULTS = {"independent noises": independent, "the same normals at every ε": scaled, "the price of the first ε": at_the_first_price}


def check_release(runs: list[Solved]) -> None:
    """One release, charged as the last run's; the noise of the last and each further one are independent normals of the right size."""
    stds = [one.settings.noise_multiplier for one in runs]
    noises = []
    for seed in range(RUNS):
        tape = Recorder()
        ledger = Ledger(tape)
        paying.heads_of(runs, seed, ledger)
        [call] = tape.calls
        assert ledger.spent == events.compose(runs[-1].cost)
        assert call.noise_std == pytest.approx(stds[-1] * call.sensitivity, rel=1e-12)
        assert call.detail == pytest.approx([call.sensitivity * std for std in stds], rel=1e-12)
        noises.append(checks.standard_noise(tape))
    checks.is_independent(noises)


def test_one_release_is_charged_as_the_cap_and_its_path_has_the_law() -> None:
    check_release(grid(*GRID))


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_planted_fault_of_the_path_is_seen(name: str) -> None:
    with patch.object(GaussianMechanism, "release_path", FAULTS[name]), pytest.raises(AssertionError):
        check_release(grid(*GRID))


def test_an_answer_charged_below_its_cap_is_refused() -> None:
    with patch.object(GaussianMechanism, "release_path", at_the_first_price), pytest.raises(LedgerError):
        paying.pay_for(small_split(), target=0.0, epsilons=GRID)


@pytest.mark.parametrize("factor", [2 / 3, 1.0, 3 / 2])
def test_each_part_of_the_path_has_the_noise_of_its_epsilon(factor: float) -> None:
    sigmas = [4.0, 2.0, 1.5, 1.0]
    path = GaussianMechanism(1.0, 1.0, stream(0, "path"), Ledger()).release_path(torch.zeros(4000, dtype=torch.float64), sigmas[:-1])
    for sigma, one in zip(sigmas, path, strict=True):
        of_noise = one.numpy() / (factor * sigma)
        p = min(noise.variance(of_noise), noise.law(of_noise))
        assert (p > SIGNIFICANCE) == (factor == 1.0)


@pytest.mark.parametrize("coarser", [[1.0], [2.0, 3.0], [2.0, 2.0], [math.nan]])
def test_noise_that_does_not_fall_is_refused(coarser: list[float]) -> None:
    with pytest.raises(SettingError, match="fall"):
        GaussianMechanism(1.0, 1.0, stream(0, "path"), Ledger()).release_path(torch.zeros(3), coarser)


def test_with_the_release_replayed_nothing_depends_on_private_rows() -> None:
    runs, tape = grid(*GRID), Recorder()
    heads = paying.heads_of(runs, 0, Ledger(tape))
    for _, view in checks.hostile_views(runs[-1].view):
        replay = Replay(tape, sampling_seed=7)
        others = paying.heads_of([dataclasses.replace(one, view=view) for one in runs], 0, Ledger(replay))
        assert replay.calls == tape.calls
        for head, other in zip(heads, others, strict=True):
            np.testing.assert_array_equal(head.weights, other.weights)
            np.testing.assert_array_equal(head.bias, other.bias)


def test_two_grids_of_one_seed_share_no_noise() -> None:
    ends = []
    for runs in (grid(0.5, 8.0), grid(2.0, 8.0)):
        tape = Recorder()
        paying.heads_of(runs, 0, Ledger(tape))
        ends.append((tape.released[0][-1] - tape.values[0]).numpy())
    assert not np.isclose(*ends).any()


def scores(order: float, *, understated: float = 1.0, are_independent: bool = False) -> tuple[float, float]:
    """(mean, standard error) of (dP/dQ)^α exp(−(α − 1)αμ²/2) over 400,000 scalar paths whose statistic is 0, and 1 under P.

    The adversary stops as soon as what was seen speaks for P, else at the end.
    """
    sigmas = np.array([4.0, 2.5, 1.8, 1.5])
    release = independent if are_independent else SOUND
    one = GaussianMechanism(1.5, 1.0, stream(1, "scalar paths"), Ledger())
    path = np.stack([part.numpy() for part in release(one, torch.zeros(400_000, dtype=torch.float64), list(sigmas[:-1]))])
    weight = (path - 0.5) / sigmas[:, None] ** 2
    log_ratio = np.cumsum(weight, axis=0) if are_independent else weight
    stopped = np.argmax(np.vstack([log_ratio[:-1] > 0.2, np.ones((1, path.shape[1]), dtype=bool)]), axis=0)
    assert len(set(stopped)) == len(sigmas)
    mu = understated / sigmas[stopped]
    value = np.exp(order * np.take_along_axis(log_ratio, stopped[None], 0)[0] - (order - 1) * order * mu**2 / 2)
    return float(value.mean()), float(value.std() / math.sqrt(value.size))


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_what_was_spent_holds_for_an_adversary_who_stops_at_will(order: float) -> None:
    mean, error = scores(order)
    assert abs(mean - 1) < DEVIATIONS * error
    for wrong in (scores(order, understated=0.8), scores(order, are_independent=True)):
        assert wrong[0] > 1 + DEVIATIONS * wrong[1]


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_the_first_head_that_passes_ends_it(relation: str) -> None:
    split = small_split(n=400)
    wrong = np.where(np.arange(len(split.public_x)) % 3 == 0, (split.public_y + 1) % 3, split.public_y)
    split = dataclasses.replace(split, public_y=wrong)  # so that no head has all of the test rows right
    none = paying.pay_for(split, target=1.0, epsilons=GRID, relation=relation)
    assert (none.epsilon, none.classifier, len(none.shares)) == (None, None, len(GRID))
    for index, epsilon in enumerate(GRID):
        paid = paying.pay_for(split, target=none.shares[index], epsilons=GRID, relation=relation)
        first = next(place for place, share in enumerate(none.shares) if share >= none.shares[index])
        assert (paid.epsilon, paid.shares) == (GRID[first], none.shares[: first + 1])
        # calibrated to 1e-9, and never past the budget
        assert paid.mu == pytest.approx(accounting.mu_of(GRID[first], 1e-5), rel=1e-6)
        assert GRID[-1] * (1 - 1e-6) <= paid.guarantee.epsilon.upper <= GRID[-1]
        assert f"ε = {GRID[first]:g} from the start" in paid.words
        assert epsilon >= paid.epsilon
    assert "whole cap" in none.words


def test_a_person_counts_with_all_rows() -> None:
    rows = small_split(n=400).features
    split = pc.split(rows, public_fraction=0.25, persons=np.arange(400) // 2, rows_per_person=2)
    paid = paying.pay_for(split, target=0.0, epsilons=GRID)
    assert paid.guarantee.rows_per_person == 2
    assert paid.mu == pytest.approx(accounting.mu_of(GRID[0], 1e-5), rel=1e-6)


def test_the_rows_of_the_test_decide_no_direction() -> None:
    split = small_split()
    before = paying.pay_for(split, target=0.0, epsilons=GRID)
    same = 0
    for row in range(len(split.public_x)):
        moved = split.public_x.copy()
        moved[row] += 1
        after = paying.pay_for(dataclasses.replace(split, public_x=moved, memo=type(split.memo)()), target=0.0, epsilons=GRID)
        same += np.array_equal(before.classifier.weights, after.classifier.weights)
    assert same == before.n_test == len(split.public_x) // 2


def test_a_release_draws_other_noise_each_time() -> None:
    shown = [paying.pay_for(small_split(), target=0.0, epsilons=GRID, seed=None) for _ in range(2)]
    assert not np.array_equal(*(one.classifier.weights for one in shown))
    assert any("operating system" in line for line in shown[0].guarantee.assumptions)


def test_what_cannot_be_paid_for_is_refused() -> None:
    split = small_split()
    with pytest.raises(DataError, match="labelled public rows"):
        paying.pay_for(dataclasses.replace(split, public_y=None), target=0.5, epsilons=GRID)
    for epsilons in ((), (1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (1.0, math.inf), (math.nan,)):
        with pytest.raises(BudgetError, match="rise"):
            paying.pay_for(split, target=0.5, epsilons=epsilons)
    for target in (math.nan, 1.5):
        with pytest.raises(SettingError, match="target"):
            paying.pay_for(split, target=target, epsilons=GRID)
