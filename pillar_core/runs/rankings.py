"""Private rankings of public sets that you paid for: kept by the name of the private rows, and counted in what is trained afterwards."""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core import accounting, store
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import compose, describe, gaussian
from pillar_core.runs.statement import spent_event
from pillar_core.store import upkeep
from pillar_core.types import NeighboringRelation, RunRecord

RANKED = "public sets ({}) were ranked on these private rows by noised class sums with secret noise, and ε counts that release too"
PART = "every tenth row of the private set counted as public in a ranking, so ε does not protect it there"


@dataclasses.dataclass(frozen=True)
class Ranking:
    """One Gaussian release of class sums that ranked these `public` sets. has_part: a tenth of the private set counted as public."""

    public: tuple[str, ...]
    noise_multiplier: float
    has_part: bool


def keep(rows: str, ranking: Ranking) -> None:
    """Writes a ranking of these private rows down, before anyone sees what it says.

    Raises:
        StoreError: a disk that refuses, or another ranking of these rows at the same time.
    """
    if not store.default().put_json("record", _key(rows, len(of_rows(rows))), {"ranking": dataclasses.asdict(ranking)}):
        raise StoreError("another ranking of these rows ended at the same time; nothing was shown. Run it again.")


def of_rows(rows: str) -> tuple[Ranking, ...]:
    """The rankings of these private rows that this cache holds, oldest first."""
    kept: list[Ranking] = []
    while (stored := store.default().get_json("record", _key(rows, len(kept)))) is not None:
        kept.append(Ranking(**stored["ranking"] | {"public": tuple(stored["ranking"]["public"])}))
    return tuple(kept)


def epsilon_of(rankings: Sequence[Ranking], *, delta: float) -> float:
    """ε of all of them together at δ, for one row added or removed."""
    return accounting.epsilon_of_mu(math.hypot(*(1 / one.noise_multiplier for one in rankings)), delta)


def counted(record: RunRecord, rankings: Sequence[Ranking]) -> RunRecord:
    """The record, its guarantee counting rankings that came before the training.

    Guarantee: (ε, δ) of rankings and training together, by composing the ledger's events. Each ranking is one Gaussian release of a sum
    that a row, or the one row of a person, moves by at most 1 (2 under replace-one).
    """
    if not rankings:
        return record
    own = record.guarantee
    relation = NeighboringRelation.of(own.relation)
    event = compose(spent_event(record), *(gaussian(one.noise_multiplier) for one in rankings))
    after = dataclasses.replace(
        own,
        epsilon=accounting.epsilon(event, delta=own.delta, relation=relation),
        accountant=accounting.resolve_bound(event, relation=relation).name,
        assumptions=(
            *own.assumptions,
            *(RANKED.format(", ".join(one.public)) for one in rankings),
            *([PART] if any(one.has_part for one in rankings) else []),
        ),
        events=describe(event),
        event=event,
        paid_choice="; ".join(filter(None, (own.paid_choice, "public rows could be chosen by a private ranking of public sets"))),
    )
    return dataclasses.replace(record, guarantee=after)


def _key(rows: str, place: int) -> str:
    return upkeep.SPENT + fingerprint("paid ranking", rows, place)
