"""Places on this machine that you typed, kept for the next visit."""

import contextlib

import pillar_core as pc
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint


def place(what: str) -> str:
    """The place that you last named for `what`, "" where there is none."""
    kept = pc.store.default().get_bytes(_key(what))
    return "" if kept is None else kept.decode()


def keep(what: str, typed: str) -> None:
    """Remembers it; a disk that refuses costs the memory alone."""
    if typed != place(what):
        with contextlib.suppress(StoreError):
            pc.store.default().delete("blob", _key(what))
            pc.store.default().put_bytes(_key(what), typed.encode())


def _key(what: str) -> str:
    return f"place-{fingerprint(what)}"
