"""Seconds from a move to its result with many visitors at one server: `python
benchmarks/visitors.py [visitors] [minutes] [seeds|hurry]`.

The server is `pillar-explorer --demo` on an empty cache with the starter; visitors are websocket
clients on the same cores, without a browser, on Curves. Each thinks 2 to 5 s, then moves k and ε:
two moves of three go to a run of the starter, the third to one that nobody trained; with `seeds` as
third argument to one of a new seed, whose split and curves nobody has, either. Printed are medians,
95th percentiles, the server's CPU time, errors, and its memory at the end of each tenth of the
time.

With `hurry` nobody waits for an answer, and every move goes to a new seed: half of the visitors
move every 0.3 s, the others leave 0.3 s after their move and come anew. Whoever came before, the
end is a fresh visit to a run that nobody trained: it fails without an answer.
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
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import tornado.websocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from pages.frame.settings import EPSILONS  # noqa: E402 - the repository need not be installed
from pillar_core.runs.starter import HERO_EPSILONS, HERO_K, SHARED  # noqa: E402

DATASET = SHARED["dataset"]
SIGNS = {
    b"met an error that nobody foresaw": "an error on the page",
    b"You have used your": "a visitor's seconds are used up",
    b"Other visitors have used": "the seconds of all are used up",
}
Move = tuple[int, float, int]


async def open_tab(
    port: int, read: Callable[[str | bytes | None], None] | None = None
) -> tornado.websocket.WebSocketClientConnection:
    """A connection to the server; `read` gets what comes, else `answered` reads it."""
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    options = {"subprotocols": ["streamlit"], "max_message_size": 2**28, "connect_timeout": 120}
    return await tornado.websocket.websocket_connect(address, on_message_callback=read, **options)


async def send(connection: tornado.websocket.WebSocketClientConnection, move: Move) -> None:
    """Asks for Curves at this k, ε and seed."""
    k, epsilon, seed = move
    ask = BackMsg()
    ask.rerun_script.query_string = f"data={DATASET}&epsilon={epsilon}&k={k}&seed={seed}"
    ask.rerun_script.page_name = "curves"
    await connection.write_message(ask.SerializeToString(), binary=True)


async def answered(
    connection: tornado.websocket.WebSocketClientConnection, errors: list[str]
) -> bool:
    """Whether the page came to its end, and not the connection."""
    while True:
        content = await connection.read_message()
        if content is None:
            errors.append("the connection closed")
            return False
        errors += [words for sign, words in SIGNS.items() if sign in content]
        message = ForwardMsg.FromString(content)
        if message.WhichOneof("type") == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return True  # else the script asked for another run, which follows
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                errors.append("the app cannot be compiled")
                return True


async def visit(
    port: int,
    number: int,
    end: float,
    times: dict[str, list[float]],
    errors: list[str],
    untrained: Iterator[Move],
) -> None:
    """One person: a first page, then a move after each thought."""
    draw = random.Random(number)
    await asyncio.sleep(draw.uniform(0, 5))
    connection = await open_tab(port)
    kind = "first"
    while time.monotonic() < end:
        started = time.monotonic()
        await send(
            connection,
            (
                next(untrained)
                if kind == "new"
                else (draw.choice(HERO_K), draw.choice(HERO_EPSILONS), 0)
            ),
        )
        if not await answered(connection, errors):
            return
        times.setdefault(kind, []).append(time.monotonic() - started)
        kind = "new" if draw.random() < 1 / 3 else "known"
        await asyncio.sleep(draw.uniform(2, 5))


async def hurry(
    port: int, end: float, errors: list[str], untrained: Iterator[Move], *, leaves: bool
) -> int:
    """The moves of one person who waits for no answer: on to the next in 0.3 s, or out of the door
    and in again."""

    def read(content: str | bytes | None) -> None:
        if isinstance(content, bytes):
            errors.extend(words for sign, words in SIGNS.items() if sign in content)

    count, connection = 0, await open_tab(port, read)
    while time.monotonic() < end:
        await send(connection, next(untrained))
        count += 1
        await asyncio.sleep(0.3)
        if leaves:
            connection.close()
            connection = await open_tab(port, read)
    connection.close()
    return count


async def last_visit(port: int, move: Move) -> bool:
    """Whether somebody who comes when all are gone has a run trained, and the server then says that
    it is ready."""
    started, errors = time.monotonic(), list[str]()
    connection = await open_tab(port)
    await send(connection, move)
    try:
        is_answered = await asyncio.wait_for(answered(connection, errors), 120)
    except TimeoutError:
        is_answered = False
    is_ready = answers(port, "ready")
    words = (
        f"{'answered' if is_answered else 'NO ANSWER'} after {time.monotonic() - started:.2f} s"
        f" {errors}"
    )
    print(f"fresh visit: {words}, {'ready' if is_ready else 'NOT READY'}")
    return is_answered and is_ready and not errors


async def memory(server: psutil.Process, end: float, seen: list[float]) -> None:
    """The server's resident memory in MB, ten times."""
    pause = (end - time.monotonic()) / 10
    while time.monotonic() < end - pause / 2:
        await asyncio.sleep(pause)
        seen.append(server.memory_info().rss / 1e6)


def moves_untrained(*, has_new_seeds: bool) -> Iterator[Move]:
    """k, ε and seed of runs that the starter lacks, none twice; a server that ran out of them would
    answer from its cache."""
    draw = random.Random(0)
    if has_new_seeds:
        yield from (
            (draw.randrange(3, 200), draw.choice(HERO_EPSILONS), seed) for seed in range(5, 10**6)
        )
    moves = [(k, epsilon, 0) for k in range(3, 200) if k not in HERO_K for epsilon in EPSILONS]
    draw.shuffle(moves)
    yield from moves


async def measure(visitors: int, minutes: float, *, has_new_seeds: bool, is_hurried: bool) -> bool:
    """Starts the server, lets the visitors come, and prints; whether it then computes for a fresh
    visit."""
    with socket.socket() as probe, tempfile.TemporaryDirectory() as cache:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        program = "from pillar_core.explorer import main; main()"
        command = [
            sys.executable,
            "-c",
            program,
            "--demo",
            "--headless",
            "--port",
            str(port),
            "--cache",
            cache,
        ]
        with subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL
        ) as process:
            try:
                while not answers(port):
                    await asyncio.sleep(0.2)
                end = time.monotonic() + 60 * minutes
                times: dict[str, list[float]] = {}
                errors: list[str] = []
                seen: list[float] = []
                untrained = moves_untrained(has_new_seeds=has_new_seeds or is_hurried)
                server = psutil.Process(process.pid)
                if is_hurried:
                    hurries = [
                        hurry(port, end, errors, untrained, leaves=number % 2 == 1)
                        for number in range(visitors)
                    ]
                    counts = await asyncio.gather(*hurries, memory(server, end, seen))
                    print(f"moves without a wait: {sum(counts[:-1])}")
                else:
                    visits = [
                        visit(port, number, end, times, errors, untrained)
                        for number in range(visitors)
                    ]
                    await asyncio.gather(*visits, memory(server, end, seen))
                worked = sum(server.cpu_times()[:2])
                is_well = await last_visit(port, next(untrained))
            finally:
                process.terminate()
    moves = [seconds for kind in ("known", "new") for seconds in times.get(kind, [])]
    for name, values in {**times, **({"all moves": moves} if moves else {})}.items():
        high = statistics.quantiles(values, n=20)[-1] if len(values) > 1 else float("nan")
        print(
            f"{name:<10} {len(values):5} median {statistics.median(values):5.2f} s   95 % below"
            f" {high:5.2f} s"
        )
    a_move = f", {worked / len(moves):.3f} a move" if moves else ""
    print(
        f"server: {worked:.0f} CPU seconds{a_move}; memory in MB:"
        f" {' '.join(f'{size:.0f}' for size in seen)}"
    )
    print(f"errors: {len(errors)} {sorted(set(errors))}")
    return is_well


def answers(port: int, place: str = "_stcore/health") -> bool:
    """Whether the server is up, or `ready`."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{place}", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


if __name__ == "__main__":
    given = [*sys.argv[1:], *("10", "10")[len(sys.argv) - 1 :]]
    wishes = {"has_new_seeds": "seeds" in given[2:], "is_hurried": "hurry" in given[2:]}
    sys.exit(not asyncio.run(measure(int(given[0]), float(given[1]), **wishes)))
