"""Fetching as a job: a data set's files from their source; then its features through a backbone, as a job of their own."""

from __future__ import annotations

from typing import Any

from pillar_core.data import DATASETS, downloading, load_dataset
from pillar_core.jobs import api
from pillar_core.jobs.kind import JOB_KINDS, JobKind, Task
from pillar_core.jobs.kinds import extraction
from pillar_core.runs.starter import BACKBONE
from pillar_core.types import Progress, StopRequested

__all__ = ["backbone_of", "specification"]

KIND = "fetch"


def specification(dataset: str) -> dict[str, Any]:
    """What to submit to have a registered data set here, with its features."""
    return {"kind": KIND, "dataset": dataset, "backbone": backbone_of(dataset)}


def backbone_of(dataset: str) -> str | None:
    """What the images of a data set go through once they are here; None where rows are numbers."""
    card = DATASETS[dataset]
    return card.backbone or (BACKBONE if card.kind == "images" else None)


def run(task: Task, progress: Progress, cancelled: StopRequested) -> dict[str, Any]:
    """The rows that came, and the id of the job that extracts their features ("": none does).

    Raises:
        Cancelled: asked to stop; what came is kept, and the job goes on from there.
        DataError: as `load_dataset`.
    """
    with downloading.watched(progress, cancelled):
        data = load_dataset(str(task["dataset"]), download=True)
    backbone = task["backbone"]
    follows = api.submit(extraction.specification(str(task["dataset"]), str(backbone))) if backbone and data.is_images else ""
    return {"n_train": len(data.x_train), "extraction": follows}


def cached(payload: Task) -> dict[str, Any] | None:
    """An answer where the files are here already."""
    return {"n_train": None, "extraction": ""} if DATASETS[str(payload["dataset"])].is_here() else None


JOB_KINDS.register(JobKind(KIND, "A data set from its source", run, cached=cached))
