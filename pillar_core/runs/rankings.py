"""Private rankings of public sets that you paid for: kept by the name of the private rows, and
counted in what is trained afterwards."""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core import accounting
from pillar_core.ledger import compose, describe, gaussian
from pillar_core.runs.run import with_fast_part
from pillar_core.runs.spent import Spendings
from pillar_core.runs.statement import spent_event
from pillar_core.types import NeighboringRelation, RunRecord

RANKED = (
    "public sets ({}) were ranked on these private rows by noised class sums with secret noise, and"
    " ε counts that release too"
)
PART = (
    "every tenth row of the private set counted as public in a ranking, so ε does not protect it"
    " there"
)


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


_RANKINGS = Spendings(
    "paid ranking", lambda form: Ranking(**form | {"public": tuple(form["public"])})
)
keep, of_rows = _RANKINGS.keep, _RANKINGS.of_rows


def epsilon_of(rankings: Sequence[Ranking], *, delta: float, relation: str) -> float:
    """ε of all of them together at δ, for one row, or the one row of a person, added or removed (or
    replaced, which moves a sum by 2)."""
    moved = 2 if relation == NeighboringRelation.REPLACE_ONE else 1
    return accounting.epsilon_of_mu(
        math.hypot(*(moved / ranking.noise_multiplier for ranking in rankings)), delta
    )


def count_rankings(record: RunRecord, rankings: Sequence[Ranking]) -> RunRecord:
    """The record, its guarantee counting rankings that came before the training.

    Guarantee: (ε, δ) of rankings and training together, by composing the ledger's events. Each
    ranking is one Gaussian release of a sum that a row, or the one row of a person, moves by at
    most 1 (2 under replace-one).
    """
    if not rankings:
        return record
    guarantee = record.guarantee
    relation = NeighboringRelation.of(guarantee.relation)
    event = compose(
        spent_event(record), *(gaussian(ranking.noise_multiplier) for ranking in rankings)
    )
    after = dataclasses.replace(
        guarantee,
        epsilon=accounting.epsilon(event, delta=guarantee.delta, relation=relation),
        accountant=accounting.resolve_bound(event, relation=relation).name,
        assumptions=(
            *(
                guarantee.assumptions
                if all(ranking.is_exact for ranking in rankings)
                else with_fast_part(guarantee.assumptions)
            ),
            *(RANKED.format(", ".join(ranking.public)) for ranking in rankings),
            *([PART] if any(ranking.has_part for ranking in rankings) else []),
        ),
        events=describe(event),
        event=event,
        paid_choice="; ".join(
            filter(
                None,
                (
                    guarantee.paid_choice,
                    "public rows could be chosen by a private ranking of public sets",
                ),
            )
        ),
    )
    return dataclasses.replace(record, guarantee=after)
