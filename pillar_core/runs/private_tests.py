"""Private tests of models: what they say, alone and together with trainings, in a model's
statement."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pillar_core.fingerprint import fingerprint
from pillar_core.mechanisms.geometric import reach
from pillar_core.metrics import guess
from pillar_core.numerics import number_words, round_up
from pillar_core.types import (
    BY_COIN,
    Classifier,
    Form,
    NeighboringRelation,
    Unit,
)

LARGER = (
    "the larger of the two, as {} a secret coin of each row or person alone decides between"
    " training and test"
)
SUM = (
    "their sum, because no secret coin of each row or person alone decides between training and"
    " test"
)
SHOWN = "An exact figure of these test rows was shown, too, and no ε here covers it."
UNITS_APART = "Training and tests protect different units, so no one ε covers both."
CHANGED = {"add_or_remove_one": "added or removed", "replace_one": "replaced"}
"""What neighbouring data do to one row or person, by relation."""
BELOW = " Always saying the largest class is right in more of these rows"
UNTESTED = (
    "; validation and test rows are not protected, and scores on them are non-private releases"
)


@dataclasses.dataclass(frozen=True)
class PrivateTest:
    """A figure of protected rows with its ends, its noisy `cells`, and its ε. `model`: the content
    of the tested model's weights.

    rate: of the noise on each cell. unclear: classes of which the cells say nothing.
    """

    model: str
    metric: str
    value: float
    low: float
    high: float
    level: float
    epsilon: float
    relation: str
    rows_per_person: int | None
    rate: float
    cells: tuple[tuple[int, ...], ...]
    unclear: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The figure and its interval."""
        if self.low <= 0 and self.high >= 1:
            return f"{title_of(self.metric)}: these rows cannot tell at this ε.{self.rare}"
        ends = " and ".join(f"{100 * end:.1f}" for end in (self.low, self.high))
        confidence = f"between {ends} % with {100 * self.level:g} % confidence"
        figure = f"{title_of(self.metric)} {100 * self.value:.1f} %, {confidence}."
        return f"{figure}{self.rare}{self.below}"

    @property
    def below(self) -> str:
        """That always saying the largest class is right more often in these rows, where the noisy
        cells of classes show it with confidence `level`."""
        if self.metric != "balanced_accuracy":
            return ""
        wrong, right = np.array(self.cells).T
        ahead = (wrong + right).max() - right.sum()
        miss = (1 - self.level) / len(right)  # whichever class the noise shows as the largest
        is_below = ahead > reach(self.rate, len(right), miss)
        return f"{BELOW}, and balanced in {100 / len(right):.0f} %." if is_below else ""

    @property
    def rare(self) -> str:
        """The classes of which the cells say nothing."""
        return f" Too few rows to tell: {', '.join(self.unclear)}." if self.unclear else ""


def title_of(metric: str) -> str:
    """A metric's name for people."""
    return "AUC" if metric == "auc" else metric.replace("_", " ").capitalize()


def model_of(classifier: Classifier | None) -> str:
    """The content of a classifier's weights; "" without one."""
    if classifier is None:
        return ""
    names = ("weights", "bias", "arrays", "names")
    return fingerprint(*(getattr(classifier, name) for name in names if hasattr(classifier, name)))


def unit_of(item: Any) -> tuple[str, bool]:
    """What a training, a test or a guarantee protects: its relation, and whether it is of persons.

    Guarantee: all that has one unit composes. Each ε of persons counts all rows that its release
    reads of one person, so a sum is of a person, whatever the numbers of rows.
    """
    return str(item.relation), bool(item.rows_per_person)


def unit_words(items: Sequence[Any]) -> str:
    """Of whom the sum of these trainings and tests of one unit is; of persons, the largest of their
    numbers of rows is named."""
    most = max(item.rows_per_person or 0 for item in items) or None
    return f"for one {Unit(most)} {CHANGED[str(items[0].relation)]}"


def sums_of(tests: Sequence[PrivateTest]) -> str:
    """How many tests there are of each unit, and their ε together: ε of two units have no sum."""
    units = dict.fromkeys(map(unit_of, tests))
    return "; ".join(
        f"{len(same)}, with ε ≤ {round_up(sum(test.epsilon for test in same))} together,"
        f" {unit_words(same)}"
        for unit in units
        for same in [[test for test in tests if unit_of(test) == unit]]
    )


def unit_of_card(guarantee: Form) -> tuple[str, bool]:
    """As `unit_of`, of the guarantee in a model's card."""
    return guarantee["relation"], str(guarantee.get("privacy_unit")).startswith("person")


def epsilon_together(
    trained: float, tested: float, relation: str, *, has_coin: bool | str
) -> tuple[float, str]:
    """ε of trainings and tests of one unit together, and in words why. has_coin: `BY_COIN` where
    this library drew it, else whether somebody states it.

    Guarantee: the sum composes both. The larger holds where a coin of each row alone decides and
    neighbours differ by one row or person added or removed: given everybody else's coins, either
    side of the coin changes one of the two releases.
    """
    if not has_coin or relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        return trained + tested, SUM
    drew = "this library drew the test rows:" if has_coin == BY_COIN else "you state that"
    return max(trained, tested), LARGER.format(drew)


def doubt(test: PrivateTest, expected: Form | None, *, n_classes: int) -> str:
    """In one sentence that a test contradicts what the answer expected of the model, as its card
    says, or does not show more than guessing; else ""."""
    level, outside = guess(test.metric, n_classes), ""
    if expected is not None and test.metric == expected["metric"]:
        low, high = expected["low"], expected["high"]
        ends = f"{100 * low:.0f} to {100 * high:.0f} %"
        is_outside = test.high < low or test.low > high
        outside = f"lies outside the {ends} that the answer expected" if is_outside else ""
    is_guess = test.metric != "accuracy" and test.low <= level
    guessing = f"does not show that the model beats guessing, {100 * level:.0f} %" * is_guess
    doubts = " and ".join(filter(None, (outside, guessing)))
    return f"This test {doubts}." if doubts else ""


def stated(
    tests: Sequence[PrivateTest],
    model: str,
    guarantee: Form,
    *,
    has_coin: bool | str,
    is_shown: bool,
) -> tuple[list[str], Form]:
    """What the statement of a model says of private tests of its test rows, line by line, and what
    a registry of deployments files of them.

    guarantee: as the model's card has it. has_coin: as in `epsilon_together`. is_shown: an exact
    figure of these rows was shown.
    """
    own = [test for test in tests if test.model == model]
    lines = [
        f"Tested privately: {test.words} ε ≤ {round_up(test.epsilon)}, δ = 0, for"
        f" {Unit(test.rows_per_person).definition} of the test rows"
        f" ({test.relation.replace('_', ' ')})."
        for test in own
    ]
    if rest := [test for test in tests if test not in own]:
        lines.append(f"Private tests of other models on these test rows: {sums_of(rest)}.")
    unit, total = unit_of_card(guarantee), None
    if all(unit_of(test) == unit for test in tests):
        tested = sum(test.epsilon for test in tests)
        total, why = epsilon_together(
            float(guarantee["epsilon"]), tested, unit[0], has_coin=has_coin
        )
        lines.append(
            f"Training and tests together: ε ≤ {round_up(total)} at δ ="
            f" {number_words(guarantee['delta'])}, {why}."
        )
    else:
        lines.append(UNITS_APART)
    names = ("metric", "value", "low", "high", "level", "epsilon", "relation", "rows_per_person")
    return [*lines, *([SHOWN] if is_shown else [])], {
        "private_tests": [{name: getattr(test, name) for name in names} for test in own],
        "epsilon_with_tests": total,
        "exact_figure_shown": is_shown,
    }
