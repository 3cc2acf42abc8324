"""`extract`: images through a backbone, with progress; what is killed goes on where it stopped."""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

from pillar_core import store
from pillar_core.backbones.cards import BATCH_SIZE, DEVICE
from pillar_core.commands import options as shared
from pillar_core.commands.options import Commands
from pillar_core.data import DATASETS, downloading, load_dataset
from pillar_core.errors import DataError, StoreError
from pillar_core.runs.loading import read, through_backbone
from pillar_core.types import Dataset, FeatureSet


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("extract", help="images through a backbone, into the cache; goes on after a kill")
    parser.add_argument("--dataset", required=True, help="a registered data set, or a npz, folder or zip of images")
    parser.add_argument("--dataset-setting", action="append", default=[], metavar="NAME=VALUE", help="a setting, such as root")
    parser.add_argument("--download", action="store_true", help="fetch the data set where its files are not here")
    parser.add_argument("--backbone", required=True, help="see `list backbones`; options follow a ?, as in timm:resnet50?input_size=160")
    parser.add_argument("--weights", metavar="FILE", help="the backbone's weights (safetensors or a PyTorch state dictionary)")
    parser.add_argument("--device", default=DEVICE.default, help=f"{DEVICE.help} ({DEVICE.range})")
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE.default, help=f"{BATCH_SIZE.help} ({BATCH_SIZE.range})")
    parser.add_argument("--output", metavar="FILE", help="write the features into a npz file as well")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Extracts and says what came of it."""
    started = time.monotonic()
    how = {name: getattr(options, name) for name in ("weights", "device", "batch_size")}
    features = through_backbone(_images(options), options.backbone, **how, progress=shared.printer())
    n_test = 0 if features.x_test is None else len(features.x_test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)  # bytes of this process
    lines = {
        "features": f"{len(features.x_train)} train and {n_test} test rows, {features.d} numbers each",
        "backbone": features.backbone,
        "time": f"{time.monotonic() - started:.1f} s",
        "peak memory": f"{peak / 2**20:.0f} MiB",
        "cache": str(store.default().root),
    }
    print("\n".join([shared.as_lines(lines), *(f"note {note}" for note in features.notes)]))
    if options.output:
        print(f"written: {_write_features(features, Path(options.output))}")
    return 0


def _images(options: argparse.Namespace) -> Dataset:
    name = options.dataset
    if name not in DATASETS and Path(name).expanduser().exists():
        data = read(name)
        if isinstance(data, Dataset):
            return data
        raise DataError(f"{name} holds features already: there is nothing to extract.")
    with downloading.report_progress(shared.printer(unit="bytes")):
        return load_dataset(name, download=options.download, **shared.assignments(options.dataset_setting))


def _write_features(features: FeatureSet, path: Path) -> Path:
    arrays = {name: getattr(features, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    present = {name: array for name, array in arrays.items() if array is not None}
    try:
        with path.open("wb") as file:
            np.savez(file, classes=np.array(features.classes, dtype=str), **present)
    except OSError as error:
        raise StoreError(f"{path} could not be written ({error}); the features are in the cache.") from error
    return path
