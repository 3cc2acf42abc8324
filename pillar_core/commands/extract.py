"""`extract`: images through a backbone, with progress; what is killed goes on where it stopped."""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.commands import options as shared
from pillar_core.data import DATASETS, downloading, load_dataset
from pillar_core.errors import DataError, StoreError
from pillar_core.runs.loading import read, through_backbone
from pillar_core.types import Dataset, FeatureSet


def command(options: argparse.Namespace) -> int:
    """Extracts and says what came of it."""
    started = time.monotonic()
    features = through_backbone(
        _images(options),
        options.backbone,
        weights=options.weights,
        device=options.device,
        batch_size=options.batch_size,
        progress=shared.printer(),
    )
    lines = {
        "features": f"{len(features.x_train)} train and {_rows(features.x_test)} test rows, {features.d} numbers each",
        "backbone": features.backbone,
        "time": f"{time.monotonic() - started:.1f} s",
        "peak memory": f"{_peak_bytes() / 2**20:.0f} MiB",
        "cache": str(store.default().root),
    }
    print("\n".join([shared.as_lines(lines), *(f"note {note}" for note in features.notes)]))
    if options.output:
        print(f"written: {_written(features, Path(options.output))}")
    return 0


def _images(options: argparse.Namespace) -> Dataset:
    name = options.dataset
    if name not in DATASETS and Path(name).expanduser().exists():
        data = read(name)
        if isinstance(data, Dataset):
            return data
        raise DataError(f"{name} holds features already: there is nothing to extract.")
    with downloading.watched(shared.printer(unit="bytes")):
        return load_dataset(name, download=options.download, **shared.assignments(options.dataset_setting))


def _written(features: FeatureSet, path: Path) -> Path:
    arrays = {name: getattr(features, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    present = {name: array for name, array in arrays.items() if array is not None}
    try:
        with path.open("wb") as file:
            np.savez(file, classes=np.array(features.classes, dtype=str), **present)
    except OSError as error:
        raise StoreError(f"{path} could not be written ({error}); the features are in the cache.") from error
    return path


def _rows(x: Array | None) -> int:
    return 0 if x is None else len(x)


def _peak_bytes() -> int:
    """The most memory that this process had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
