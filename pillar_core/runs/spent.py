"""What was spent on private rows, as lists in the cache that only grow: one for each kind of
spending and content of rows."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pillar_core import store
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import upkeep

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Spendings(Generic[T]):
    """The lists of one kind of spending, whose entries are dataclasses. read: the entry that its
    JSON form says."""

    kind: str
    read: Callable[[dict[str, Any]], T]

    def keep(self, rows: str, entry: Any, *, place: int | None = None) -> None:
        """Writes an entry of these rows down, before anyone sees what it buys. place: how many
        there are, as whoever asks knows.

        Raises StoreError: a disk that refuses, or another entry of these rows meanwhile.
        """
        place = len(self.of_rows(rows)) if place is None else place
        if not store.default().put_json(
            "record", self._key(rows, place), {self._word: dataclasses.asdict(entry)}
        ):
            raise StoreError(
                f"another {self._word} of these rows came at the same time; nothing was shown. Run"
                " it again."
            )

    def of_rows(self, rows: str) -> tuple[T, ...]:
        """The entries of these rows that this cache holds, oldest first."""
        forms = (
            store.default().get_json("record", self._key(rows, place))
            for place in itertools.count()
        )
        return tuple(self.read(form[self._word]) for form in itertools.takewhile(bool, forms))

    @property
    def _word(self) -> str:
        return self.kind.split()[-1]

    def _key(self, rows: str, place: int) -> str:
        return upkeep.SPENT + fingerprint(self.kind, rows, place)
