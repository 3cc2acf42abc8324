"""Demo mode below the pages: what a visitor asks for is refused there, whatever page, link or file
it came by."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pillar_core as pc
from pages.frame import plain
from pages.frame import settings as codec
from pillar_core import jobs, mode
from pillar_core.backbones import BACKBONES
from pillar_core.data import DATASETS, uploads, visitors
from pillar_core.errors import (
    DataError,
    JobError,
    SettingError,
    StoreError,
    UnknownNameError,
    UnsupportedError,
)
from pillar_core.jobs.kind import JOB_KINDS
from pillar_core.jobs.kinds import extraction, fetch
from pillar_core.runs import records
from pillar_core.runs.models import model_bytes
from pillar_core.studies import papers
from pillar_core.studies.screening import answers
from users import raises

GRID = {
    "dataset": "digits",
    "method": "pillar",
    "epsilon": 1.0,
    "k": 3,
    "seed": 0,
    "public_fraction": 0.2,
}
Become = Callable[[str | None], None]


def sweep(**changes: object) -> str:
    """The job of a grid that a visitor asks for."""
    return jobs.submit({"kind": "sweep", "grid": GRID | changes})


@pytest.fixture
def become(monkeypatch, tmp_path):
    """Says which session of the demo asks from now on; None is the operator."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(mode.DEMO, "1")
    monkeypatch.setattr(mode, "JOBS", mode.Jobs())
    monkeypatch.setattr(
        "pillar_core.jobs.api._attend", lambda *_: None
    )  # jobs are queued and nobody works on them

    def ask_as(session):
        monkeypatch.setattr(
            mode._Server, "session", None if session is None else staticmethod(lambda: session)
        )

    ask_as("a")
    return ask_as


@pytest.fixture
def rows():
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    return pc.features(x, np.arange(60) % 2, x[:10], np.arange(10) % 2)


def test_what_is_off_is_refused_to_visitors_and_to_nobody_else(become, rows):
    become(None)
    name = uploads.keep(rows)
    released = pc.run("pillar", pc.split(rows, public_fraction=0.3), epsilon=2.0, seed=None)
    assert model_bytes(released, classes=("0", "1"))
    become("a")
    asks = {
        "upload": lambda: uploads.keep(rows),
        "path": lambda: mode.refuse("path"),
        "release": lambda: model_bytes(released, classes=("0", "1")),
        "job": lambda: jobs.submit({"kind": "fetch", "dataset": "digits"}),
        "name": lambda: jobs.submit(extraction.specification("fashion_mnist", "timm:resnet18")),
    }
    for what, ask in asks.items():
        raises(UnsupportedError, mode.OFF[what], ask)
    with pytest.raises(UnsupportedError, match="of this kind"):
        jobs.submit(extraction.specification("fashion_mnist", "efficientnet_lite0"))
    with pytest.raises(UnsupportedError):
        jobs.submit(fetch.specification("cifar10_1"))
    assert (uploads.list_uploads(), uploads.card(name), uploads.forget(name)) == ((), None, 0)
    raises(StoreError, "not on this machine", uploads.load, name)


def test_no_set_file_program_or_address_but_those_of_the_library_is_named(become):
    for what in (
        "cifar10_1",
        "folder:/etc",
        "stored:" + "0" * 32,
        "hub:x/y",
        "torchvision:CIFAR10",
        "digits~A",
        "digits~",
    ):
        assert not visitors.is_offered("data", what)
        with pytest.raises((UnsupportedError, DataError, OSError)):
            sweep(dataset=what)
    links = ["a", {"b": "http://c"}]
    for key, word in (
        ("backbone", "timm:resnet18"),
        ("backbone", "onnx:/x"),
        ("network", "timm:x?weights=/y"),
        ("any", links),
    ):
        with pytest.raises(UnsupportedError, match="naming what is not in the lists"):
            visitors.refuse_names({"kind": "sweep", "grid": GRID | {key: word}})
    for name, settings in (
        ("cifar10", {}),
        ("hub:acme/rows", {}),
        ("drawn_digits", {"n": 10**9}),
        ("pneumonia", {"root": "/data"}),
    ):
        raises(UnsupportedError, "off on this public server", uploads.load_rows, name, settings)


def test_a_link_names_nothing_that_is_off_with_arguments_or_without(become):
    """Of `timm:resnet18?weights=/x`, which is off, `timm:resnet18` was used, which is off, too."""
    off = (
        "timm:resnet18",
        "timm:resnet18?weights=/x",
        "timm:resnet18?input_size=160",
        "efficientnet_lite0?weights=/x",
        "onnx:/x",
    )
    off += (
        "resnet50:dino?weights=/x",
        "open_clip:ViT-B-32?weights=/x",
        "sentence_transformers:/x",
        "raw_pixels?weights=/x",
    )
    for name in off:
        settings, notes = codec.from_query(
            {"data": "digits", "backbone": name, "a": codec.pin(codec.Settings(backbone=name))}
        )
        assert (settings.backbone, settings.a) == (codec.AUTO, "")
        assert [f"“{name}” is not offered on this public server" in note for note in notes] == [
            True,
            False,
        ]
    for key in ("data", "public"):
        for name in (
            "cifar10_1",
            "hub:x/y",
            "hub:x/y?revision=1",
            "openml:1",
            "torchvision:CIFAR10",
            "folder:/etc",
            "digits?root=/x",
        ):
            settings, notes = codec.from_query({key: name})
            assert getattr(settings, key) == getattr(codec.Settings(), key)
            assert len(notes) == 1
        assert not any(
            DATASETS[name].needs_files for name in codec.choices(key) if name in DATASETS
        )
    assert (
        {"raw_pixels", "efficientnet_lite0"}
        < set(codec.choices("backbone"))
        < {codec.AUTO, *BACKBONES}
    )
    for name in codec.choices("backbone"):
        assert codec.from_query({"backbone": name}) == (codec.Settings(backbone=name), [])


def test_every_kind_of_job_and_what_pages_ask_for_is_offered_or_not(become):
    visitors.refuse_names({"kind": "sweep", "grid": GRID | {"backbone": None, "public": "part"}})
    visitors.refuse_names(
        answers.Ask(
            "ranking",
            "fashion_mnist",
            ("own_half", "mnist", "drawn_digits~0.5", "mnist+drawn_letters"),
        ).payload
    )
    for name in papers.TABLES:
        visitors.refuse_names({"grid": papers.grid(name, dataset=papers.TABLES[name].datasets[0])})
    own = {
        name
        for name, kind in JOB_KINDS.items()
        if not kind.is_for_visitors and not name.startswith("test_")
    }
    assert own == {"fetch", "extract"}


def test_a_visitors_grid_is_small_and_says_what_exists(become, monkeypatch):
    """Long words and unknown relations were repeated in every cell, task and kept refusal: 11 kB of
    text took 335 MB of the disk."""
    for wrong in ({"relation": "A" * 500}, {"accountant": "B"}, {"preset": "C" * 9_999}):
        with pytest.raises((SettingError, UnknownNameError)):
            sweep(**wrong)
    many = {"kind": "sweep", "grid": GRID | {"seed": list(range(1001))}}
    raises(UnsupportedError, "more than 1,000 runs at once", jobs.submit, many)
    with pytest.raises(UnsupportedError, match="2,000 characters"):
        jobs.submit(
            {
                "kind": "sweep",
                "grid": (
                    GRID
                    | {
                        "dataset_settings": {"n": 9, "d": 9, "x": "Z" * 1_900},
                        "seed": list(range(1000)),
                    }
                ),
            }
        )
    for sizes in (
        {"n": 100_000, "d": 2048},
        {"d": 4096},
        {"n": 10, "n_test": 10**9},
        {"n": "1e9"},
        {"n": [10**9]},
    ):
        with pytest.raises(UnsupportedError, match="20,000,000 numbers"):
            visitors.refuse_names({"grid": {"dataset_settings": sizes}})
    monkeypatch.setenv("PILLAR_LIMIT_NUMBERS", "0")
    visitors.refuse_names({"grid": {"dataset_settings": {"n": 10**9}}})
    monkeypatch.setenv("PILLAR_LIMIT_CELLS", "1001")
    assert jobs.submit(many)


def test_limits_are_numbers_from_0_on(monkeypatch):
    assert mode.limit("jobs") == 2
    table = (Path(mode.__file__).parents[1] / "docs/operate.md").read_text()
    assert not [
        name
        for name, (usual, of) in mode.LIMITS.items()
        if f"| `{name}` | {usual:,.0f} | {of} |" not in table
    ]
    monkeypatch.setenv("PILLAR_LIMIT_JOBS", "0")
    assert mode.limit("jobs") == math.inf
    for wrong in ("-1", "nan", "two"):
        monkeypatch.setenv("PILLAR_LIMIT_JOBS", wrong)
        with pytest.raises(SettingError, match="PILLAR_LIMIT_JOBS must be a number from 0"):
            mode.check_server("127.0.0.1")


def test_a_session_has_so_many_jobs_and_neither_sees_nor_stops_those_of_others(become):
    first = [sweep(seed=seed) for seed in range(2)]
    raises(UnsupportedError, "You have 2 jobs under way", sweep, seed=9)
    become("b")
    assert jobs.status() == ()
    assert sweep(seed=0) == first[0], "what is under way is joined"
    assert jobs.status(first[0]).state == "queued"
    become("a")
    assert {status.job_id for status in jobs.status()} == set(first)
    assert jobs.cancel(first[0])
    become("b")
    for ask in (jobs.retry, jobs.cancel):
        raises(JobError, "somebody else", ask, first[0])
    become("a")
    sweep(seed=8)
    raises(
        UnsupportedError, "You have 2 jobs under way", jobs.retry, first[0]
    )  # which counts as a job
    for number in range(10):
        become(f"{number}")
        sweep(seed=20 + number)
    become("c")
    raises(UnsupportedError, "12 jobs of all visitors are under way", sweep, seed=99)


def test_who_asks_for_many_jobs_makes_the_server_forget_none_that_is_under_way(become, monkeypatch):
    monkeypatch.setattr(mode, "_MOST_REMEMBERED", 1)
    for job, unfinished in (("live", ()), ("done", {"live"}), ("next", {"live"})):
        mode.JOBS.admit(job, {}, unfinished)
    assert [mode.JOBS.is_own(job) for job in ("live", "done", "next")] == [True, False, True]


def test_lists_hold_the_own_jobs_and_messages_no_place_on_the_disk(become, tmp_path, monkeypatch):
    become(None)
    pc.sweep(GRID | {"seed": [0, 1]})
    assert len(records.all_runs()) == 2
    become("a")
    sweep()
    assert list(records.all_runs()["seed"]) == [0]
    become("b")
    assert records.all_runs().empty
    text = (
        "it could not be written to /srv/app/cache/jobs/0 (full); see ~/x/y.txt, accuracy 3/4,"
        " https://a.b/c"
    )
    assert (
        plain.without_paths(text)
        == "it could not be written to … (full); see …, accuracy 3/4, https://a.b/c"
    )
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "my secret cache"))
    assert (
        plain.without_paths(f"written to '{pc.store.default().root}/blob/x.json' (full)")
        == "written to '…' (full)"
    )
    become(None)
    assert plain.without_paths(text) == text
