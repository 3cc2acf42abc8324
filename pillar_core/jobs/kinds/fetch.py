"""Fetching as a job: files of a data set and of weights from their sources; then the features, as a
job of their own."""

from pillar_core.backbones import BACKBONES
from pillar_core.data import DATASETS, downloading, uploads
from pillar_core.jobs import api
from pillar_core.jobs.kind import JOB_KINDS, JobKind, Task
from pillar_core.jobs.kinds import extraction
from pillar_core.runs.splitting import BACKBONE
from pillar_core.types import Dataset, Form, Progress, StopRequested

KIND = "fetch"


def specification(dataset: str, *, backbone: str | None = None) -> Form:
    """What to submit to have a data set here, the weights of a backbone (None: `backbone_of` it),
    and the features."""
    return {"kind": KIND, "dataset": dataset, "backbone": backbone or backbone_of(dataset)}


def backbone_of(dataset: str) -> str | None:
    """What the images of a data set go through once they are here; None where rows are numbers."""
    card = DATASETS[dataset]
    return card.backbone or (BACKBONE if card.kind == "images" else None)


def run(task: Task, progress: Progress, cancelled: StopRequested) -> Form:
    """The rows that came, and the id of the job that extracts their features ("": none does).

    Raises Cancelled: asked to stop; what came is kept, and the job goes on from there. DataError:
    as `uploads.load_rows`.
    """
    name, backbone = str(task["dataset"]), task["backbone"]
    with downloading.report_progress(progress, cancelled):
        data = uploads.load_rows(name, download=True)
        if backbone and BACKBONES[backbone].needs_fetching:
            with downloading.for_hub():
                BACKBONES[backbone].weights_file(network=True)
    follows = (
        api.submit(extraction.specification(name, str(backbone)))
        if backbone and isinstance(data, Dataset) and data.is_images
        else ""
    )
    return {"n_train": len(data.x_train), "extraction": follows}


def cached(payload: Task) -> Form | None:
    """An answer where the files are here already."""
    name, backbone = str(payload["dataset"]), payload["backbone"]
    is_here = (uploads.is_name(name) or DATASETS[name].is_here()) and not (
        backbone and BACKBONES[backbone].needs_fetching
    )
    return {"n_train": None, "extraction": ""} if is_here else None


JOB_KINDS.register(JobKind(KIND, "A data set from its source", run, cached=cached))
