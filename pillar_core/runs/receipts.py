"""Receipts of trainings with secret noise: written down by the content of the private rows before
one is read, and summed."""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core.fingerprint import fingerprint
from pillar_core.methods import METHODS
from pillar_core.numerics import number_words, round_up
from pillar_core.runs import private_tests
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.runs.spent import Spendings
from pillar_core.types import FeatureSet, RunRecord, SemiPrivateSplit, Unit


@dataclasses.dataclass(frozen=True)
class Training:
    """A training on `rows` private rows of `data`, with the most that it may spend. model: its
    weights, where it was written down after."""

    learner: str
    data: str
    rows: int
    epsilon: float
    delta: float
    relation: str
    rows_per_person: int | None
    model: str = ""

    @property
    def words(self) -> str:
        """What was spent on which rows."""
        loss = (
            "ε = ∞: it protects nobody,"
            if math.isinf(self.epsilon)
            else f"ε = {round_up(self.epsilon)}, δ = {number_words(self.delta)}"
        )
        persons = (
            f", of which no person has more than {self.rows_per_person}"
            if self.rows_per_person
            else ""
        )
        return f"{self.learner} spent {loss} on {self.rows:,} rows of {self.data}{persons}."


def training_on(
    split: SemiPrivateSplit, learner: str, budget: tuple[float, float, str], *, data: str = ""
) -> Training:
    """A training on the private rows of a split. budget: ε, δ and relation; data: what people call
    the rows."""
    return Training(
        learner, data or split.features.name, len(split.private), *budget, split.rows_per_person
    )


def content_of(features: FeatureSet) -> str:
    """The content of the rows that are trained on, whichever share of them is public; of images
    before any backbone."""
    return fingerprint((features if features.images is None else features.images).x_train)


_TRAININGS = Spendings("training", lambda form: Training(**form))
keep, of_rows = _TRAININGS.keep, _TRAININGS.of_rows


def keep_saved(record: RunRecord, split: SemiPrivateSplit) -> None:
    """Writes down the training of a model that leaves by `save_model`, once for each model. Raises
    StoreError: a disk that refuses."""
    guarantee = record.guarantee
    if record.classifier is None or not guarantee.has_releases:
        return
    rows, model = content_of(split.features), private_tests.model_of(record.classifier)
    if model not in {training.model for training in of_rows(rows)}:
        budget = (guarantee.epsilon.upper, guarantee.delta, str(guarantee.relation))
        keep(
            rows,
            dataclasses.replace(
                training_on(split, METHODS[record.method].title, budget), model=model
            ),
        )


def total(rows: str, tests: Sequence[PrivateTest], *, has_coin: bool | str = False) -> str:
    """What all trainings on these rows spent, with the private tests of their test rows; a sum for
    each unit and relation.

    Guarantee: ε and δ of trainings add up; with tests, as `private_tests.epsilon_together`.
    """
    trainings, sums = of_rows(rows), []
    for relation, most in dict.fromkeys(
        (training.relation, training.rows_per_person) for training in trainings
    ):
        same = [
            training
            for training in trainings
            if (training.relation, training.rows_per_person) == (relation, most)
        ]
        epsilon, count = (
            sum(training.epsilon for training in same),
            f"{len(same)} training{'s' * (len(same) > 1)}",
        )
        loss = (
            f"ε = {round_up(epsilon)}, δ ="
            f" {number_words(sum(training.delta for training in same), 3)} in {count}"
        )
        unit = f"one {Unit(most)} {'replaced' if relation == 'replace_one' else 'added or removed'}"
        with_tests = private_tests.epsilon_together(
            epsilon, tests, (relation, most), has_coin=has_coin
        )
        more = (
            f", ε = {round_up(with_tests)} with {len(tests)} private test{'s' * (len(tests) > 1)}"
            if with_tests
            else ""
        )
        sums.append(f"{loss}{more}, for {unit}")
    apart = (
        " Private tests protect another unit and are not in it."
        if tests and not any("private test" in line for line in sums)
        else ""
    )
    return f"Sum for these rows so far: {'; '.join(sums) or 'nothing'}.{apart}"


def words(features: FeatureSet) -> str:
    """The receipt of the last training on these rows, and the sum."""
    rows = content_of(features)
    return (
        f"{of_rows(rows)[-1].words}"
        f" {total(rows, private_tests.of_rows(private_tests.content_of(features)))}"
    )
