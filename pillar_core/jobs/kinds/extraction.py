"""Extraction as a job: a data set's images or texts through a backbone, into the store, where every
page and run finds the features."""

from pillar_core import texts
from pillar_core.backbones import is_ready, revision
from pillar_core.data import uploads
from pillar_core.errors import DataError
from pillar_core.jobs.kind import JOB_KINDS, JobKind, Task
from pillar_core.runs.loading import through_backbone
from pillar_core.types import Dataset, FeatureSet, Form, Progress, StopRequested

KIND = "extract"


def specification(dataset: str, backbone: str) -> Form:
    """What to submit for a data set's features, by names; other weights under the backbone's name
    make it another job."""
    features: Form = {
        "dataset": dataset,
        "dataset_settings": {},
        "backbone": backbone,
        "revision": revision(backbone),
    }
    return {"kind": KIND} | features | {"device": "auto", "batch_size": 64}


def run(task: Task, progress: Progress, cancelled: StopRequested) -> Form:
    """The size of the features and the notes on them; the features themselves are in the store.

    Raises Cancelled: asked to stop; the batches before are kept, and the job goes on from there.
    DataError: what was named holds features already.
    """
    progress(0, 1, "reading the rows")
    rows = uploads.load_rows(str(task["dataset"]), task["dataset_settings"])
    backbone = str(task["backbone"])
    if isinstance(rows, FeatureSet) and not texts.is_encoder(backbone):
        raise DataError(f"{task['dataset']} holds features already: there is nothing to extract.")
    how: Task = {"device": str(task["device"]), "batch_size": int(task["batch_size"])}
    features = through_backbone(rows, backbone, progress=progress, cancelled=cancelled, **how)
    n_test = features.n_test
    return {
        "n_train": len(features.x_train),
        "n_test": n_test,
        "width": features.d,
        "notes": list(features.notes),
    }


def cached(payload: Task) -> Form | None:
    """The answer without any work, where the features are in the store."""
    dataset = uploads.load_rows(str(payload["dataset"]), payload["dataset_settings"])
    name, device = str(payload["backbone"]), str(payload["device"])
    is_extracted = isinstance(dataset, Dataset) or texts.is_encoder(name)
    if is_extracted and is_ready(dataset, backbone=name, device=device):
        return run(payload, lambda done, total, message="": None, lambda: False)
    return None


JOB_KINDS.register(JobKind(KIND, "Features through a backbone", run, cached=cached))
