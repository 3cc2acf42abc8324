"""One account for each set of private rows: what was paid for them and what somebody saw of them,
written down before anybody sees what it buys, read by pages, commands and statements alike."""

import contextlib
import dataclasses
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pillar_core import accounting, store
from pillar_core.arrays import Array
from pillar_core.backbones import extraction
from pillar_core.data import DATASETS, matching, places, uploads
from pillar_core.data.sets import embedded
from pillar_core.errors import StoreError
from pillar_core.fingerprint import LENGTH, fingerprint
from pillar_core.ledger import Ledger, compose, describe, gaussian
from pillar_core.methods import METHODS
from pillar_core.numerics import number_words, round_up
from pillar_core.runs import private_tests, records
from pillar_core.runs.private_tests import PrivateTest, epsilon_together, unit_of, unit_words
from pillar_core.runs.run import with_fast_part
from pillar_core.runs.splitting import is_known
from pillar_core.runs.statement import IN_SIGHT, RANKED_IN_SIGHT, in_sight, spent_event
from pillar_core.store import upkeep
from pillar_core.types import (
    Dataset,
    FeatureSet,
    Form,
    NeighboringRelation,
    RunRecord,
    SemiPrivateSplit,
)

RANKED = (
    "public sets ({}) were ranked on these private rows by noised class sums with secret noise, and"
    " ε counts that release too"
)
PART = (
    "every tenth row of the private set counted as public in a ranking, so ε does not protect it"
    " there"
)
_RANKED_ALONE = ", ranked with a known seed"
_ROWS, _ANSWERED = f"{upkeep.SPENT}rows-", f"{upkeep.SPENT}answered-"
"""Names of arrays with the hashes of rows that trainings read, and that models answered on."""
MOST_ANSWERS = 1_000
"""Batches of answers on new rows that a process remembers and a cache holds: a service asks more
often, a search does not."""
MOST_AT_ONCE = 1_000
"""Entries of one set of rows that other threads and processes may write meanwhile."""
_ANSWERS, _BATCHES = set[int](), set[str]()
"""Hashes of rows that models of this process answered on, and the names of their batches."""
_SHARED: dict[tuple[str, str], bool] = {}


@dataclasses.dataclass(frozen=True)
class Training:
    """A training on `rows` private rows of `data`, with the most that it may spend. model: its
    weights, where it was written down after. is_void: it ended before it released anything."""

    learner: str
    data: str
    rows: int
    epsilon: float
    delta: float
    relation: str
    rows_per_person: int | None
    model: str = ""
    is_void: bool = False

    @property
    def words(self) -> str:
        """What was spent on which rows."""
        if self.is_void:
            return (
                f"{self.learner} ended by an error before any noise was drawn, and spent nothing."
            )
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


@dataclasses.dataclass(frozen=True)
class Ranking:
    """One Gaussian release of class sums that ranked these `public` sets. has_part: a tenth of the
    private set counted as public.

    is_exact: its sums and noise were whole numbers; not so in files from before that.
    """

    public: tuple[str, ...]
    noise_multiplier: float
    has_part: bool
    is_exact: bool = False


Entry = TypeVar("Entry")


@dataclasses.dataclass(frozen=True)
class Account:
    """What this cache knows of private rows, whichever process wrote it down; nothing of it is ever
    removed to make room.

    name: of their data set, of which rankings and looks are; trained: the content of the rows that
    trainings read, whichever share of them is public; tested: of those that private tests read;
    others: `sharing`, where `trainings` are to have them, too; rows: those that trainings read, in
    this process alone, and of a table the hashes of their cells.
    """

    name: str = ""
    trained: str = ""
    tested: str = ""
    others: tuple[Training, ...] = ()
    rows: tuple[Array, Array | None] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    def __getstate__(self) -> Form:
        """What a file of an account holds: no row."""
        return {**self.__dict__, "rows": None}

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The trainings with secret noise, the oldest first; then the others."""
        own = (
            dataclasses.replace(item, is_void=True)
            if store.default().get_json("record", self._void_key(place))
            else item
            for place, item in enumerate(self._entries(Training))
        )
        return (*own, *self.others)

    @property
    def spent(self) -> tuple[Training, ...]:
        """The trainings that spent something of any of these rows, or may have."""
        charged = self.trainings if self.others else (*self.trainings, *self.sharing)
        return tuple(item for item in charged if not item.is_void)

    @property
    def sharing(self) -> tuple[Training, ...]:
        """Trainings on other rows of which some are among these: other parts of a table, or it with
        more rows, or read otherwise. Receipts of versions before that are not found."""
        names = filter(self._shares, store.default().keys("arrays", prefix=_ROWS))
        others = {name.removeprefix(_ROWS)[:LENGTH]: None for name in names}
        return tuple(
            training
            for other in others
            if other != self.trained
            for training in Account(trained=other).trainings
        )

    @property
    def is_answered(self) -> bool:
        """Whether a model gave answers on some of these rows, as scores take."""
        if (mine := self._hashes) is None:
            return False
        kept = store.default().keys("arrays", prefix=_ANSWERED)
        return bool(_ANSWERS.intersection(mine.tolist())) or any(
            _are_shared(mine, _kept_hashes(name)) for name in kept
        )

    @property
    def _rows_name(self) -> str:
        """Of the hashes in the store; arrays and a table may have the same numbers."""
        has_cells = self.rows is not None and self.rows[1] is not None
        return _ROWS + self.trained + "-cells" * has_cells

    @property
    def _hashes(self) -> Array | None:
        kept = _kept_hashes(f"{self._rows_name}-cells") if self.rows is None else None
        kept = _kept_hashes(self._rows_name) if kept is None else kept
        return hashes_of(*self.rows) if kept is None and self.rows is not None else kept

    def _shares(self, name: str) -> bool:
        pair = self._rows_name, name
        if pair not in _SHARED and (mine := self._hashes) is not None:
            _SHARED[pair] = _are_shared(mine, _kept_hashes(name))
        return _SHARED.get(pair, False)

    @property
    def tests(self) -> tuple[PrivateTest, ...]:
        """The private tests, the oldest first."""
        return self._entries(PrivateTest)

    @property
    def rankings(self) -> tuple[Ranking, ...]:
        """The rankings of public sets that were paid for, the oldest first."""
        return self._entries(Ranking)

    @property
    def sight(self) -> str:
        """What somebody saw of the rows without paying, in the words of a guarantee; "" for
        nothing. Runs of sweeps in the cache count as seen."""
        rows = embedded.whole_of(self.name)
        tables = (records.all_runs(shipped=shipped) for shipped in (False, True))
        names = (str(name) for table in tables if len(table) for name in set(table["dataset"]))
        if _is_seen(rows) or _is_seen(self.name) or rows in map(embedded.whole_of, names):
            return IN_SIGHT
        return RANKED_IN_SIGHT if _is_seen(rows + _RANKED_ALONE) else ""

    def look(self, *, is_ranking: bool = False) -> None:
        """Writes down that what models of these rows reach, or these rows without noise, were in
        sight.

        is_ranking: what was in sight is a private ranking with a known seed alone: its ε is not in
        that of a model that is trained then.
        """
        key = _sight_key(embedded.whole_of(self.name) + _RANKED_ALONE * is_ranking)
        if store.default().get_json("record", key) is None:
            store.default().remember_json("record", key, {"in_sight": True})

    def keep(self, entry: Training | PrivateTest | Ranking, *, place: int | None = None) -> None:
        """Writes an entry down, before anyone sees what it buys. place: how many there are, as
        whoever asks knows.

        Raises StoreError: a disk that refuses, or another entry of these rows meanwhile.
        """
        first = len(self._entries(type(entry))) if place is None else place
        is_known = store.default().has("arrays", self._rows_name)
        if isinstance(entry, Training) and self.rows is not None and not is_known:
            store.default().put_arrays(self._rows_name, rows=hashes_of(*self.rows))
        for at in range(first, first + (MOST_AT_ONCE if place is None else 1)):
            word, key = self._address(type(entry), at)
            if store.default().put_json("record", key, {word: dataclasses.asdict(entry)}):
                return
        raise StoreError(
            f"another {word} of these rows came at the same time; nothing was shown. Run it again."
        )

    @contextlib.contextmanager
    def charged(self, training: Training, *, place: int | None = None) -> Iterator[None]:
        """Writes a training down as `keep` does, before the block that trains; then, where that
        ends by an error before this process released anything, that nothing was spent."""
        place = len(self._entries(Training)) if place is None else place
        self.keep(training, place=place)
        latest = Ledger.latest
        try:
            yield
        except BaseException:
            if Ledger.latest is latest:
                store.default().put_json("record", self._void_key(place), {"is_void": True})
            raise

    def keep_saved(self, record: RunRecord, split: SemiPrivateSplit) -> None:
        """Writes down the training of a model that leaves by `save_model`, once for each model.
        Raises StoreError: a disk that refuses."""
        guarantee = record.guarantee
        if record.classifier is None or not guarantee.has_releases:
            return
        model = private_tests.model_of(record.classifier)
        if model not in {training.model for training in self.trainings}:
            budget = (guarantee.epsilon.upper, guarantee.delta, str(guarantee.relation))
            training = training_on(split, METHODS[record.method].title, budget)
            self.keep(dataclasses.replace(training, model=model))

    def epsilon_of_rankings(self, *, delta: float, relation: str) -> float:
        """ε of all rankings together at δ, for one row, or the one row of a person, added or
        removed (or replaced, which moves a sum by 2). Infinite at δ = 0."""
        if not delta:
            return math.inf
        moved = 2 if relation == NeighboringRelation.REPLACE_ONE else 1
        return accounting.epsilon_of_mu(
            math.hypot(*(moved / ranking.noise_multiplier for ranking in self.rankings)), delta
        )

    def total(self, delta: float, *, has_coin: bool | str = False) -> str:
        """What all trainings on these rows spent, with the private tests of their test rows, a sum
        for rows or persons and each relation; and the rankings, at `delta`, that come on top.

        Guarantee: ε and δ of trainings add up; with tests, as `private_tests.epsilon_together`.
        """
        units = dict.fromkeys(map(unit_of, self.spent))
        sums = [self._sum(unit, has_coin) for unit in units]
        words = f"Sum for these rows so far: {'; '.join(sums) or 'nothing'}."
        if sums:
            words += (
                " The same people in other files, or read with other columns, ranges, categories or"
                " rows of a person, are not in it: add those."
            )
        if any(unit_of(test) not in units for test in self.tests):
            words += " Private tests of another unit are not in it."
        relations = {relation for relation, _ in units} if self.rankings else ()
        if tops := [
            f"ε = {round_up(self.epsilon_of_rankings(delta=delta, relation=relation))} for one row"
            f" {changed}"
            for relation, changed in private_tests.CHANGED.items()
            if relation in relations
        ]:
            words += (
                f" Rankings that you paid for on Public data come on top: {'; '.join(tops)}, δ ="
                f" {number_words(delta)}."
            )
        return words

    def count(self, record: RunRecord, *, sight: str | None = None) -> RunRecord:
        """The record of a training after all of this: its guarantee counts the rankings, and
        declares what was in sight. sight: in its words, "" for nothing (default: of the account).

        Guarantee: (ε, δ) of rankings and training together, by composing the ledger's events. Each
        ranking is one Gaussian release of a sum that a row, or the one row of a person, moves by at
        most 1 (2 under replace-one).
        """
        seen = self.sight if sight is None else sight
        counted = _count_rankings(record, self.rankings)
        return in_sight(counted, seen) if seen else counted

    def _sum(self, unit: tuple[str, bool], has_coin: bool | str) -> str:
        """The sum of one unit."""
        same, tests = (
            [item for item in items if unit_of(item) == unit] for items in (self.spent, self.tests)
        )
        epsilon, delta = (
            sum(getattr(item, name) for item in same) for name in ("epsilon", "delta")
        )
        words = f"ε = {round_up(epsilon)}, δ = {number_words(delta, 3)} in {len(same)} training"
        words += "s" * (len(same) > 1)
        if tests:
            tested = sum(test.epsilon for test in tests)
            together, _ = epsilon_together(epsilon, tested, unit[0], has_coin=has_coin)
            words += f", ε = {round_up(together)} with {len(tests)} private test"
            words += "s" * (len(tests) > 1)
        return f"{words}, {unit_words([*same, *tests])}"

    def _entries(self, kind: type[Entry]) -> tuple[Entry, ...]:
        addresses = (self._address(kind, place) for place in itertools.count())
        files = ((word, store.default().get_json("record", key)) for word, key in addresses)
        return tuple(
            kind(**{name: _frozen(value) for name, value in file[word].items()})
            for word, file in itertools.takewhile(operator.itemgetter(1), files)
        )

    def _void_key(self, place: int) -> str:
        return upkeep.SPENT + fingerprint("void training", self.trained, place)

    def _address(self, kind: type[Any], place: int) -> tuple[str, str]:
        """What an entry is called in its file, and the file's key, as earlier versions had them."""
        title, rows = {
            Training: ("training", self.trained),
            PrivateTest: ("private test", self.tested),
            Ranking: ("paid ranking", embedded.whole_of(self.name)),
        }[kind]
        return title.split()[-1], upkeep.SPENT + fingerprint(title, rows, place)


def account_of(data: FeatureSet | Dataset, name: str = "") -> Account:
    """The account of rows at hand. name: as a setting or an option says it, of a data set, of rows
    that were brought, or of a file."""
    rows = data if isinstance(data, Dataset) else data.images or data.given or data
    tested = rows.x_train if data.x_test is None else rows.x_test
    if name not in DATASETS and Path(name).exists():
        name = uploads.name_of(rows)
    return Account(
        name, fingerprint(rows.x_train), fingerprint(tested), rows=(rows.x_train, rows.cells)
    )


def forget_data(name: str, rows: FeatureSet | Dataset | None = None) -> int:
    """Removes rows that were brought from this machine's cache, with every backbone's features of
    their images or texts, decoded images, the hashes by which sums find single rows, and all else
    that was made from them; records of runs and receipts hold no rows and stay. How many entries
    went. rows: of the file or the registered set `name`, which stays.

    Raises StoreError: neither rows nor the name of a kept set.
    """
    data = uploads.load(name) if rows is None and is_known(name) else rows
    count = 0 if data is None else extraction.forget(data) + _forget_hashes(data)
    if isinstance(data, Dataset):
        count += places.forget(data)
    if name in DATASETS:
        return count
    return count + uploads.forget(name if rows is None else uploads.name_of(rows))


def n_sharing(rows: FeatureSet | Dataset) -> int:
    """How many other sets, or other readings of these rows, left hashes that are those of some of
    them."""
    mine, names = hashes_of(rows.x_train, rows.cells), store.default().keys("arrays", prefix=_ROWS)
    return sum(_are_shared(mine, _kept_hashes(name)) for name in names)


def _forget_hashes(data: FeatureSet | Dataset) -> int:
    """How many entries went that trainings and answers left of these rows."""
    kept, trained = store.default(), fingerprint(data.x_train)
    mine = np.concatenate([hashes_of(x) for x in (data.x_train, data.x_test) if x is not None])
    _ANSWERS.difference_update(mine.tolist())
    gone = [
        name
        for name in kept.keys("arrays", prefix=_ROWS)
        if name.startswith(_ROWS + trained) or _has_cells(name, data.cells)
    ]
    for name in kept.keys("arrays", prefix=_ANSWERED):
        if (all_ := _kept_hashes(name)) is not None and _are_shared(mine, all_):
            if len(others := np.setdiff1d(all_, mine)):  # other rows stay answered
                kept.put_arrays(_ANSWERED + fingerprint(others), rows=others)
            gone.append(name)
    return sum(kept.delete("arrays", name) for name in gone)


def note_answers(x: Array) -> None:
    """Writes down that a model of this process gave answers on these rows, of the first
    `MOST_ANSWERS` batches; a disk that refuses leaves it to the process."""
    if len(_BATCHES) >= MOST_ANSWERS:
        return
    new = sorted({*hashes_of(x).tolist()} - _ANSWERS)
    if not new:
        return
    rows = np.array(new, dtype=np.uint64)
    name, kept = _ANSWERED + fingerprint(rows), store.default()
    _ANSWERS.update(new)
    _BATCHES.add(name)
    if len(kept.keys("arrays", prefix=_ANSWERED)) < MOST_ANSWERS:
        with contextlib.suppress(StoreError):
            kept.put_arrays(name, rows=rows)


def hashes_of(x: Array, cells: Array | None = None) -> Array:
    """(n,) uint64 hashes of rows as float32: equal rows have equal ones; then those of `cells`."""
    digests = matching.digests(x.reshape(len(x), -1))
    of_numbers = np.frombuffer(b"".join(digests), dtype=np.uint64)[::2]
    return of_numbers if cells is None else np.concatenate([of_numbers, cells])


def _kept_hashes(name: str) -> Array | None:
    arrays = store.default().get_arrays(name)
    return None if arrays is None else arrays["rows"]


def _has_cells(name: str, cells: Array | None) -> bool:
    """Whether these are the hashes of a table with all these cells, whatever numbers it is."""
    if cells is None or not name.endswith("-cells") or (all_ := _kept_hashes(name)) is None:
        return False
    return np.array_equal(all_[len(all_) // 2 :], cells)


def _are_shared(mine: Array, others: Array | None) -> bool:
    return others is not None and bool(np.isin(mine, others).any())


def training_on(
    split: SemiPrivateSplit, learner: str, budget: tuple[float, float, str], *, data: str = ""
) -> Training:
    """A training on the private rows of a split. budget: ε, δ and relation; data: what people call
    the rows."""
    return Training(
        learner, data or split.features.name, len(split.private), *budget, split.rows_per_person
    )


def _count_rankings(record: RunRecord, rankings: Sequence[Ranking]) -> RunRecord:
    if not rankings:
        return record
    guarantee = record.guarantee
    relation = NeighboringRelation.of(guarantee.relation)
    event = compose(
        spent_event(record), *(gaussian(ranking.noise_multiplier) for ranking in rankings)
    )
    is_exact = all(ranking.is_exact for ranking in rankings)
    paid = "public rows could be chosen by a private ranking of public sets"
    after = dataclasses.replace(
        guarantee,
        epsilon=accounting.epsilon(event, delta=guarantee.delta, relation=relation),
        accountant=accounting.resolve_bound(event, relation=relation).name,
        assumptions=(
            *(guarantee.assumptions if is_exact else with_fast_part(guarantee.assumptions)),
            *(RANKED.format(", ".join(ranking.public)) for ranking in rankings),
            *([PART] if any(ranking.has_part for ranking in rankings) else []),
        ),
        events=describe(event),
        event=event,
        paid_choice="; ".join(filter(None, (guarantee.paid_choice, paid))),
    )
    return dataclasses.replace(record, guarantee=after)


def _frozen(value: Any) -> Any:
    """A value of JSON with tuples in the place of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _sight_key(rows: str) -> str:
    return upkeep.SPENT + fingerprint("in sight", rows)


def _is_seen(rows: str) -> bool:
    """Whether a look was written down, also by versions whose mark could be removed to make
    room."""
    keys = (_sight_key(rows), fingerprint("in sight", rows))
    return any(store.default().get_json("record", key) is not None for key in keys)
