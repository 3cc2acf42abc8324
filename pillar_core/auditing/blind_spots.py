"""Privacy bugs that no audit of this kind sees, with what in this library catches each instead."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BlindSpot:
    """A bug, why trials and canaries miss it, and the check that does not."""

    title: str
    why: str
    caught_by: str


BLIND_SPOTS = (
    BlindSpot(
        "Dividing by the realised batch size",
        "One row more changes the divisor by one part in the batch: the scores hardly move, while the sensitivity that the noise was "
        "scaled to no longer holds.",
        "contract test 2, replay: private rows of another number must leave every released value and call as they were.",
    ),
    BlindSpot(
        "Shuffled batches accounted as Poisson samples",
        "The canary sits in one batch of every pass; telling that from random inclusion needs the order of batches, and the gap "
        "opens only at noise and lengths that trials cannot afford.",
        "contract test 4, sampling: Poisson events come from the one mechanism that draws the mask, and its counts are tested.",
    ),
    BlindSpot(
        "Tuning on private validation rows",
        "Every single run is as private as it says. What leaks is the choice between runs, which no trial of the winner shows.",
        "the ledger: a selection is an event of its own, and a run's spending must equal its declared cost. "
        "See “Training + choices” on the Accounting page.",
    ),
)
