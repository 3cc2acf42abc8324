"""TorchScript and ONNX files run in a process that can compute and nothing else, and that nothing is believed from but numbers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from pillar_core.backbones import confined, devices, extract, programs
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.errors import DataError, SettingError
from pillar_core.types import Dataset

REPOSITORY = Path(__file__).resolve().parents[3]

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # torch announces that TorchScript will go
    pytest.mark.skipif(bool(confined.missing()), reason=f"no process can be confined here: {confined.missing()}"),
]

SECRET = np.arange(8, dtype=np.float32) + 1000


class _Reads(torch.nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.from_file(self.path, False, 8).expand(x.shape[0], 8)


class _Writes(_Reads):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        written = torch.from_file(self.path, True, 8).fill_(1.0)
        return x.mean(dim=[2, 3]) + written[0]


class _Hoards(torch.nn.Module):
    """Takes 64 GB with more than one image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=[2, 3]) + torch.zeros([(x.shape[0] - 1) * 16_000_000_000 // 5]).sum()


class _Convolves(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(64, 32, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(programs.UNCONFINED, raising=False)


def _images(n: int = 6) -> Dataset:
    return Dataset("noise", np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8), np.arange(n) % 2)


def _saved(network: torch.nn.Module, tmp_path: Path) -> str:
    torch.jit.script(network.eval()).save(tmp_path / "program.pt")
    return f"torchscript:{tmp_path / 'program.pt'}?input_size=32"


def _features(name: str, n: int = 6) -> np.ndarray:
    return extract(_images(n), backbone=name, device="cpu", trust_program=True)[0]


@pytest.mark.parametrize("attack", [_Reads, _Writes])
def test_a_program_reaches_no_file(attack: type[_Reads], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET.tobytes())
    name = _saved(attack(str(secret)), tmp_path)
    with pytest.raises(DataError, match="no file but its own"):
        _features(name)
    assert secret.read_bytes() == SECRET.tobytes()
    monkeypatch.setenv(programs.UNCONFINED, "1")
    found = _features(name)
    assert (found == SECRET).all() if attack is _Reads else secret.read_bytes() != SECRET.tobytes(), "the attack is none"


def test_a_program_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file but its own"):
        _features(_saved(_Writes(str(tmp_path / "new")), tmp_path))
    assert not (tmp_path / "new").exists()


REACHES = """
    import ctypes, fcntl, mmap, os, runpy, signal, socket, subprocess, sys, threading
    victim, readable, port = sys.argv[2:]
    runpy.run_path(sys.argv[1])["confine"]([readable], memory=1 << 31)
    udp = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(port)))
    attacks = dict(
        connect=lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=5), udp=udp, pair=socket.socketpair,
        read=lambda: open(victim).read(), write=lambda: open(victim, "w"), own=lambda: open(readable, "a"),
        truncate=lambda: os.truncate(victim, 0), remove=lambda: os.remove(victim), rename=lambda: os.rename(victim, victim + "2"),
        mode=lambda: os.chmod(victim, 0o777), times=lambda: os.utime(victim), list=lambda: os.listdir(os.path.dirname(victim)),
        folder=lambda: os.mkdir(victim + "3"), link=lambda: os.symlink("/", victim + "4"), run=lambda: os.execv("/bin/true", ["true"]),
        fork=os.fork, start=lambda: subprocess.run(["/bin/true"]), signal=lambda: os.kill(1, 0),
        environment=lambda: open("/proc/1/environ").read(), memory=lambda: open("/proc/self/mem", "r+b"),
        signal_by_pipe=lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid()), which_signal=lambda: fcntl.fcntl(1, 10, signal.SIGKILL),
        uncounted=lambda: mmap.mmap(-1, 4096), growing=lambda: mmap.mmap(-1, 4096, flags=0x122),
    )
    for name, attack in attacks.items():
        try:
            attack()
        except PermissionError:
            continue
        print("reached", name)
    thread = threading.Thread(target=lambda: print("thread", open(readable).read()))
    thread.start()
    thread.join()
    os.write(1, b"" if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1 else b"reached ptrace")
    os.write(1, b"" if ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == -1 else b"outlives its parent")
"""


def test_a_confined_process_reaches_nothing_but_what_it_may_read(tmp_path: Path) -> None:
    for name in ("victim", "readable"):
        (tmp_path / name).write_text(name)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        arguments = [confined.__file__, str(tmp_path / "victim"), str(tmp_path / "readable"), str(server.getsockname()[1])]
        command = [sys.executable, "-I", "-u", "-c", textwrap.dedent(REACHES), *arguments]
        found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (found.stdout, found.stderr, found.returncode) == ("thread readable\n", "", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["readable", "victim"]
    assert (tmp_path / "victim").read_text() == "victim"


@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_features_are_those_of_the_same_network_in_this_process(tmp_path: Path, precision: str) -> None:
    torch.manual_seed(0)
    name = f"{_saved(_Convolves(), tmp_path)}&precision={precision}"
    network = torch.jit.load(str(tmp_path / "program.pt"))
    here = devices.encoder(network, IMAGENET.changed({"input_size": "32"}), device="cpu", precision=precision)
    np.testing.assert_array_equal(_features(name), here.encode(_images().x_train))


def test_memory_is_bounded_and_fewer_images_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MEMORY_SHARE", (1 << 30) / (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    train, _, notes = extract(_images(2), backbone=_saved(_Hoards(), tmp_path), device="cpu", trust_program=True)
    assert np.isfinite(train).all()
    assert "halved to 1 images" in notes[-1]


def _played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> str:
    """The name of a program whose process is `script`; it may use `say(bytes)` and `hear()`."""
    head = "import os, sys, time\nsay = lambda content: (sys.stdout.buffer.write(content), sys.stdout.buffer.flush())\n"
    head += f"hear = lambda: (sys.stdin.buffer.readline(), sys.stdin.buffer.read({6 * 3 * 32 * 32 * 4}))\n"
    (tmp_path / "process.py").write_text(f"{head}{script}\n")
    monkeypatch.setattr(confined, "__file__", str(tmp_path / "process.py"))
    (tmp_path / "program.pt").write_bytes(b"")
    return f"torchscript:{tmp_path / 'program.pt'}?input_size=32"


OPENED = r"""say(b'{"opened": {"batch": 0, "size": "x"}}\n'); hear(); """


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "ended with status 0"),
        ("os.kill(os.getpid(), 9)", "killed"),
        (r"say(b'no json\n'); time.sleep(60)", "no array"),
        (r"say(b'[' * 4000 + b'\n'); time.sleep(60)", "no array"),
        (r"say(b'{' * 9999); time.sleep(60)", "no array"),
        (r"""say(b'{"failed": "a\\u001b[31mb"}\n'); time.sleep(60)""", r"\(a \[31mb\)"),
        (OPENED + r"say(b'{}\n'); time.sleep(60)", "no array"),
        (OPENED + r"""say(b'{"shape": [6, true]}\n'); time.sleep(60)""", "no array"),
        (OPENED + r"""say(b'{"shape": [6, -1]}\n'); time.sleep(60)""", "no array"),
        (OPENED + r"""say(b'{"shape": [6, 1e3]}\n'); time.sleep(60)""", "no array"),
        (OPENED + r"""say(b'{"shape": [6, 99999999999]}\n'); time.sleep(60)""", "599,999,999,994 numbers"),
        (OPENED + r"""say(b'{"shape": [0, 99999999999]}\n'); time.sleep(60)""", "answers with"),
        (OPENED + r"""say(b'{"shape": [6' + b', 1' * 99 + b']}\n' + b'x' * 24); time.sleep(60)""", "no array"),
        (OPENED + r"""say(b'{"shape": [5, 2]}\n' + b'x' * 40); time.sleep(60)""", "one row"),
        (OPENED + r"""say(b'{"shape": [6]}\n' + b'x' * 24); time.sleep(60)""", "one row"),
        (OPENED + r"""say(b'{"shape": [6, 2]}\n' + b'x' * 40)""", "ended with status"),
        (OPENED + r"""say(b'{"shape": [6, 1]}\n' + b'\xff' * 24); hear(); say(b'{"shape": [6, 1]}\n' + b'\xff' * 24)""", "beside other"),
    ],
)  # fmt: skip
def test_nothing_is_believed_of_a_process(script: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = _played(monkeypatch, tmp_path, script)
    with pytest.raises(DataError, match=says):
        _features(name)


@pytest.mark.parametrize("script", ["time.sleep(600)", OPENED + "time.sleep(600)", r"""say(b'{"opened": {}}\n'); time.sleep(600)"""])
def test_a_silent_process_is_ended(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PATIENCE_SECONDS", 3.0)
    with pytest.raises(DataError, match="3 seconds without an answer"):
        _features(_played(monkeypatch, tmp_path, script))


@pytest.mark.parametrize("is_confined", [True, False])
def test_a_program_ends_with_the_process_that_asked_for_it(is_confined: bool, tmp_path: Path) -> None:
    """A worker that is killed takes its program along: nothing else would end it."""
    code = f"""
    import os, pathlib, threading
    from pillar_core.backbones.programs import Program
    program = Program(pathlib.Path({str(tmp_path / "reads.pt")!r}), family="torchscript", device="cpu", is_mixed=False)
    print(program._process.pid, flush=True)
    os.kill(os.getpid(), 9)
    """
    torch.jit.script(_Convolves()).save(str(tmp_path / "reads.pt"))
    environment = os.environ | ({} if is_confined else {programs.UNCONFINED: "1"})
    command = [sys.executable, "-c", textwrap.dedent(code)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, cwd=REPOSITORY)
    program = Path(f"/proc/{found.stdout.strip()}")
    assert program.name.isdecimal(), found.stderr
    while program.exists() and "State:\tZ" not in (program / "status").read_text():
        time.sleep(0.1)


def test_where_nothing_confines_somebody_must_insist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "missing", lambda: "plan9 has neither")
    name = _saved(_Convolves(), tmp_path)
    with pytest.raises(SettingError, match=r"plan9 has neither.*PILLAR_UNCONFINED_PROGRAMS=1"):
        _features(name)
    monkeypatch.setenv(programs.UNCONFINED, "1")
    assert _features(name).shape == (6, 32)


def test_a_confined_program_stays_on_the_processor(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"")
    with pytest.raises(SettingError, match="device must be cpu"):
        programs.Program(tmp_path / "a.pt", family="torchscript", device="cuda", is_mixed=False)


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_say_what_they_lack(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert system in confined.missing.__wrapped__()
