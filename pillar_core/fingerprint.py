"""A canonical content hash: equal values hash equal on every machine, different types never collide
by accident."""

import dataclasses
import enum
import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

LENGTH = 32


def fingerprint(*values: object) -> str:
    """Hexadecimal digest (32 characters, SHA-256 truncated) of the values.

    Covers None, bool, int, float, str, bytes, enums, numpy arrays and scalars, tuples, lists,
    mappings with string keys, and dataclasses (the class's qualified name is part of the hash).

    Raises TypeError: a type that has no canonical form. ValueError: NaN, which equals nothing.
    """
    digest = hashlib.sha256()
    for value in values:
        _feed(digest, value)
    return digest.hexdigest()[:LENGTH]


def _feed(digest: "hashlib._Hash", value: Any) -> None:
    """Adds `value` to the digest. A grid has a hundred thousand plain values, so the exact built-in
    types come first."""
    plain = type(value)
    if plain is str:
        body = value.encode(errors="surrogatepass")
        digest.update(b"str:%d:%b" % (len(body), body))
    elif plain is int or plain is bool or value is None:
        _feed_tagged(digest, plain.__name__, str(value).encode())
    elif plain is float and value == value:
        _feed_tagged(digest, "float", value.hex().encode())
    elif plain is dict:
        _feed_tagged(digest, "mapping", b"%d" % len(value))
        for key in sorted(value):
            _feed(digest, key)
            _feed(digest, value[key])
    else:
        _feed_any(digest, value)


def _feed_any(digest: "hashlib._Hash", value: object) -> None:
    match value:
        case None | bool() | int() | str() | bytes() if not isinstance(value, enum.Enum):
            body = value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
            _feed_tagged(digest, type(value).__name__, body)
        case enum.Enum():
            _feed_tagged(digest, type(value).__qualname__, str(value.value).encode())
        case float():
            if math.isnan(value):
                raise ValueError("NaN has no fingerprint.")
            _feed_tagged(digest, "float", value.hex().encode())
        case np.ndarray():
            if value.dtype.hasobject:
                raise TypeError("Arrays of Python objects have no fingerprint.")
            _feed_tagged(digest, f"array {value.dtype.str} {value.shape}", b"")
            digest.update(np.ascontiguousarray(value).data)
        case np.generic():
            _feed(digest, value.item())
        case tuple() | list():
            _feed_tagged(digest, "sequence", str(len(value)).encode())
            for item in value:
                _feed(digest, item)
        case Mapping():
            _feed_tagged(digest, "mapping", str(len(value)).encode())
            for key in sorted(value):
                _feed(digest, key)
                _feed(digest, value[key])
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            _feed_tagged(digest, "dataclass", type(value).__qualname__.encode())
            for field in dataclasses.fields(value):
                _feed(digest, field.name)
                _feed(digest, getattr(value, field.name))
        case _:
            raise TypeError(f"{type(value).__qualname__} has no fingerprint.")


def _feed_tagged(digest: "hashlib._Hash", tag: str, body: bytes) -> None:
    digest.update(f"{tag}:{len(body)}:".encode() + body)
