"""Places on this machine that you typed, kept for the next visit."""

import contextlib

import pillar_core as pc
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint


def place(purpose: str) -> str:
    """The place that you last named for `what`, "" where there is none."""
    content = pc.store.default().get_bytes(_key(purpose))
    return "" if content is None else content.decode()


def keep(purpose: str, typed: str) -> None:
    """Remembers it; a disk that refuses costs the memory alone."""
    if typed != place(purpose):
        with contextlib.suppress(StoreError):
            pc.store.default().delete("blob", _key(purpose))
            pc.store.default().put_bytes(_key(purpose), typed.encode())


def _key(purpose: str) -> str:
    return f"place-{fingerprint(purpose)}"
