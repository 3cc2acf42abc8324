"""Seconds from a move to its result with many visitors at one server: `python benchmarks/visitors.py [visitors] [minutes] [seeds]`.

The server is `pillar-explorer --demo` on an empty cache with the starter; visitors are websocket clients on the same cores, without a
browser, on Explore. Each thinks 2 to 5 s, then moves k and ε: two moves of three go to a run of the starter, the third to one that nobody
trained; with `seeds` as third argument to one of a new seed, whose split and curves nobody has, either. Printed are medians, 95th
percentiles, the server's CPU time, errors, and its memory at the end of each tenth of the time.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import tornado.websocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from pages.frame.settings import EPSILONS  # noqa: E402 - the repository need not be installed
from pillar_core.runs.starter import HERO_EPSILONS, HERO_K, SHARED  # noqa: E402

DATASET, ERROR = SHARED["dataset"], b"met an error that nobody foresaw"
Move = tuple[int, float, int]


async def visit(port: int, number: int, end: float, times: dict[str, list[float]], errors: list[str], untrained: Iterator[Move]) -> None:
    """One person: a first page, then a move after each thought."""
    draw = random.Random(number)
    await asyncio.sleep(draw.uniform(0, 5))
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    connection = await tornado.websocket.websocket_connect(address, subprotocols=["streamlit"], max_message_size=2**28)
    kind = "first"
    while time.monotonic() < end:
        k, epsilon, seed = next(untrained) if kind == "new" else (draw.choice(HERO_K), draw.choice(HERO_EPSILONS), 0)
        ask = BackMsg()
        ask.rerun_script.query_string = f"data={DATASET}&epsilon={epsilon}&k={k}&seed={seed}"
        ask.rerun_script.page_name = "explore"
        started = time.monotonic()
        await connection.write_message(ask.SerializeToString(), binary=True)
        while True:
            content = await connection.read_message()
            if content is None:
                errors.append("the connection closed")
                return
            if ERROR in content:
                errors.append("an error on the page")
            message = ForwardMsg.FromString(content)
            if message.WhichOneof("type") == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    break  # else the script asked for another run, which follows
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    errors.append("the app cannot be compiled")
                    break
        times.setdefault(kind, []).append(time.monotonic() - started)
        kind = "new" if draw.random() < 1 / 3 else "known"
        await asyncio.sleep(draw.uniform(2, 5))


async def memory(server: psutil.Process, end: float, seen: list[float]) -> None:
    """The server's resident memory in MB, ten times."""
    pause = (end - time.monotonic()) / 10
    while time.monotonic() < end - pause / 2:
        await asyncio.sleep(pause)
        seen.append(server.memory_info().rss / 1e6)


def moves_untrained(*, has_new_seeds: bool) -> Iterator[Move]:
    """k, ε and seed of runs that the starter lacks, none twice; a server that ran out of them would answer from its cache."""
    draw = random.Random(0)
    if has_new_seeds:
        yield from ((draw.randrange(3, 200), draw.choice(HERO_EPSILONS), seed) for seed in range(5, 10**6))
    moves = [(k, epsilon, 0) for k in range(3, 200) if k not in HERO_K for epsilon in EPSILONS]
    draw.shuffle(moves)
    yield from moves


async def measure(visitors: int, minutes: float, *, has_new_seeds: bool) -> None:
    """Starts the server, lets the visitors come, and prints."""
    with socket.socket() as probe, tempfile.TemporaryDirectory() as cache:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        program = "from pillar_core.explorer import main; main()"
        command = [sys.executable, "-c", program, "--demo", "--headless", "--port", str(port), "--cache", cache]
        with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL) as process:
            try:
                while not answers(port):
                    await asyncio.sleep(0.2)
                end = time.monotonic() + 60 * minutes
                times: dict[str, list[float]] = {}
                errors: list[str] = []
                seen: list[float] = []
                untrained = moves_untrained(has_new_seeds=has_new_seeds)
                visits = [visit(port, number, end, times, errors, untrained) for number in range(visitors)]
                server = psutil.Process(process.pid)
                await asyncio.gather(*visits, memory(server, end, seen))
                worked = sum(server.cpu_times()[:2])
            finally:
                process.terminate()
    moves = [seconds for kind in ("known", "new") for seconds in times.get(kind, [])]
    for name, values in {**times, "all moves": moves}.items():
        high = statistics.quantiles(values, n=20)[-1] if len(values) > 1 else float("nan")
        print(f"{name:<10} {len(values):5} median {statistics.median(values):5.2f} s   95 % below {high:5.2f} s")
    print(f"server: {worked / len(moves):.3f} CPU seconds a move; memory in MB: {' '.join(f'{size:.0f}' for size in seen)}")
    print(f"errors: {len(errors)} {sorted(set(errors))}")


def answers(port: int) -> bool:
    """Whether the server is up."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


if __name__ == "__main__":
    given = [*sys.argv[1:], *("10", "10")[len(sys.argv) - 1 :]]
    asyncio.run(measure(int(given[0]), float(given[1]), has_new_seeds="seeds" in given[2:]))
