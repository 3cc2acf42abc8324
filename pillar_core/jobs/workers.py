"""The workers: a local cluster of processes, or the one at PILLAR_SCHEDULER, which only the jobs
process builds; and what runs inside one: a task of a job, on one compute thread, with a look at the
cancel flag."""

import contextlib
import copy
import functools
import glob
import importlib.util
import json
import os
import platform
import queue
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, Security

from pillar_core.engine import on_gpu
from pillar_core.errors import Cancelled, JobError, MachineError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.kind import JobKind
from pillar_core.jobs.state import Folder, Job, replace
from pillar_core.runs import splitting, versions
from pillar_core.store.codec import encode_json
from pillar_core.types import FeatureSet, Form, Progress, Values

__all__ = ["Engine", "Future", "KilledWorker", "Outcome"]

_PROGRESS_SECONDS = 0.2

Place = tuple[Sequence[str], str, str]
"""Of the machine of a job: modules that register further kinds, the cache folder, and what tells
the library's code from other code."""


def run_task(
    place: Place,
    job_id: str,
    kind: str,
    number: int | None,
    task: Values,
    sent: Mapping[str, FeatureSet],
    wants_gpu: bool = False,
) -> bytes | None:
    """A task's result as JSON, or without a number the list of tasks that a payload is cut into;
    None where this worker does not see the job's folder and lacks the features that the task names.

    wants_gpu: it trains on a GPU, or where PILLAR_DEVICE of this worker says, and nowhere else.
    Raises Cancelled: the job's flag was set before or during the task. JobError: no GPU here.
    Whatever the kind's function raises.
    """
    if wants_gpu:
        with _gpu_of_worker():
            return run_task(place, job_id, kind, number, task, sent)
    job, how = _prepare(place, job_id, kind)
    splitting.SENT.clear()
    if number is None:
        with contextlib.nullcontext() if job is None else _mark_running(job, 0):
            return encode_json([task] if how.split is None else list(how.split(task)))
    if job is None:
        if how.needs is None or not {fingerprint(*name) for name in how.needs(task)} <= sent.keys():
            return None
        splitting.SENT.update(sent)
        return encode_json(how.run(task, lambda *_: None, _is_dropped))
    with _mark_running(job, number) as progress:
        if job.cancel_flag.exists():
            raise Cancelled("the job was cancelled.")
        return encode_json(how.run(task, progress, job.cancel_flag.exists))


@contextlib.contextmanager
def _gpu_of_worker() -> Iterator[None]:
    try:
        with on_gpu():
            yield
    except MachineError as error:
        raise JobError(
            f"{_name_of_worker()} offers GPU=1 and has none to train on ({error}). Start it without"
            " --resources, or with PILLAR_DEVICE=cpu to rehearse on its CPU."
        ) from error


def _name_of_worker() -> str:
    return f"the worker on {platform.node() or 'another machine'}"


def _prepare(place: Place, job_id: str, kind: str) -> tuple[Job | None, JobKind]:
    """The job's files, None where this process keeps its cache elsewhere or does not see them; and
    what the job does.

    Raises JobError: elsewhere, with other code, or for a kind that needs the job's cache.
    """
    modules, root, source = place
    jobs_kinds.load(modules)
    if (
        "torch" in sys.modules
    ):  # two threads that contend for a busy core are ten times slower than one
        sys.modules["torch"].set_num_threads(1)
    how = jobs_kinds.JOB_KINDS[kind]
    job = Folder(Path(root)).job(job_id)
    cache = os.environ.get("PILLAR_CACHE") or root
    if job.folder.is_dir() and Path(cache).expanduser().absolute() == Path(root):
        os.environ["PILLAR_CACHE"] = root
        return job, how
    where = _name_of_worker()
    if how.needs is None:
        raise JobError(
            f"{where} keeps its cache in {cache} and sees no job {job_id} in {root}: two caches"
            " cannot share a job of this kind. Start the worker with the same PILLAR_CACHE, a"
            " folder on a disk that both machines see."
        )
    if versions.made_with()["source"] != source:
        raise JobError(
            f"{where} runs other code of this library than {root} was asked with: install the same"
            " version there."
        )
    return None, how


def _is_dropped() -> bool:
    """Whether the scheduler takes no interest any more in what this thread computes."""
    from distributed import get_worker  # only workers have it loaded

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


@contextlib.contextmanager
def _mark_running(job: Job, number: int) -> Iterator[Progress]:
    """Leave a file while the task runs: which process has it, and how far it is."""
    from distributed import get_worker  # only workers have it loaded

    mark = job.running_folder / str(number)
    about: Form = {
        "worker": str(get_worker().address),
        "pid": os.getpid(),
        "since": time.time(),
    }
    written = 0.0

    def progress(done: int, total: int, message: str = "") -> None:
        nonlocal written
        if time.monotonic() - written > _PROGRESS_SECONDS or done >= total:
            written = time.monotonic()
            replace(
                mark,
                json.dumps(
                    about | {"done": int(done), "total": int(total), "message": str(message)}
                ).encode(),
            )

    with contextlib.suppress(FileNotFoundError):
        mark.write_bytes(json.dumps(about).encode())
    try:
        yield progress
    finally:
        mark.unlink(missing_ok=True)


Outcome = bytes | Exception | None
"""What a task gave as JSON; None where it was lost or lacks features, an error where these could
not be sent."""

_CONNECT_SECONDS = 10
_ALONE_SECONDS = 120.0
"""How long our own processes may take to replace dead ones: a start that fails is one that Dask
never tries again."""
_CONFIG = {
    # A task that holds the interpreter's lock for minutes is busy, not dead.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 3,
    # Dask gives a dead worker up for good after 15 s; on a busy machine it takes longer to return.
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.scheduler.worker-saturation": (
        1.0
    ),  # no task waits at a worker while one that matters more comes
    "distributed.admin.tick.limit": "30s",
    # Dask's 20 and 500 ms took a tenth of a core from a machine whose workers compute.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.large-graph-warning-threshold": (  # features travel as content of a task
        "1TB"
    ),
    # Dask's 65,536 bytes give each array back to the system and fault its pages in anew.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


class Engine:
    """Sends tasks to worker processes and tells which ended. `place` is "local" or the scheduler's
    address."""

    def __init__(self, root: Path) -> None:
        """Start or join the workers. Raises JobError: the scheduler at PILLAR_SCHEDULER does not
        answer."""
        self._root = root
        self._modules = jobs_kinds.modules()
        self._finished: queue.SimpleQueue[tuple[Future, Outcome]] = queue.SimpleQueue()
        self._sent: dict[str, Future] = {}
        self._cluster: LocalCluster | None = None
        self._met = time.monotonic()
        dask.config.set(_CONFIG)
        address = os.environ.get(jobs_kinds.SCHEDULER_VARIABLE, "")
        try:
            self._client = (
                Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
                if address
                else self._start()
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise JobError(
                f"the scheduler at {address} did not answer ({error}); start it, or unset"
                f" {jobs_kinds.SCHEDULER_VARIABLE}."
                if address
                else f"the worker processes did not start ({error})."
            ) from error
        self.place = address or "local"

    @property
    def alive(self) -> bool:
        """Whether the scheduler can still be reached, and has met a worker of our own lately."""
        is_alone = self._cluster is not None and time.monotonic() - self._met > _ALONE_SECONDS
        return self._client.status == "running" and not is_alone

    def meet(self) -> tuple[int, str]:
        """Worker threads there are now, at least one, and what to do where a cluster has none; to
        be asked now and then, so that `alive` knows."""
        workers = self._workers()
        if workers:
            self._met = time.monotonic()
        is_empty = not workers and self._cluster is None
        advice = f"no worker is connected; start `dask worker {self.place} --nthreads 1`"
        n_threads = sum(int(worker["nthreads"]) for worker in workers.values())
        return max(1, n_threads), advice if is_empty else ""

    def missing(self, resources: Mapping[str, float]) -> str:
        """What no worker offers of `resources`, in words; empty when one offers all of it."""
        offers = [worker.get("resources", {}) for worker in self._workers().values()]
        if not resources or any(
            all(offer.get(name, 0) >= amount for name, amount in resources.items())
            for offer in offers
        ):
            return ""
        return (
            f"no worker offers {dict(resources)}; the {len(offers)} workers of {self.place} offer"
            f" {offers}"
        )

    def run(
        self,
        job_id: str,
        kind: str,
        number: int | None,
        task: Values,
        resources: Mapping[str, float],
    ) -> Future:
        """One task, to come, or without a number the job's list of tasks. Low numbers go first, so
        that jobs which run side by side take turns."""
        needs_of = jobs_kinds.JOB_KINDS[kind].needs
        needs = (
            {}
            if self._cluster is not None or needs_of is None or number is None
            else {fingerprint(*name): name for name in needs_of(task)}
        )
        future = self._client.submit(
            run_task,
            (self._modules, str(self._root), versions.made_with()["source"]),
            job_id,
            kind,
            number,
            task,
            {key: self._sent[key] for key in needs if key in self._sent},
            "GPU" in resources and number is not None,
            key=f"{job_id}-{number}-{os.urandom(4).hex()}",
            pure=False,
            resources=dict(resources) or None,
            priority=1 if number is None else -number,
        )
        future.add_done_callback(functools.partial(self._receive, needs))
        return future

    def collect(self, seconds: float) -> list[tuple[Future, Outcome]]:
        """Futures that finished, waiting up to `seconds` for the first one, and what came with
        each."""
        try:
            futures = [self._finished.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._finished.empty():
            futures.append(self._finished.get())
        return futures

    def forget_features(self) -> None:
        """Have the cluster drop what was sent to it."""
        self._sent.clear()

    def stop(self, futures: Sequence[Future], marks: Sequence[Values]) -> None:
        """Forget `futures` and replace the processes that, as `marks` say, still compute them."""
        self._client.cancel(list(futures), force=True)
        if self._cluster is not None:
            own = {nanny.pid for nanny in self._cluster.workers.values()}
            for pid in own & {mark.get("pid") for mark in marks}:
                os.kill(pid, signal.SIGKILL)
            return
        addresses = [mark["worker"] for mark in marks if mark.get("worker") in self._workers()]
        if addresses:
            self._client.restart_workers(addresses, timeout=_CONNECT_SECONDS, raise_for_error=False)

    def close(self) -> None:
        """End the workers; those of a real cluster stay."""
        self._client.close(timeout=2)
        if self._cluster is not None:
            self._cluster.close(timeout=5)

    def _receive(self, needs: Mapping[str, jobs_kinds.Asked], future: Future) -> None:
        """Fetch what a worker gave, or send it the features that it lacks; in Dask's thread, so
        that nobody else waits."""
        outcome: Outcome = None
        lacks_features = False
        try:
            if future.status == "finished":
                with contextlib.suppress(
                    CancelledError, OSError, Cancelled, KilledWorker
                ):  # lost on the way: the task runs again
                    outcome = future.result()
                    lacks_features = outcome is None
            if lacks_features:  # they go as a task whose input the scheduler keeps if a worker dies
                for key in needs.keys() - self._sent.keys():
                    features = splitting.load_named_features(*needs[key])
                    self._sent[key] = self._client.submit(
                        copy.copy, features, key=f"features-{features.fingerprint}"
                    )
        except (PillarError, OSError, ImportError) as error:
            outcome = error
        finally:
            self._finished.put((future, outcome))

    def _start(self) -> Client:
        has_gpu = os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1") and bool(
            glob.glob("/dev/nvidia[0-9]*")
        )
        self._cluster = LocalCluster(
            n_workers=min(2, os.cpu_count() or 1),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # None would take port 8787, which another cluster may hold
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            scheduler_kwargs={"dashboard": False},
            local_directory=str(self._root / "jobs" / "scratch"),
            # Mapped features count as memory; a limit would pause the workers for good.
            memory_limit=0,
            resources={"GPU": 1} if has_gpu else None,
            # Without TLS, every user of this machine could send work to a loopback port.
            security=Security.temporary() if importlib.util.find_spec("cryptography") else None,
        )
        return Client(self._cluster, set_as_default=False)

    def _workers(self) -> dict[str, Form]:
        try:
            return dict(self._client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError):
            return {}  # the scheduler has gone; `alive` says so and the jobs process reconnects
