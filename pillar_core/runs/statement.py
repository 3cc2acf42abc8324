"""What a privacy officer signs: a run's guarantee in plain words, and the fields that public
registries of deployments ask for."""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core import accounting
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import DpEvent, describe, of_person
from pillar_core.methods import METHODS
from pillar_core.numerics import number_words, round_up
from pillar_core.runs.assumptions import in_lines
from pillar_core.runs.private_tests import UNTESTED
from pillar_core.runs.versions import VERSION
from pillar_core.types import (
    Guarantee,
    NeighboringRelation,
    Provenance,
    PublicUse,
    RunRecord,
    Values,
)

_RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "{} added to or removed from the training rows",
    NeighboringRelation.REPLACE_ONE: "{} among the training rows replaced by any other",
}
IN_SIGHT = (
    "learner, k, ε, public rows or other settings were chosen while test accuracy of models trained"
    " on these private rows, a seeded private ranking, or a look at these rows without noise, was"
    " in sight, and that was not paid for: ε covers this training alone, and not what its settings"
    " say about the rows"
)
UNPAID = (
    "settings were chosen on test rows and unpaid: ε covers one run and not the choice, so this"
    " number is not differentially private"
)
PAID_WAYS = "random stopping"
NO_RELEASE = f"this run is no release: {UNPAID}. Choose the settings by rules or pay: {PAID_WAYS}."
RANKED_IN_SIGHT = (
    "learner, k, ε, public rows or other settings were chosen while a private ranking of public"
    " sets or rows was in sight whose noise has a known seed, and that was not paid for: ε covers"
    " this training alone"
)
BY_LABELS = (
    "Classes have unequal shares: labels of the public rows set the centre, and the intercept of a"
    " head that learns none, so that each class counts alike. That costs no ε."
)
BY_SHARES = (
    "Accuracy is wanted: labels of the public rows set the intercept of a head that learns none by"
    " the shares of the classes. That costs no ε."
)
TO_CONFIRM = (
    "To confirm: whoever trained the model signs here that nobody chose learner, k, ε, public rows"
    " or other settings after a look at the private rows, such as test accuracy, a figure of them"
    " or a ranking without noise. Name and date: ____________"
)
EXPECTED = "Expected before training"
"""How the line on a prediction begins, for whoever receives the model and may see no test row."""
UNPROTECTED, TEST_ROWS = "Not protected: public", ", validation and test rows;"
COUNTED = ", noise measured against all rows of one person"
LESS = " Who has k examples is protected less: ε is k times as large, and δ grows."


@dataclasses.dataclass(frozen=True)
class Statement:
    """A guarantee to sign: `text` in plain words, `fields` as a registry of deployments files
    it."""

    text: str
    fields: Values


def public_words(record: RunRecord) -> str:
    """What the run learnt from public rows, apart from means and scales; of unequal classes with
    what the labels set."""
    words = METHODS[record.method].public_words(record.settings)
    is_set = BY_LABELS in record.notes or BY_SHARES in record.notes
    return f"{words}, labels for centre and intercept" if is_set else words


def spent_event(record: RunRecord) -> DpEvent:
    """The privacy event that the record's guarantee covers; of a record from the store, which holds
    none, that of its run."""
    guarantee = record.guarantee
    return (
        of_person(_run_event(record), guarantee.rows_per_person or 1)
        if guarantee.event is None
        else guarantee.event
    )


def expecting(record: RunRecord, words: str, numbers: Values) -> RunRecord:
    """The record, its statement naming what public rows or a fitted table, and nothing else, said
    of it before training."""
    expected = ({"words": words, "numbers": dict(numbers)}, Provenance.PUBLIC)
    return dataclasses.replace(record, diagnostics={**record.diagnostics, EXPECTED: expected})


def in_sight(record: RunRecord, seen: str = IN_SIGHT) -> RunRecord:
    """The record, its guarantee declared to cover the training alone; `seen` says what was in sight
    when its settings were moved.

    Raises UnsupportedError: a run that no declaration makes a release, because settings were picked
    as the best on test rows.
    """
    declared = record.guarantee
    if declared.covers_choice is False:
        raise UnsupportedError(NO_RELEASE)
    guarantee = dataclasses.replace(
        declared,
        covers_choice=False,
        chosen_in_sight=True,
        assumptions=(*declared.assumptions, seen),
    )
    return dataclasses.replace(record, guarantee=guarantee)


def statement(record: RunRecord) -> Statement:
    """The statement of a run: unit, relation, sampler, accountant, ε, δ, μ, public data, tuning,
    assumptions, and what is not protected.

    Guarantee: says what the record's guarantee says and nothing beyond; an experiment with a known
    seed is called one.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> words = pc.statement(pc.run("pillar", split, epsilon=2.0)).text
    >>> "Privacy loss: ε ≤ 2 at δ = 10⁻⁵" in words
    True
    """
    guarantee, learner = record.guarantee, METHODS[record.method]
    upper, relation = guarantee.epsilon.upper, NeighboringRelation.of(guarantee.relation)
    curve = _curve(record, relation) if guarantee.is_private and guarantee.has_releases else None
    summary = None if curve is None else accounting.gaussian_summary(curve)
    public = public_words(record)
    choice, expected = _choice(guarantee), record.diagnostics.get(EXPECTED, (None,))[0]
    unit = guarantee.unit.definition
    counted_by = (
        f"{guarantee.accountant}; ε is its upper end"
        if guarantee.has_releases
        else "none needed, no private row was read"
    )
    loss = (
        f"ε ≤ {round_up(upper)} at δ = {number_words(guarantee.delta)}"
        if math.isfinite(upper)
        else "none: ε is infinite"
    )
    lines = [
        (
            f"Model: {learner.title}, from {record.facts.n_private:,} private examples of"
            f" {record.facts.n_classes} classes."
        ),
        (
            f"Privacy loss: {loss}. Neighbouring data differ in"
            f" {_RELATIONS[guarantee.relation].format(guarantee.unit.examples)}."
        ),
        f"Unit of protection: {unit}.{'' if guarantee.rows_per_person else LESS}",
        (
            f"Releases charged: {'; '.join(guarantee.events) or 'nothing from private rows'}"
            f"{COUNTED if (guarantee.rows_per_person or 1) > 1 else ''}."
        ),
        f"Sampling: {_sampling(record)}.",
        f"Accountant: {counted_by}.",
        *(
            [_meaning(curve, summary)]
            if curve is not None and summary is not None and math.isfinite(summary.mu)
            else []
        ),
        (
            f"Public data: {record.facts.n_public:,} examples, used as: {public}. They are not"
            " protected."
        ),
        f"Choice of settings: {choice}",
        *([TO_CONFIRM] if guarantee.covers_choice and not guarantee.chosen_in_sight else []),
        *in_lines(guarantee.assumptions),
        *(
            [
                f"{EXPECTED}: {expected['words']}. No test row was read for it, and it is no"
                " measurement."
            ]
            if expected
            else []
        ),
        (
            f"{UNPROTECTED}{TEST_ROWS} that the data set was used at all; the time and memory that"
            " training took; what is true of the population whether or not anybody takes part; and"
            " further runs on the same rows, whose losses add up."
        ),
    ]
    if guarantee.delta * record.facts.n_private >= 1 and guarantee.has_releases:
        least = f"δ is at least 1/n = {number_words(1 / record.facts.n_private, 2)}"
        lines.append(f"{least}: such a guarantee would allow publishing a random row outright.")
    if record.seed is not None and guarantee.has_releases:
        lines.insert(
            0,
            "NOT FOR RELEASE: this run has a known seed, and whoever knows it can subtract the"
            " noise.",
        )
    fields = {
        "flavor": (
            "approximate differential privacy"
            if guarantee.delta > 0
            else "pure differential privacy"
        ),
        "epsilon": upper if math.isfinite(upper) else "inf",
        "delta": guarantee.delta,
        "gaussian_mu": None if summary is None or not math.isfinite(summary.mu) else summary.mu,
        "gaussian_mu_floor": None if summary is None else summary.floor,
        "privacy_unit": unit,
        "neighboring_relation": str(relation),
        "unprotected_quantities": "number of private examples, classes, public data",
        "deployment_model": "central",
        "mechanisms": list(guarantee.events),
        "accounting": guarantee.accountant,
        "tuning": choice,
        "public_data": str(PublicUse.NONE) if not record.facts.n_public else public,
        "assumptions": list(guarantee.assumptions),
        "implementation": f"PILLAR explorer {VERSION}",
        **({"expected_accuracy": expected["numbers"]} if expected else {}),
    }
    return Statement("\n".join(lines), fields)


def with_tests(said: Statement, lines: Sequence[str], fields: Values) -> Statement:
    """A statement of a model with what `private_tests.stated` says of tests of its test rows."""

    def tested(text: str) -> str:
        return text.replace(UNTESTED, "; validation rows are not protected")

    before, start, after = said.text.rpartition(UNPROTECTED)
    text = "\n".join([f"{before}{lines[0]}", *lines[1:], f"{start}{after}"])
    assumptions = [tested(line) for line in said.fields["assumptions"]]
    return Statement(
        tested(text).replace(UNPROTECTED + TEST_ROWS, f"{UNPROTECTED} and validation rows;"),
        {**said.fields, "assumptions": assumptions, **fields},
    )


def _choice(guarantee: Guarantee) -> str:
    paid = (
        f"paid for within ε: {guarantee.paid_choice}. All else: " if guarantee.paid_choice else ""
    )
    if guarantee.chosen_in_sight:
        seen = (
            "test accuracy"
            if IN_SIGHT in guarantee.assumptions
            else "a private ranking of public sets with a known seed"
        )
        return f"{paid}made with {seen} in sight and not paid for; ε covers this training alone."
    if guarantee.covers_choice is None:
        return (
            f"{paid}not known. Settings were given, maybe after a look at these rows; ε covers this"
            " training alone."
        )
    if not guarantee.covers_choice:
        return "made on test rows and not paid for; this number is not differentially private."
    return (
        f"{paid}by rules from public facts, or by hand without a look at these rows. What private"
        " rows said about public ones, where it is not counted here, has an ε of its own."
    )


def _sampling(record: RunRecord) -> str:
    if any("in one at random" in event for event in describe(_run_event(record))):
        return (
            "each row enters one step of every pass over the rows, drawn by itself and kept secret"
        )
    if record.settings.get("variant") == "as_printed":
        return "each step draws one row at random, which is counted by a bound of its own"
    is_poisson = any("Poisson sample" in event for event in record.guarantee.events)
    return (
        "each row enters a step by its own secret coin"
        if is_poisson
        else "none, all rows enter every step"
    )


def _run_event(record: RunRecord) -> DpEvent:
    method = METHODS[record.method]
    return method.cost(method.settings(**record.settings), record.facts)


def _curve(record: RunRecord, relation: NeighboringRelation) -> accounting.TradeOff | None:
    """The trade-off curve of what ε counts; None where no accountant bounds it."""
    try:
        return accounting.trade_off(spent_event(record), relation=str(relation))
    except UnsupportedError:
        return None


def _meaning(curve: accounting.TradeOff, summary: accounting.GaussianSummary) -> str:
    hit_rate, share = accounting.tpr_at(curve, 0.01), accounting.advantage(curve) / 2
    return (
        f"What that means: Gaussian μ = {summary.mu:.4g}, for false-alarm and miss rates from"
        f" {100 * summary.floor:g} % up. Seeing the model turns at most 1 even bet in"
        f" {math.floor(1 / share):,} on somebody's part from wrong to right; who accuses 1 % of the"
        f" others wrongly finds at most {math.ceil(1000 * hit_rate) / 10:g} % of the members."
    )
