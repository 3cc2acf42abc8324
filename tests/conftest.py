"""What every test folder shares: real data, one thread a process, groups that stay together, and
the report of CPU time."""

import copy
import csv
import functools
import gc
import json
import os
import resource
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

import pillar_core as pc
from pillar_core import rng
from pillar_core.backbones import shipped
from pillar_core.data.sets import embedded
from pillar_core.memo import Memo
from pillar_core.studies.advice import simulation
from statistical import errors

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = REPOSITORY / "tests"
SLOW_TESTS = TESTS / "slow_tests.csv"
"""CPU seconds of the tests that are marked `slow`; `pytest --cpu-report` writes it."""
SLOW_SECONDS = 0.3
LONG_FOLDERS = tuple(
    f"tests/{name}/"
    for name in (
        *("architecture", "contract", "contributing", "e2e", "oracles", "pages", "statistical"),
        *("unit/jobs", "unit/methods", "unit/runs", "unit/studies"),
    )
)
"""Folders that `pytest -m "not slow"`, which is to take a minute, does not even import."""
TINY_TOWERS = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
TOGETHER = ("tests/e2e/", "tests/unit/jobs/")
"""Folders whose tests share servers or job processes."""

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # a worker a core: more threads would wait for one another
os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # and those that a test asks for would spin while they wait
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # else a hundred processes compile the library anew, half a second each
sys.dont_write_bytecode = False

hypothesis.settings.register_profile(
    "suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("suite")


@pytest.fixture(scope="session")
def shared():
    """The folder of real data, papers' tables and oracles; tests that need it skip where it is
    absent or empty."""
    folder = Path(os.environ.get("PILLAR_SHARED", REPOSITORY.parent / "shared"))
    for part in ("data", "oracles", "papers"):
        if not folder.name or not (folder / part).is_dir():
            pytest.skip(
                f"no folder of real data and oracles at {str(folder)!r} (set PILLAR_SHARED)"
            )
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_cache_of_this_worker(tmp_path_factory):
    """Tests that ask for no cache of their own neither read the user's nor share one with other
    workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILLAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """An empty cache of this test alone."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path):
    """(name, weights, model) of an open_clip model small enough to make here, its weights drawn at
    random and saved."""
    open_clip = pytest.importorskip("open_clip", reason="open_clip is not installed")
    import torch
    from safetensors.torch import save_file

    (tmp_path / "pillar-tiny.json").write_text(json.dumps(TINY_TOWERS))
    open_clip.add_model_config(tmp_path)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = open_clip.create_model("pillar-tiny", pretrained=None).eval()
    save_file(
        {name: part.contiguous() for name, part in model.state_dict().items()},
        tmp_path / "tiny.safetensors",
    )
    return "open_clip:pillar-tiny", tmp_path / "tiny.safetensors", model


@pytest.fixture(scope="session")
def split():
    """Digits, of which a tenth is public."""
    return pc.split(pc.load_dataset("digits"), public_fraction=0.1)


@pytest.fixture(scope="module")
def one_play():
    """Predictions from one play each instead of up to eight, kept apart from those of other
    modules."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEWEST_PLAYS", "MOST_PLAYS"):
            patch.setattr(simulation, name, 1)
        patch.setattr(simulation, "PLAYED", Memo(256))
        yield


@pytest.fixture(scope="session", autouse=True)
def unpacked_once():
    """Sets and features that come with the library are unpacked once a worker, half a second each
    time, and copied for who reads them."""
    rows, features = functools.cache(embedded.read_npz), functools.cache(shipped.unpack_features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "read_npz", lambda path: copy.deepcopy(rows(path)))
        patch.setattr(shipped, "unpack_features", lambda payload: features(payload).copy())
        yield


class Fresh:
    """How often something was drawn that no seed repeats."""

    draws = 0

    @classmethod
    def counted(cls, draw: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*asked: Any) -> Any:
            cls.draws += 1
            return draw(*asked)

        return drawn


@pytest.fixture(scope="session", autouse=True)
def fresh_draws_are_counted():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rng.SystemStream, "words", Fresh.counted(rng.SystemStream.words))
        patch.setattr(rng, "secrets", SimpleNamespace(randbits=Fresh.counted(secrets.randbits)))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    result = yield
    if Fresh.draws > item.stash[DRAWN] and errors.of(item.nodeid) is None:
        pytest.fail(
            "this test draws what no seed repeats: state its α and β in"
            f" {errors.LIST.relative_to(REPOSITORY)}"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Iterator[int]:
    """A worker more than cores: one or two of them wait for a browser or for a job's processes."""
    return (yield) + 1


def group_of(nodeid: str) -> str:
    """The file of a test, or the folder that stays together."""
    return next(
        (folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0]
    )


class FileByFile(LoadScopeScheduling):
    """Gives a worker a whole file, so that what its tests share is made once, or one of the folders
    that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileByFile:
    """pytest-xdist's own groups are lost with pytest 9.2, which ignores the names that they
    change."""
    return FileByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-report",
        action="store_true",
        help=(
            f"write the tests above {SLOW_SECONDS} s of CPU time to"
            f" {SLOW_TESTS.relative_to(REPOSITORY)}, which marks them slow"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-report") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(CpuReport(), "cpu-report")
    if config.args_source is config.ArgsSource.TESTPATHS and (
        worker := os.environ.get("PYTEST_XDIST_WORKER")
    ):
        files = sorted(
            str(path) for path in TESTS.rglob("test_*.py") if not is_left_out(path, config)
        )
        start = (
            len(files)
            * int(worker.removeprefix("gw"))
            // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        )
        config.args = [
            *files[start:],
            *files[:start],
        ]  # in a fresh clone, workers compile other files and find those of the rest


def is_left_out(path: Path, config: pytest.Config) -> bool:
    """Whether the quick loop over all tests leaves out what is below a path."""
    is_quick = config.option.markexpr == "not slow"
    below = f"{path.relative_to(REPOSITORY)}/"
    return (
        is_quick
        and config.args_source is config.ArgsSource.TESTPATHS
        and below.startswith(LONG_FOLDERS)
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return is_left_out(collection_path, config) or None


@pytest.hookimpl(tryfirst=True)  # before -m reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest groups first, so that workers end at about the same time; those of `TOGETHER`
    wait for other processes, whose time nobody counts."""
    slow, seconds = read_slow_tests(), Counter[str]()
    for name in slow:
        seconds[group_of(name)] += slow[name]
    items.sort(
        key=lambda item: (
            not item.nodeid.startswith(TOGETHER),
            -seconds[group_of(item.nodeid)],
            item.path,
        )
    )
    for item in items:
        if item.nodeid.startswith("tests/e2e/"):
            item.add_marker("e2e")
        if item.nodeid.startswith("tests/e2e/") or item.nodeid in slow:
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported stays until the end: the garbage collector looks at it neither meanwhile nor
    later, and at the rest seldom."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes the CPU seconds of setup and call, child processes that ended in them included, and
    what was drawn before."""
    item.stash[STARTED], item.stash[DRAWN] = cpu_seconds(), Fresh.draws
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append(("cpu_seconds", cpu_seconds() - item.stash[STARTED]))


STARTED, DRAWN = pytest.StashKey[float](), pytest.StashKey[int]()


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def read_slow_tests() -> dict[str, float]:
    """CPU seconds by the name of a test."""
    with SLOW_TESTS.open(newline="", encoding="utf-8") as file:
        return {row["test"]: float(row["cpu_seconds"]) for row in csv.DictReader(file)}


class CpuReport:
    """Collects CPU seconds, and writes those of slow tests; tests of files that did not run keep
    their line."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" and report.outcome == "passed":
            self.seconds[report.nodeid] = float(dict(report.user_properties)["cpu_seconds"])

    def pytest_sessionfinish(self) -> None:
        files = {name.split("::")[0] for name in self.seconds}
        kept = {
            name: seconds
            for name, seconds in read_slow_tests().items()
            if name.split("::")[0] not in files
        }
        slow = kept | {
            name: seconds for name, seconds in self.seconds.items() if seconds >= SLOW_SECONDS
        }
        with SLOW_TESTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("test", "cpu_seconds"))
            writer.writerows((name, f"{seconds:.1f}") for name, seconds in sorted(slow.items()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(
            f"CPU time: {sum(self.seconds.values()):.0f} s in {len(self.seconds)} tests; the"
            " slowest"
        )
        for name, seconds in sorted(self.seconds.items(), key=lambda pair: -pair[1])[:20]:
            terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
