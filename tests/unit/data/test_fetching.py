"""Fetching over HTTP from a server of our own: cut and stalled lines, wrong files, full disks, and
what is fetched again."""

import functools
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import served_files
from safetensors.torch import save
from served_files import idx

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.data import DATASETS, downloading, load_dataset, places
from pillar_core.data.images.cifar import VERSIONS
from pillar_core.data.sets.listed_sets import FILES
from pillar_core.errors import Cancelled, DataError
from pillar_core.registry import toml_tables
from unit.image_files import images_of, written
from users import output_of, refuses

CIFAR, MNIST, RICCARDO = "torchvision:cifar10", "torchvision:mnist", "openml:riccardo"
BREAST = "medmnist:breastmnist"
TAR = "cifar-10-python.tar.gz"
LAST = "t10k-images-idx3-ubyte.gz"


fetch = functools.partial(load_dataset, download=True)


def assert_fetched(name: str, rows: Array) -> None:
    """Fetches a set and compares its train rows."""
    np.testing.assert_array_equal(fetch(name).x_train, rows)


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(downloading, "PAUSE_SECONDS", 0.0)
    served_files.without_proxies(monkeypatch)


@pytest.fixture
def served(monkeypatch):
    """MNIST's four archives on a server, with their sums in place of the published ones."""
    x, y = images_of(60, (28, 28), 10)
    with served_files.serving(served_files.mnist(x, y, 40)) as server:
        monkeypatch.setattr("torchvision.datasets.MNIST.mirrors", [server.address])
        sums = [(name, served_files.md5(content)) for name, content in server.files.items()]
        monkeypatch.setattr("torchvision.datasets.MNIST.resources", sums)
        yield server, x


@pytest.fixture
def cifar(monkeypatch):
    """CIFAR-10's tar on a server that goes on where it is asked to."""
    x, y = images_of(60, (32, 32, 3), 10)
    content = served_files.cifar10(x, y)
    with served_files.serving({TAR: content}) as server:
        server.has_ranges = True
        monkeypatch.setattr("torchvision.datasets.CIFAR10.url", f"{server.address}{TAR}")
        monkeypatch.setattr("torchvision.datasets.CIFAR10.tgz_md5", served_files.md5(content))
        for name, checksum in served_files.checksums(content).items():
            monkeypatch.setitem(VERSIONS["cifar-10-batches-py"].md5, name, checksum)
        yield server, x


def test_a_set_is_fetched_once_read_offline_and_unpacked_again_where_a_kill_left_half(served):
    server, x = served
    found = fetch(MNIST)
    np.testing.assert_array_equal(found.x_train, x[:40])
    assert DATASETS[MNIST].is_here()
    asked = server.asked.copy()
    fetch(MNIST)
    load_dataset(MNIST)
    assert server.asked == asked
    # A kill between archive and unpacked file leaves the mark; the half file must not count as
    # there.
    _, x = served
    fetch(MNIST)
    place = places.home(MNIST)
    raw = place / "MNIST" / "raw"
    half = raw / "train-images-idx3-ubyte"
    half.write_bytes(half.read_bytes()[:1000])
    written(place, {places.UNFINISHED: b""})
    assert_fetched(MNIST, x[:40])
    assert not (place / places.UNFINISHED).exists()


def test_a_cut_line_is_not_read_and_only_the_missing_archive_is_fetched_again(served):
    server, x = served
    server.cut.add(LAST)
    refuses(r"MNIST could not be fetched.*fetched anew.*Without a network", fetch, MNIST)
    refuses("A download was interrupted there", load_dataset, MNIST)
    assert not list(places.home(MNIST).rglob("*-ubyte")), "what was unpacked does not stay"
    server.cut.clear()
    asked = server.asked.copy()
    np.testing.assert_array_equal(fetch(MNIST).x_test, x[40:])
    assert server.asked["train-images-idx3-ubyte.gz"] == asked["train-images-idx3-ubyte.gz"]
    assert server.asked[LAST] > asked[LAST]


def test_the_command_fetches_and_reads(served):

    told = output_of("data torchvision:mnist --download")
    assert "40 train and 20 test rows of 28 × 28" in told.out
    assert "train-images-idx3-ubyte.gz: 0.0 MB" in told.err


@pytest.mark.parametrize("how", ["cut", "stalled"])
def test_a_broken_line_goes_on_where_it_stopped(how, cifar, monkeypatch):
    """Every answer brings half of what is left; in the end each byte was sent once."""
    server, x = cifar
    monkeypatch.setattr(downloading, "STALLED_SECONDS", 0.5)
    getattr(server, how).add(TAR)
    assert_fetched(CIFAR, x[:50])
    assert server.asked[TAR] > 3
    assert server.sent[TAR] == len(server.files[TAR])


def test_a_stop_keeps_what_came(cifar):
    server, x = cifar
    told = []
    server.gate.clear()
    with (
        pytest.raises(Cancelled),
        downloading.report_progress(
            lambda done, total, message="": told.append(done), lambda: bool(told)
        ),
    ):
        fetch(CIFAR)
    server.gate.set()
    partial = places.home(CIFAR) / f"{TAR}{downloading.PARTIAL}"
    kept = partial.stat().st_size
    assert 0 < kept < len(server.files[TAR])
    assert not DATASETS[CIFAR].is_here()
    server.sent.clear()
    assert_fetched(CIFAR, x[:50])
    assert not partial.exists()


def test_a_stop_is_no_failure_of_a_mirror_and_another_file_is_refused(served):
    with pytest.raises(Cancelled), downloading.report_progress(lambda *_: None, lambda: True):
        fetch(MNIST)
    server, _ = served
    server.files["train-labels-idx1-ubyte.gz"] = gzip.compress(idx(np.zeros(40)), mtime=0)
    refuses("could not be fetched", fetch, MNIST)
    assert not DATASETS[MNIST].is_here()


def test_a_file_that_changed_since_is_fetched_from_its_beginning(cifar):
    server, x = cifar
    place = places.home(CIFAR)
    written(
        place,
        {
            places.UNFINISHED: b"",
            f"{TAR}{downloading.PARTIAL}": b"x" * (len(server.files[TAR]) + 10),
        },
    )
    assert_fetched(CIFAR, x[:50])
    written(place, {places.UNFINISHED: b"", f"{TAR}{downloading.PARTIAL}": b"x" * 10})
    shutil.rmtree(place / "cifar-10-batches-py")
    (place / TAR).unlink()
    refuses("could not be fetched", fetch, CIFAR)
    assert_fetched(CIFAR, x[:50])


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/x-gzip"])
def test_a_page_in_place_of_the_file_is_named(content_type, cifar):
    server, _ = cifar
    server.files[TAR], server.typed[TAR] = served_files.PAGE, content_type
    refuses(r"web page in place of the file.*proxy.*Without a network", fetch, CIFAR)
    assert server.asked[TAR] == 1


def test_a_file_that_has_moved_is_asked_for_once(cifar):
    server, _ = cifar
    content = server.files.pop(TAR)
    refuses(r"answers 404.*has moved.*Without a network", fetch, CIFAR)
    assert server.asked[TAR] == 1
    server.files[TAR] = content
    fetch(CIFAR)


def test_a_page_or_a_file_of_another_size_is_refused(tmp_path, served, monkeypatch):
    with served_files.serving({"a.gz": bytes(100)}) as server:
        downloading.get(f"{server.address}a.gz", tmp_path / "a.gz", size=50)
        with pytest.raises(downloading.DownloadFailedError, match="it is another file"):
            downloading.get(f"{server.address}a.gz", tmp_path / "b.gz", size=49)
    assert list(tmp_path.glob("b*")) == []
    server, x = served
    with served_files.serving({}) as empty:
        monkeypatch.setattr("torchvision.datasets.MNIST.mirrors", [empty.address, server.address])
        assert_fetched(MNIST, x[:40])
        assert empty.asked[LAST] == 1, "what is not there is asked for once"


def test_a_disk_that_fills_up_is_named_and_the_download_goes_on_later(cifar):
    _, x = cifar
    place = written(places.home(CIFAR), {places.UNFINISHED: b""})
    partial = place / f"{TAR}{downloading.PARTIAL}"
    partial.symlink_to("/dev/full")
    refuses(r"the disk of .* is full.*free space there, or set PILLAR_DATA", fetch, CIFAR)
    assert not DATASETS[CIFAR].is_here()
    partial.unlink(missing_ok=True)
    assert_fetched(CIFAR, x[:50])


def test_a_disk_too_small_for_it_is_named_before_a_byte_is_written(cifar, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    refuses(r"is full .*are to come, 0\.0 MB are free", fetch, CIFAR)
    assert not places.home(CIFAR).exists()


def test_two_who_ask_for_one_set_share_its_download(cifar):
    """The second comes while the first has half of the file, waits for it, and reads what it
    brought."""
    server, x = cifar
    server.gate.clear()
    waiting, begun = threading.Event(), threading.Event()

    def asks(event):
        with downloading.report_progress(lambda *_: event.set()):
            return fetch(CIFAR).x_train

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(asks, begun)
        begun.wait()
        second = pool.submit(asks, waiting)
        waiting.wait()
        server.gate.set()
        for answer in (first, second):
            np.testing.assert_array_equal(answer.result(), x[:50])
    assert server.asked[TAR] == 1


def test_medmnist_is_fetched_checked_and_redone(monkeypatch):
    import medmnist

    x, y = images_of(22, (28, 28), 2)
    name, content = "breastmnist.npz", served_files.medmnist(x, y)
    with served_files.serving({name: content[:-300] + bytes(300)}) as server:
        monkeypatch.setitem(
            medmnist.INFO["breastmnist"], "url", f"{server.address}files/{name}?download=1"
        )
        monkeypatch.setitem(medmnist.INFO["breastmnist"], "MD5", served_files.md5(content))
        refuses(
            r"could not be fetched.*another checksum than published.*fetched anew", fetch, BREAST
        )
        refuses("is not on this machine", load_dataset, BREAST)
        server.files[name] = content
        for _ in range(2):
            np.testing.assert_array_equal(fetch(BREAST).x_train, x[2:11])
        assert server.asked[name] == 2


def test_cifar10_1_comes_from_a_mirror_with_its_checksums(monkeypatch):
    x, y = images_of(40, (32, 32, 3), 10)
    files = {}
    for what, rows in (("data", x), ("labels", y)):
        stream = io.BytesIO()
        np.save(stream, rows)
        files[f"cifar10.1_v6_{what}.npy"] = stream.getvalue()
    for name, content in files.items():
        digest = hashlib.sha1(
            b"blob %d\0%b" % (len(content), content), usedforsecurity=False
        ).hexdigest()
        monkeypatch.setitem(toml_tables(FILES)["cifar10_1"]["checksums"], name, f"git:{digest}")
    with served_files.serving(files) as server:
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, f"{server.address}sets/")
        np.testing.assert_array_equal(fetch("cifar10_1").x_train, x)
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, "file:///etc")
        shutil.rmtree(places.home("cifar10_1"))
        refuses("is no address of a web server", fetch, "cifar10_1")


def test_20_newsgroups_are_posts_without_their_headers(monkeypatch):
    posts = {
        f"20news-bydate-{side}/{group}/{number}": (
            f"Newsgroups: {group}\r\nFrom: a@b\r\n\r\nPost {number} on {group[-3:]}\r\n"
        )
        for number, side in enumerate(["train"] * 4 + ["test"] * 2)
        for group in ("sci.med", "rec.autos")
    }
    packed = served_files.tarred({name: post.encode() for name, post in posts.items()})
    with served_files.serving({"20news-bydate.tar.gz": packed}) as server:
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, f"{server.address}sets/")
        refuses("another checksum", fetch, "20newsgroups")
        digest = f"sha256:{hashlib.sha256(packed).hexdigest()}"
        monkeypatch.setitem(toml_tables(FILES)["20newsgroups"], "checksum", digest)
        rows = fetch("20newsgroups")
    assert (rows.classes, len(rows.x_train), len(rows.x_test)) == (("rec.autos", "sci.med"), 8, 4)
    assert sorted(rows.texts[8:]) == [
        f"Post {number} on {group}" for number in (4, 5) for group in ("med", "tos")
    ]
    said = zip(rows.texts, [*rows.y_train, *rows.y_test], strict=True)
    assert all((label == 1) == text.endswith("med") for text, label in said)
    assert (texts.encode(rows.texts[8:]) == rows.x_test).all()


def test_progress_counts_the_bytes_of_all_files(served):
    server, _ = served
    told = []
    with downloading.report_progress(lambda done, total, message="": told.append((done, total))):
        fetch(MNIST)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    count = sum(map(len, server.files.values()))
    assert told[-2:] == [(count, DATASETS[MNIST].n_bytes), (count, count)]


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


def test_hub_sets_and_weights_come_whole_or_say_why_not(tmp_path):
    """Each repository has its own fault; the library's own setting for mirrors leads to the
    server."""
    timm = pytest.importorskip("timm")  # at the top it would take two seconds in every worker
    rows = served_files.parquet(*images_of(20, (8, 8, 3), 2))
    weights = save(timm.create_model("test_efficientnet", num_classes=0).state_dict())
    sets = {f"owner/{name}/{ROWS}": rows for name in ("good", "cut", "slow", "changed", "page")}
    networks = {
        f"timm/test_{name}.r160_in1k/{WEIGHTS}": weights
        for name in ("efficientnet", "vit", "byobnet", "resnet")
    }
    with served_files.serving(sets | networks) as server:
        server.has_ranges = True
        server.cut |= {f"owner/cut/{ROWS}", f"timm/test_efficientnet.r160_in1k/{WEIGHTS}"}
        server.stalled |= {f"owner/slow/{ROWS}"}
        server.published |= dict.fromkeys(
            (f"owner/changed/{ROWS}", f"timm/test_byobnet.r160_in1k/{WEIGHTS}"), 64 * "0"
        )
        server.pages |= {"owner/page", "timm/test_resnet.r160_in1k"}
        names = [f"hub:owner/{name}" for name in ("good", "cut", "slow", "changed", "page", "gone")]
        names += [
            f"timm:test_{name}.r160_in1k"
            for name in ("efficientnet", "vit", "byobnet", "resnet", "convnext")
        ]
        hub = {
            "HF_ENDPOINT": server.address.rstrip("/"),
            "HF_HOME": str(tmp_path / "hub"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        patience = {"HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_HUB_ETAG_TIMEOUT": "2"}
        command = [sys.executable, "-c", FETCH, *names]
        done = subprocess.run(
            command, env=os.environ | hub | patience, capture_output=True, text=True, check=False
        )
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
    for name in (
        f"owner/cut/{ROWS}",
        f"owner/slow/{ROWS}",
        f"timm/test_efficientnet.r160_in1k/{WEIGHTS}",
    ):
        assert server.sent[name] >= len(server.files[name]), (
            "half was sent, then the rest or all of it"
        )
    assert max(done for done, _ in told) >= len(weights)


TABLE = "/data/v1/download/41161/riccardo.arff"


@pytest.fixture
def openml(monkeypatch):
    with served_files.serving(served_files.openml(41161, "riccardo")) as server:
        server.has_ranges = True
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, server.address)
        yield server


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_table_of_openml_comes_through_a_mirror_and_is_read_offline(is_cut, openml):
    openml.cut |= {TABLE} if is_cut else set()
    dataset = fetch(RICCARDO)
    assert (dataset.x_train.shape, dataset.classes) == ((16, 2), ("no", "yes"))
    assert openml.sent[TABLE] == len(served_files.ARFF)
    openml.files.clear()
    assert load_dataset(RICCARDO).fingerprint == dataset.fingerprint


@pytest.mark.filterwarnings(
    "ignore:Invalid cache, redownloading:RuntimeWarning"
)  # scikit-learn's second try
@pytest.mark.parametrize("is_there", [False, True])
def test_the_address_that_a_table_names_leads_to_no_file_outside_its_folder(
    is_there, openml, tmp_path
):
    """scikit-learn keeps a file by the path of its address, and deletes what it cannot read
    there."""
    about = json.loads(openml.files["/api/v1/json/data/41161"])
    about["data_set_description"]["url"] = "https://openml.org/" + "../" * 4 + "other"
    openml.files |= {
        "/api/v1/json/data/41161": json.dumps(about).encode(),
        "/" + "../" * 4 + "other": served_files.ARFF,
    }
    other = (places.home(RICCARDO) / "openml" / "openml.org" / ("../" * 4 + "other.gz")).resolve()
    assert other.is_relative_to(tmp_path)
    if is_there:
        other.write_bytes(b"somebody's")
    for download in (True, True, False):
        with pytest.raises(DataError):
            load_dataset(RICCARDO, download=download)
    assert (other.read_bytes() if other.exists() else b"") == (b"somebody's" if is_there else b"")


@pytest.mark.filterwarnings(
    "ignore:Invalid cache, redownloading:RuntimeWarning"
)  # scikit-learn's second try
def test_a_table_that_openml_sends_badly_is_refused_and_asked_for_again(openml):
    good = dict(openml.files)
    faults = {
        "another checksum|md5": served_files.ARFF.replace(b"19,", b"18,"),
        "web page": served_files.PAGE,
        "answers 404": None,
    }
    for words, content in faults.items():
        openml.files.pop(TABLE) if content is None else openml.files.update({TABLE: content})
        refuses(f"could not be fetched.*({words})", fetch, RICCARDO)
        refuses("is not on this machine", load_dataset, RICCARDO)
        openml.files |= good
    assert len(fetch(RICCARDO).x_train) == 16
    assert not list(places.home(RICCARDO).glob("*.arff"))
