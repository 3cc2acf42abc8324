"""Hub sets, weights and OpenML from a server of our own, through the libraries that fetch them: well, and in every way badly."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import served_files
import timm
from safetensors.torch import save
from served_files import Served

from pillar_core.data import downloading, load_dataset, places
from pillar_core.errors import DataError
from unit.image_files import images_of

ROWS, WEIGHTS = "data/train-00000-of-00001.parquet", "model.safetensors"
FETCH = """
import json, sys
from pillar_core.backbones import BACKBONES
from pillar_core.backbones.cards import Work
from pillar_core.data import downloading, load_dataset, places
from pillar_core.data.cards import local_names
from pillar_core.errors import PillarError
from pillar_core.data.sets import hub_sets
said, told, sizes = {}, [], [hub_sets.size_and_licence("owner/good")]
for name in sys.argv[1:]:
    try:
        with downloading.report_progress(lambda done, total, message="": told.append((done, total))), downloading.for_hub():
            if name.startswith("hub:"):
                said[name] = len(load_dataset(name, download=True).x_train)
            else:
                BACKBONES[name].open(name, Work(BACKBONES[name].weights_file(network=True)))
                said[name] = BACKBONES[name].needs_fetching
    except PillarError as error:
        said[name] = str(error)
sizes.append(hub_sets.size_and_licence("owner/good"))
print(json.dumps([said, told, [name for name in local_names() if ":" in name], sizes]))
"""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(downloading, "PAUSE_SECONDS", 0.0)
    served_files.without_proxies(monkeypatch)


def test_hub_sets_and_weights_come_whole_or_say_why_not(tmp_path: Path) -> None:
    """Each repository has its own fault; the library's own setting for mirrors leads to the server."""
    rows = served_files.parquet(*images_of(20, (8, 8, 3), 2))
    weights = save(timm.create_model("test_efficientnet", num_classes=0).state_dict())
    sets = {f"owner/{name}/{ROWS}": rows for name in ("good", "cut", "slow", "changed", "page")}
    networks = {f"timm/test_{name}.r160_in1k/{WEIGHTS}": weights for name in ("efficientnet", "vit", "byobnet", "resnet")}
    with served_files.serving(sets | networks) as server:
        server.has_ranges = True
        server.cut |= {f"owner/cut/{ROWS}", f"timm/test_efficientnet.r160_in1k/{WEIGHTS}"}
        server.stalled |= {f"owner/slow/{ROWS}"}
        server.published |= dict.fromkeys((f"owner/changed/{ROWS}", f"timm/test_byobnet.r160_in1k/{WEIGHTS}"), 64 * "0")
        server.pages |= {"owner/page", "timm/test_resnet.r160_in1k"}
        names = [f"hub:owner/{name}" for name in ("good", "cut", "slow", "changed", "page", "gone")]
        names += [f"timm:test_{name}.r160_in1k" for name in ("efficientnet", "vit", "byobnet", "resnet", "convnext")]
        hub = {"HF_ENDPOINT": server.address.rstrip("/"), "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_TELEMETRY": "1"}
        patience = {"HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_HUB_ETAG_TIMEOUT": "2"}
        command = [sys.executable, "-c", FETCH, *names]
        done = subprocess.run(command, env=os.environ | hub | patience, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, told, here, sizes = json.loads(done.stdout.splitlines()[-1])
    assert {name: said[name] for name in names[:3]} == dict.fromkeys(names[:3], 16)
    assert "another checksum than the hub says" in said["hub:owner/changed"]
    assert "could not be fetched" in said["hub:owner/page"]
    assert "could not be fetched" in said["hub:owner/gone"]
    assert here == ["hub:owner/cut", "hub:owner/good", "hub:owner/slow"]
    assert said["timm:test_efficientnet.r160_in1k"] is False
    assert "does not hold the weights of timm:test_vit" in said["timm:test_vit.r160_in1k"]
    assert "another checksum than the hub says" in said["timm:test_byobnet.r160_in1k"]
    for name in ("resnet", "convnext"):
        assert "weights=FILE" in said[f"timm:test_{name}.r160_in1k"]
    assert sizes == [[len(rows), "cc0-1.0"]] * 2
    for name in (f"owner/cut/{ROWS}", f"owner/slow/{ROWS}", f"timm/test_efficientnet.r160_in1k/{WEIGHTS}"):
        assert server.sent[name] >= len(server.files[name]), "half was sent, then the rest or all of it"
    assert max(done for done, _ in told) >= len(weights)


ARFF = b"@relation tiny\n@attribute V1 numeric\n@attribute V2 numeric\n@attribute class {yes, no}\n@data\n" + b"".join(
    b"%d,%d,%b\n" % (row, -row, b"yes" if row % 2 else b"no") for row in range(20)
)
TABLE = "/data/v1/download/41161/riccardo.arff"


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with served_files.serving(served_files.openml(41161, "riccardo", ARFF)) as server:
        server.has_ranges = True
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, server.address)
        yield server


@pytest.mark.parametrize("how", ["well", "cut", "stalled"])
def test_a_table_of_openml_comes_through_a_mirror_and_is_read_offline(how: str, openml: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "STALLED_SECONDS", 0.5)
    if how != "well":
        (openml.cut if how == "cut" else openml.stalled).add(TABLE)
    dataset = load_dataset("openml:riccardo", download=True)
    assert (dataset.x_train.shape, dataset.classes) == ((16, 2), ("no", "yes"))
    assert openml.sent[TABLE] == len(ARFF)
    openml.files.clear()
    assert load_dataset("openml:riccardo").fingerprint == dataset.fingerprint


@pytest.mark.filterwarnings("ignore:Invalid cache, redownloading:RuntimeWarning")  # scikit-learn's second try
@pytest.mark.parametrize("is_there", [False, True])
def test_the_address_that_a_table_names_leads_to_no_file_outside_its_folder(is_there: bool, openml: Served, tmp_path: Path) -> None:
    """scikit-learn keeps a file by the path of its address, and deletes what it cannot read there."""
    about = json.loads(openml.files["/api/v1/json/data/41161"])
    about["data_set_description"]["url"] = "https://openml.org/" + "../" * 4 + "other"
    openml.files |= {"/api/v1/json/data/41161": json.dumps(about).encode(), "/" + "../" * 4 + "other": ARFF}
    other = (places.home("openml:riccardo") / "openml" / "openml.org" / ("../" * 4 + "other.gz")).resolve()
    assert other.is_relative_to(tmp_path)
    if is_there:
        other.write_bytes(b"somebody's")
    for download in (True, True, False):
        with pytest.raises(DataError):
            load_dataset("openml:riccardo", download=download)
    assert (other.read_bytes() if other.exists() else b"") == (b"somebody's" if is_there else b"")


@pytest.mark.filterwarnings("ignore:Invalid cache, redownloading:RuntimeWarning")  # scikit-learn's second try
def test_a_table_that_openml_sends_badly_is_refused_and_asked_for_again(openml: Served) -> None:
    good = dict(openml.files)
    faults = {"another checksum|md5": ARFF.replace(b"19,", b"18,"), "web page": served_files.PAGE, "answers 404": None}
    for words, content in faults.items():
        openml.files.pop(TABLE) if content is None else openml.files.update({TABLE: content})
        with pytest.raises(DataError, match=f"could not be fetched.*({words})"):
            load_dataset("openml:riccardo", download=True)
        with pytest.raises(DataError, match="is not on this machine"):
            load_dataset("openml:riccardo")
        openml.files |= good
    assert len(load_dataset("openml:riccardo", download=True).x_train) == 16
    assert not list(places.home("openml:riccardo").glob("*.arff"))
