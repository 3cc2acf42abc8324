"""Features by name: stored images, the job, the command line, and the version of weights in the
keys of records."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import pillar_core as pc
from pillar_core.backbones import extraction, revision
from pillar_core.data import uploads
from pillar_core.data.npz import npz_of
from pillar_core.errors import StoreError
from pillar_core.jobs.kinds import extraction as jobs_extraction
from pillar_core.runs import receipts, splitting, sweep
from pillar_core.types import Dataset
from unit.image_files import bright
from users import output_of, raises, refuses

pytestmark = pytest.mark.usefixtures("own_cache")


def _images() -> Dataset:
    return bright(shape=(12, 12), notes=("a note",))


def test_images_kept_under_a_name_go_through_any_backbone_and_are_forgotten():
    data = _images()
    name = uploads.keep(data)
    found = uploads.load_rows(name)
    assert isinstance(found, Dataset)
    assert (found.fingerprint, found.classes, found.notes, found.name) == (
        data.fingerprint,
        data.classes,
        data.notes,
        "bright",
    )
    assert splitting.load_named_features(name).backbone == "raw_pixels"
    scattered = splitting.load_named_features(name, "scattering")
    assert (scattered.backbone, scattered.d, scattered.images.x_train.shape) == (
        "scattering",
        81 * 9,
        (60, 12, 12),
    )
    assert extraction.is_ready(found, backbone="scattering")
    receipts.forget_data(name)
    assert not extraction.is_ready(found, backbone="scattering")
    raises(StoreError, "Bring the same rows again", splitting.load_named_features, name)
    assert not pc.store.default().ls("arrays")


def test_the_job_extracts_what_the_pages_then_find():
    name = uploads.keep(_images())
    task = {
        key: value
        for key, value in jobs_extraction.specification(name, "scattering").items()
        if key != "kind"
    } | {"batch_size": 32}
    told = []
    answer = pc.jobs.JOB_KINDS["extract"].run(
        task, lambda done, total, message="": told.append((done, total)), lambda: False
    )
    assert (answer["n_train"], answer["n_test"], answer["width"]) == (60, 20, 729)
    assert told == [(0, 1), (0, 80), (32, 80), (64, 80), (80, 80)]
    assert extraction.is_ready(_images(), backbone="scattering")
    numbers = uploads.keep(pc.features(np.eye(4, dtype=np.float32), [0, 1, 0, 1]))
    refuses(
        "nothing to extract",
        pc.jobs.JOB_KINDS["extract"].run,
        task | {"dataset": numbers},
        lambda *_: None,
        lambda: False,
    )


def test_the_command_extracts_a_file_and_writes_features(tmp_path):
    data = _images()
    (tmp_path / "blots.npz").write_bytes(npz_of(data))
    arguments = f"extract --dataset {tmp_path / 'blots.npz'} --backbone scattering --output {tmp_path / 'out.npz'}"
    told = output_of(arguments)
    assert "60 train and 20 test rows, 729 numbers each" in told.out
    assert "80 of 80 rows" in told.err
    written = pc.load_features(tmp_path / "out.npz")
    np.testing.assert_array_equal(written.x_train, pc.load_features(data, "scattering").x_train)
    assert (
        "nothing to extract"
        in output_of(
            f"extract --dataset {tmp_path / 'out.npz'} --backbone scattering", status=2
        ).err
    )
    assert (
        "there is no /no/such.safetensors"
        in output_of(
            "extract --dataset digits --backbone timm:resnet50.tv_in1k --weights /no/such.safetensors",
            status=2,
        ).err
    )


def test_other_weights_under_the_same_name_make_other_records_and_jobs(tmp_path):
    path = tmp_path / "weights.safetensors"
    name = f"resnet50:byol?weights={path}"
    assert revision("raw_pixels") == 1
    assert revision(None) == 0
    assert pc.BACKBONES[name].title == "ResNet-50, BYOL"
    assert "resnet50:byol?depth=3" not in pc.BACKBONES
    name = f"timm:mobilenetv2_100?weights={path}"
    keys, jobs = [], []
    for value in (0.0, 1.0):
        save_file({"x": torch.full((2,), value)}, path)
        grid = {
            "dataset": "digits",
            "backbone": name,
            "method": "non_private",
            "epsilon": float("inf"),
            "public_fraction": 0.1,
            "seed": 0,
        }
        keys.append(sweep.run_key(sweep.specs_of(grid)[0]))
        jobs.append(jobs_extraction.specification("digits", name)["revision"])
    assert keys[0] != keys[1]
    assert jobs[0] != jobs[1]
