"""Screening as a job: gradients of many sets, models trained with each of them; the table goes into
the store."""

from pillar_core import store
from pillar_core.errors import Cancelled, StoreError
from pillar_core.jobs.kind import JOB_KINDS, JobKind, Task
from pillar_core.studies.screening import answers as screening_kept
from pillar_core.types import Progress, StopRequested


def run_screening(task: Task, progress: Progress, cancelled: StopRequested) -> str:
    """The store's key of the table, computed unless it is there.

    Raises Cancelled: between two sets. StoreError: the table did not fit on the disk, where other
    processes look for it. As `answers.answer`.
    """

    def report(done: int, total: int, message: str = "") -> None:
        if cancelled():
            raise Cancelled("the job was cancelled.")
        progress(done, total, message)

    ask = screening_kept.Ask.of(task)
    screening_kept.answer(ask, report)
    if not store.default().has("record", ask.key):
        raise StoreError(
            store.default().unkept or "files of these sets changed while they were read: ask again."
        )
    return ask.key


def cached_screening(payload: Task) -> str | None:
    """The key, if the table is in the store."""
    ask = screening_kept.Ask.of(payload)
    return None if screening_kept.stored_answer(ask) is None else ask.key


JOB_KINDS.register(
    JobKind(
        "screening",
        "Screening of public data",
        run_screening,
        cached=cached_screening,
        is_for_visitors=True,
    )
)
