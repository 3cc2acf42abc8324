"""Public mode below the pages: what a visitor asks for is refused there, whatever page, link or file it came by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import jobs
from pillar_core.data import owners, uploads, visitors
from pillar_core.data.owners import Asker
from pillar_core.errors import DataError, JobError, SettingError, UnknownNameError, UnsupportedError
from pillar_core.jobs.kind import JOB_KINDS
from pillar_core.jobs.kinds import extraction, fetch
from pillar_core.runs import records
from pillar_core.runs.models import model_bytes
from pillar_core.studies import papers
from pillar_core.studies.screening import answers

A, B = Asker("a" * 32), Asker("b" * 32)
GRID = {"dataset": "digits", "method": "pillar", "epsilon": 1.0, "k": 3, "seed": 0, "public_fraction": 0.2}


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Asker | None], None]:
    """Says who asks the public server from now on."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(visitors.VARIABLE, "1")
    monkeypatch.setattr(visitors, "JOBS_ASKED", visitors.Jobs())
    monkeypatch.setattr(owners, "_FINDERS", [lambda: who[-1]])
    monkeypatch.setattr("pillar_core.jobs.process.ensure", lambda folder: None)  # jobs are queued and nobody works on them
    who: list[Asker | None] = [A]
    return who.append


@pytest.fixture
def rows() -> pc.types.FeatureSet:
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    return pc.features(x, np.arange(60) % 2, x[:10], np.arange(10) % 2)


def test_what_is_off_is_refused_to_visitors_and_to_nobody_else(become, rows, tmp_path):
    released = pc.run("pillar", pc.split(rows, public_fraction=0.3), epsilon=2.0, seed=None)
    asks = {
        "upload": lambda: uploads.keep(rows),
        "path": lambda: visitors.refuse_path(str(tmp_path)),
        "release": lambda: model_bytes(released, classes=("0", "1")),
        "job": lambda: jobs.submit(fetch.specification("cifar10_1")),
    }
    for what, ask in asks.items():
        with pytest.raises(UnsupportedError, match=visitors.OFF[what]):
            ask()
    with pytest.raises(UnsupportedError, match="of this kind"):
        jobs.submit(extraction.specification("fashion_mnist", "efficientnet_lite0"))
    become(None)
    assert uploads.is_name(uploads.keep(rows))
    assert model_bytes(released, classes=("0", "1"))


@pytest.mark.parametrize(
    "what", ["cifar10_1", "folder:/etc", "stored:" + "0" * 32, "hub:x/y", "torchvision:CIFAR10", "digits~A", "digits~"]
)
def test_no_set_but_those_of_the_library_is_named(become, what):
    assert not visitors.is_offered("data", what)
    with pytest.raises((UnsupportedError, DataError, OSError)):
        jobs.submit({"kind": "sweep", "grid": GRID | {"dataset": what}})


@pytest.mark.parametrize(
    "more",
    [{"backbone": "timm:resnet18"}, {"backbone": "onnx:/x"}, {"network": "timm:x?weights=/y"}, {"anything": ["a", {"b": "http://c"}]}],
)
def test_no_file_program_or_address_hides_in_a_specification(become, more):
    with pytest.raises(UnsupportedError, match="naming what is not in the lists"):
        visitors.refuse_names({"kind": "sweep", "grid": GRID | more})


def test_what_the_pages_ask_for_is_offered(become):
    visitors.refuse_names({"kind": "sweep", "grid": GRID | {"backbone": None, "public": "part"}})
    asked = answers.Ask("ranking", "fashion_mnist", ("own_half", "mnist", "drawn_digits~0.5", "mnist+drawn_letters"))
    visitors.refuse_names(asked.payload)


def test_every_kind_of_job_says_whether_visitors_may_ask_for_it():
    own = {name for name, kind in JOB_KINDS.items() if not kind.is_for_visitors and not name.startswith("test_")}
    assert own == {"fetch", "extract"}


def test_a_visitors_grid_is_small_and_says_what_exists(become):
    """Long words and unknown relations were repeated in every cell, task and kept refusal: 11 kB of text took 335 MB of the disk."""
    grid = {"dataset": "digits", "method": "pillar", "public_fraction": 0.1, "epsilon": 1.0}
    for wrong in ({"relation": "A" * 500}, {"accountant": "B"}, {"preset": "C" * 9_999}):
        with pytest.raises((SettingError, UnknownNameError)):
            jobs.submit({"kind": "sweep", "grid": grid | wrong})
    with pytest.raises(SettingError, match="2,000 characters"):
        jobs.submit({"kind": "sweep", "grid": grid | {"dataset_settings": {"n": 9, **{f"x{number}": "Z" * 900 for number in range(9)}}}})
    with pytest.raises(UnsupportedError, match="2 million characters"):
        jobs.submit({"kind": "sweep", "grid": grid | {"dataset_settings": {"n": 9, "d": 9, "x": "Z" * 1_900}, "seed": list(range(1_000))}})
    with pytest.raises(UnsupportedError, match="1,000 runs at once"):
        jobs.submit({"kind": "sweep", "grid": grid | {"seed": list(range(visitors.MOST_CELLS + 1))}})


def test_a_visitor_has_so_many_jobs_and_neither_sees_nor_stops_those_of_others(become):
    first = [jobs.submit({"kind": "sweep", "grid": GRID | {"seed": seed}}) for seed in range(visitors.JOBS_EACH)]
    with pytest.raises(UnsupportedError, match="You have 2 jobs under way"):
        jobs.submit({"kind": "sweep", "grid": GRID | {"seed": 9}})
    assert jobs.submit({"kind": "sweep", "grid": GRID | {"seed": 0}}) == first[0], "one's own is joined"
    become(B)
    assert jobs.status() == ()
    with pytest.raises(JobError, match="somebody else"):
        jobs.cancel(first[0])
    assert jobs.submit({"kind": "sweep", "grid": GRID | {"seed": 0}}) == first[0], "what is under way is joined"
    become(A)
    assert {status.job_id for status in jobs.status()} == set(first)
    assert jobs.cancel(first[0])


def test_jobs_of_others_are_looked_at_and_not_retried(become):
    first = jobs.submit({"kind": "sweep", "grid": GRID})
    become(B)
    assert jobs.status(first).state == "queued"
    assert jobs.result(first, partial=True) is not None
    become(A)
    jobs.cancel(first)
    become(B)
    for ask in (jobs.retry, jobs.cancel):
        with pytest.raises(JobError, match="somebody else"):
            ask(first)


def test_a_retry_counts_as_a_job(become):
    first = jobs.submit({"kind": "sweep", "grid": GRID})
    jobs.cancel(first)
    for seed in range(1, 1 + visitors.JOBS_EACH):
        jobs.submit({"kind": "sweep", "grid": GRID | {"seed": seed}})
    with pytest.raises(UnsupportedError, match="You have 2 jobs under way"):
        jobs.retry(first)


def test_who_asks_for_many_jobs_makes_the_server_forget_the_own_ones_first(become, monkeypatch):
    monkeypatch.setattr(visitors, "MOST_REMEMBERED", 2)
    asked = visitors.JOBS_ASKED
    asked.admit("a-live", {}, ())
    become(B)
    asked.admit("b-done", {}, {"a-live"})
    asked.admit("b-live", {}, {"a-live"})
    asked.admit("b-next", {}, {"a-live", "b-live"})
    assert [asked.is_own(one) for one in ("b-done", "b-live", "b-next")] == [False, False, True]
    become(A)
    assert asked.is_own("a-live")


@pytest.mark.parametrize("sizes", [{"n": 100_000, "d": 2048}, {"d": 4096}, {"n": 10, "n_test": 10**9}, {"n": "1e9"}, {"n": [10**9]}])
def test_no_large_set_is_generated(become, sizes):
    with pytest.raises(UnsupportedError, match="20 million numbers"):
        visitors.refuse_names({"grid": {"dataset_settings": sizes}})


@pytest.mark.parametrize("name", papers.TABLES)
def test_stand_ins_of_papers_are_generated(become, name):
    visitors.refuse_names({"grid": papers.grid(name, dataset=papers.TABLES[name].datasets[0])})


def test_all_visitors_together_have_so_many_jobs(become):
    for number in range(visitors.JOBS):
        become(Asker(f"{number:032x}"))
        jobs.submit({"kind": "sweep", "grid": GRID | {"seed": number}})
    become(B)
    with pytest.raises(UnsupportedError, match="jobs of all visitors are under way"):
        jobs.submit({"kind": "sweep", "grid": GRID | {"seed": 99}})


def test_lists_of_runs_hold_a_visitors_own_alone(become):
    become(None)
    pc.sweep(GRID | {"seed": [0, 1]})
    assert len(records.all_runs()) == 2
    become(A)
    jobs.submit({"kind": "sweep", "grid": GRID})
    assert list(records.all_runs()["seed"]) == [0]
    become(B)
    assert records.all_runs().empty


def test_messages_hold_no_place_on_the_disk(become, monkeypatch):
    text = "it could not be written to /srv/app/cache/jobs/0 (full); see ~/x/y.txt, accuracy 3/4, https://a.b/c"
    assert visitors.without_paths(text) == "it could not be written to … (full); see …, accuracy 3/4, https://a.b/c"
    monkeypatch.delenv(visitors.VARIABLE)
    assert "/srv" not in visitors.without_paths(text), "somebody elsewhere reads no place of a server that is not public, either"
    become(Asker("a" * 32, is_local=True))
    assert visitors.without_paths(text) == text
    become(None)
    assert visitors.without_paths(text) == text


def test_a_blank_in_the_path_of_the_cache_leaks_nothing(become, tmp_path, monkeypatch):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "my secret cache"))
    text = f"could not be written to '{pc.store.default().root}/blob/x.json' (full)"
    assert visitors.without_paths(text) == "could not be written to '…' (full)"
