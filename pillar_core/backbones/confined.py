"""The process in which a TorchScript or ONNX file runs: it can compute and nothing else. Started as a script, it imports none of us.

Landlock (Linux 5.13) takes the files away, all but the interpreter's libraries and the program's own file, and a filter of system calls
(seccomp) everything that is not in `_CALLS`: network, other processes, writing of any kind. Neither needs a privilege, and nothing that
runs in the process can undo them. Whether a file exists and how large it is stays visible.
"""

import ctypes
import errno
import functools
import importlib
import json
import math
import os
import platform
import socket
import struct
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable
from typing import Any

_CALLS = {
    "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mprotect": 10, "munmap": 11,
    "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "readv": 19, "writev": 20,
    "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63,
    "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrusage": 98, "sysinfo": 99, "getuid": 102, "getgid": 104,
    "geteuid": 107, "getegid": 108, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "futex": 202,
    "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "get_mempolicy": 239, "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "ppoll": 271,
    "set_robust_list": 273, "getcpu": 309, "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "faccessat2": 439,
}  # fmt: skip
"""What a computing process asks of Linux on x86_64."""
_COMMANDS = {72: (1, (0, 1, 2, 3, 4, 1030)), 157: (0, (15, 16))}
"""Calls of which an argument says what they do (its place, what it may be): fcntl copies descriptors and tells of them, but asks for no
signals, which would reach other processes; prctl names threads, but does not undo what `confine` set."""
_MAP, _SHARED_MEMORY, _GROWS_DOWN = 9, 0x21, 0x100
"""Memory without a file that processes share counts toward no limit."""
_MACHINE, _FILTER, _OPEN, _CLONE, _CLONE_ANEW = 0xC000003E, 317, 257, 56, 435
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Kinds of access to files that a version of Landlock governs; later ones 16."""
_READ_FILE, _READ_FOLDER = 0b0100, 0b1000
_THREAD, _WRITING = 0x10000, os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom")


@functools.cache
def missing() -> str:
    """Why no process can be confined here, in words; "" where one can."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has neither Landlock nor seccomp"
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:
        return f"its system calls are known for 64-bit x86_64, and this is {platform.machine()}"
    if _landlock_version() < 1:
        return "this kernel offers no Landlock (Linux 5.13 or later, switched on)"
    refuse = ctypes.c_uint32(_REFUSE)
    if _libc().syscall(_FILTER, 2, 0, ctypes.byref(refuse)):
        return "this kernel filters no system calls (seccomp)"
    return ""


def confine(readable: Iterable[str], *, memory: int) -> None:
    """Goes on in a child of this process that has given up, for good, what the module's first lines say; this one waits for its end.

    A child, because it has one thread, whatever libraries have started here: Landlock holds for that one and those that it starts. It may
    hold `memory` bytes of data.

    Raises:
        OSError: it cannot be, or files, the network or processes can still be reached.
    """
    import resource

    if reason := missing():
        raise OSError(reason)
    if child := os.fork():
        os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    for limit, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, memory)):
        resource.setrlimit(limit, (most, most))
    _call("prctl", 38, 1, 0, 0, 0)  # no new privileges, which Landlock and seccomp ask for
    _call("prctl", 1, 9, 0, 0, 0)  # killed when its parent ends
    paths = sysconfig.get_paths()
    python_folders = (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    _give_up_files([*python_folders, f"{sys.base_prefix}/lib", *_LIBRARIES, *readable])
    _give_up_calls()
    for reach in (lambda: os.open("/", os.O_RDONLY), lambda: os.open(os.devnull, os.O_RDWR), socket.socket, os.fork):
        try:
            reach()
        except PermissionError:
            continue
        raise OSError("files, the network or processes can still be reached")


def _give_up_files(readable: Iterable[str]) -> None:
    attributes = struct.pack("Q", (1 << _FILE_RIGHTS.get(_landlock_version(), 16)) - 1)
    rules = _call("syscall", _CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for place in readable:
        if os.path.exists(place):
            descriptor = os.open(place, os.O_PATH)
            rights = _READ_FILE | (_READ_FOLDER if os.path.isdir(place) else 0)
            _call("syscall", _ADD_RULE, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
            os.close(descriptor)
    _call("syscall", _RESTRICT_SELF, rules, 0)
    os.close(rules)


def _give_up_calls() -> None:
    refused = (_RETURN, 0, 0, _REFUSE | errno.EPERM)
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _MACHINE), refused, (_LOAD, 0, 0, 0)]
    for number in _CALLS.values():
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number, (place, values) in _COMMANDS.items():
        lines += [(_EQUAL, 0, 2 * len(values) + 2, number), (_LOAD, 0, 0, 16 + 8 * place)]
        for value in values:
            lines += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        lines += [refused]
    lines += [(_EQUAL, 0, 6, _MAP), (_LOAD, 0, 0, 40), (_ANY_BIT, 3, 0, _GROWS_DOWN), (_AND, 0, 0, _SHARED_MEMORY)]
    lines += [(_EQUAL, 1, 0, _SHARED_MEMORY), (_RETURN, 0, 0, _ALLOW), refused]
    # Absent rather than refused: the C library then starts threads by clone, whose flags can be read.
    lines += [(_EQUAL, 0, 1, _CLONE_ANEW), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    lines += [(_EQUAL, 0, 4, _CLONE), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _THREAD), (_RETURN, 0, 0, _ALLOW), refused]
    lines += [(_EQUAL, 0, 3, _OPEN), (_LOAD, 0, 0, 32), (_ANY_BIT, 1, 0, _WRITING), (_RETURN, 0, 0, _ALLOW), refused]
    held = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    _call("syscall", _FILTER, 1, 0, struct.pack("HxxxxxxP", len(lines), ctypes.addressof(held)))


def _landlock_version() -> int:
    return int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(function: str, *values: object) -> int:
    status = int(getattr(_libc(), function)(*values))
    if status < 0:
        raise OSError(ctypes.get_errno(), f"a process cannot be confined: {os.strerror(ctypes.get_errno())}")
    return status


def _serve() -> None:
    """Opens the program that the one argument describes and answers each batch of images, until there are none."""
    asked = json.loads(sys.argv[1])
    if sys.platform == "linux":
        _call("prctl", 1, 9, 0, 0, 0)  # killed when its parent ends, as the child that runs the program is when this ends
        if os.getppid() != asked["parent"]:
            os._exit(1)
    answers, requests = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # where a program prints

    def answer(content: bytes = b"", **about: object) -> None:
        answers.write(json.dumps(about).encode() + b"\n" + content)
        answers.flush()

    def failed(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None = None) -> None:
        answer(failed=f"{kind.__name__}: {(str(error).strip().splitlines() or [''])[-1][:300]}")

    def end(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        failed(kind, error)
        os._exit(1)

    sys.excepthook = end
    sys.path += asked["libraries"]
    import numpy as np

    importlib.import_module("torch" if asked["family"] == "torchscript" else "onnxruntime")
    if asked["is_confined"]:
        confine([asked["path"], *asked["libraries"]], memory=asked["memory"])
    run, facts = (_torchscript if asked["family"] == "torchscript" else _onnx)(asked)
    answer(opened=facts)
    while shape := json.loads(requests.readline() or "null"):
        images = np.frombuffer(bytearray(requests.read(4 * math.prod(shape))), np.float32).reshape(shape)
        try:
            features = np.ascontiguousarray(run(images), np.float32)
        except (RuntimeError, MemoryError) as error:
            failed(type(error), error)
        else:
            answer(features.tobytes(), shape=features.shape)
    os._exit(0)


def _torchscript(asked: dict[str, Any]) -> tuple[Callable[[Any], Any], dict[str, object]]:
    import torch

    torch.set_num_threads(asked["threads"])
    device = asked["device"]
    network = torch.jit.load(asked["path"], map_location=device).eval().to(memory_format=torch.channels_last)  # type: ignore[no-untyped-call]
    kind, is_mixed = (torch.float16 if device == "cuda" else torch.bfloat16), asked["is_mixed"]

    def run(images: Any) -> Any:
        prepared = torch.from_numpy(images).to(device).contiguous(memory_format=torch.channels_last)
        with (
            torch.inference_mode(),
            torch.autocast(device, dtype=kind, enabled=is_mixed),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=is_mixed),
        ):
            output = network(prepared)
            return (output.mean(dim=(2, 3)) if output.ndim == 4 else output).float().cpu().numpy()

    return run, {}


def _onnx(asked: dict[str, Any]) -> tuple[Callable[[Any], Any], dict[str, object]]:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = asked["threads"]
    settings.log_severity_level = 3
    wanted = ["CUDAExecutionProvider"] if asked["device"] == "cuda" else []
    providers = [name for name in (*wanted, "CPUExecutionProvider") if name in onnxruntime.get_available_providers()]
    session = onnxruntime.InferenceSession(asked["path"], settings, providers=providers)
    given, target = session.get_inputs()[0], session.get_outputs()[0].name
    facts: dict[str, object] = {
        name: value for name, value in (("size", given.shape[-1]), ("batch", given.shape[0])) if isinstance(value, int)
    }
    return lambda images: session.run([target], {given.name: images})[0], facts


if __name__ == "__main__":
    _serve()
