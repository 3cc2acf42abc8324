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
    NeighboringRelation,
    Provenance,
    RunRecord,
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
BELOW = " Always saying the largest class is right in more of these rows"
UNTESTED = (
    "; validation and test rows are not protected, and scores on them are non-private releases"
)
_NAME = "private_tests"


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


def add_tests(
    record: RunRecord, tests: Sequence[PrivateTest], *, has_coin: bool | str, is_shown: bool
) -> RunRecord:
    """The record, its statement naming private tests of its test rows.

    has_coin: a secret coin of each row or person alone decides between training and test. is_shown:
    an exact figure was shown.
    """
    form = {"tests": tuple(tests), "has_coin": has_coin, "is_shown": is_shown}
    assumptions = tuple(
        line.replace(UNTESTED, "; validation rows are not protected")
        for line in record.guarantee.assumptions
    )
    guarantee = dataclasses.replace(record.guarantee, assumptions=assumptions)
    diagnostics = {**record.diagnostics, _NAME: (form, Provenance.PRIVATE)}
    return dataclasses.replace(record, guarantee=guarantee, diagnostics=diagnostics)


def epsilon_with_tests(record: RunRecord) -> tuple[float, str] | None:
    """ε of training and tests together, at the training's δ, and why; None without tests, or where
    a test protects another unit."""
    form, guarantee = _of(record)[0], record.guarantee
    tests = form["tests"]
    if not tests or any(unit_of(test) != unit_of(guarantee) for test in tests):
        return None
    tested = sum(test.epsilon for test in tests)
    return epsilon_together(
        guarantee.epsilon.upper, tested, guarantee.relation, has_coin=form["has_coin"]
    )


def unit_of(item: Any) -> tuple[str, bool]:
    """What a training, a test or a guarantee protects: its relation, and whether it is of persons.

    Guarantee: all that has one unit composes. Each ε of persons counts all rows that its release
    reads of one person, so a sum is of a person, whatever the numbers of rows.
    """
    return str(item.relation), bool(item.rows_per_person)


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


def doubt(test: PrivateTest, low: float, high: float, metric: str, *, n_classes: int) -> str:
    """In one sentence that a test contradicts the expected range of `metric`, or does not show more
    than guessing; else ""."""
    level, ends = guess(test.metric, n_classes), f"{100 * low:.0f} to {100 * high:.0f} %"
    is_outside = test.metric == metric and (test.high < low or test.low > high)
    outside = f"lies outside the {ends} that the answer expected" if is_outside else ""
    is_guess = test.metric != "accuracy" and test.low <= level
    guessing = (
        f"does not show that the model beats guessing, {100 * level:.0f} %" if is_guess else ""
    )
    return (
        f"This test {' and '.join(filter(None, (outside, guessing)))}."
        if outside or guessing
        else ""
    )


def lines(record: RunRecord) -> list[str]:
    """What a statement says of the tests of a record, line by line."""
    (form, own), guarantee = _of(record), record.guarantee
    if not form["tests"]:
        return []
    words = [
        f"Tested privately: {test.words} ε ≤ {round_up(test.epsilon)}, δ = 0, for"
        f" {Unit(test.rows_per_person).definition} of the test rows"
        f" ({test.relation.replace('_', ' ')})."
        for test in own
    ]
    if rest := [test.epsilon for test in form["tests"] if test not in own]:
        words.append(
            f"Private tests of other models on these test rows: {len(rest)}, with ε ≤"
            f" {round_up(sum(rest))} together."
        )
    if (total := epsilon_with_tests(record)) is None:
        words.append("Training and tests protect different units, so no one ε covers both.")
    else:
        words.append(
            f"Training and tests together: ε ≤ {round_up(total[0])} at δ ="
            f" {number_words(guarantee.delta)}, {total[1]}."
        )
    return [*words, *([SHOWN] if form["is_shown"] else [])]


def fields(record: RunRecord) -> dict[str, Any]:
    """What a registry of deployments files of the tests of a record."""
    (form, own), total = _of(record), epsilon_with_tests(record)
    if not form["tests"]:
        return {}
    names = ("metric", "value", "low", "high", "level", "epsilon", "relation", "rows_per_person")
    return {
        "private_tests": [{name: getattr(test, name) for name in names} for test in own],
        "epsilon_with_tests": None if total is None else total[0],
        "exact_figure_shown": form["is_shown"],
    }


def _of(record: RunRecord) -> tuple[dict[str, Any], list[PrivateTest]]:
    """What `add_tests` said of a record, and which of the tests are of its own model."""
    nothing: dict[str, Any] = {"tests": (), "has_coin": False, "is_shown": False}
    form, _ = record.diagnostics.get(_NAME, (nothing, None))
    model = model_of(record.classifier)
    return form, [test for test in form["tests"] if test.model == model]
