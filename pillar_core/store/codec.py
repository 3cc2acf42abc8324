"""Values to bytes and back without pickle: JSON with a tag for infinities, and npz members that can
be memory-mapped."""

import io
import json
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pillar_core.arrays import Array, Json
from pillar_core.errors import StoreError

ALIGNMENT = 64
LONGEST_YAML, DEEPEST_YAML = 200_000, 50
UNREADABLE = (
    OSError,
    ValueError,
    zipfile.BadZipFile,
    struct.error,
    OverflowError,
    RecursionError,
    NotImplementedError,
    EOFError,
)
_OPENING = (
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
_TAG = "$"
_INFINITIES = {"$inf": math.inf, "$-inf": -math.inf}
_PADDING_FIELD = 0xD935  # the zip extra-field id that the Android tools registered for alignment
_LOCAL_HEADER = 30
_ZIP64_FIELD = 20


def decode_yaml(text: str) -> list[Json]:
    """The documents of a text that a person, a visitor of a demo too, handed in.

    Raises ValueError: no YAML, more than 200,000 characters, nested so deep that reading takes
    minutes, or aliases, with which few bytes stand for any amount of memory.
    """
    if len(text) > LONGEST_YAML:
        raise ValueError(
            f"a YAML text has at most {LONGEST_YAML:,} characters; this one has {len(text):,}."
        )
    try:
        depth = 0
        for token in yaml.scan(text):
            depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
            if depth > DEEPEST_YAML:
                raise ValueError(
                    f"a YAML text is at most {DEEPEST_YAML} levels deep; this one is deeper."
                )
            if isinstance(token, yaml.AliasToken):
                raise ValueError(
                    "a YAML text with aliases (*name) is not read; write each value out."
                )
        return list(yaml.safe_load_all(text))
    # the last two: !!timestamp, !!bool
    except (yaml.YAMLError, RecursionError, OverflowError, AttributeError, LookupError) as error:
        raise ValueError(f"this is no YAML: {error}") from error


def encode_json(value: object) -> bytes:
    """UTF-8 JSON of None, bool, int, float, str, numpy scalars, sequences and mappings with string
    keys.

    Infinities become "$inf" and "$-inf"; a string that starts with "$" gets a second one. Sequences
    come back as lists. Raises StoreError: NaN, a type that JSON does not have, half a sign in a
    text, or mappings in mappings too deep.
    """
    try:
        return json.dumps(
            _tag(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (
        RecursionError,
        ValueError,
    ) as error:  # too deep; half a sign (a lone surrogate); a number of more than 4,300 digits
        raise StoreError(f"this value cannot be stored: {error}.") from None


def decode_json(payload: bytes) -> Json:
    """The value that `encode_json` wrote. Raises ValueError: not such a text."""
    try:
        value = json.loads(payload.decode(), parse_constant=_no_constant)
        return _untag(value) if b'"$' in payload else value
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_npz(arrays: Mapping[str, ArrayLike], out: BinaryIO) -> None:
    """Write `arrays` as an uncompressed npz at the position of `out`; the data start at multiples
    of 64 in the file.

    Raises StoreError: an array of Python objects, or a name that is no plain identifier.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, value in arrays.items():
            array = np.asanyarray(value)
            if array.dtype.hasobject:
                raise StoreError(
                    f"array {name!r} holds Python objects, which would need pickle; store numbers,"
                    " booleans or text."
                )
            if not name.isidentifier():
                raise StoreError(f"array names must be plain identifiers; got {name!r}.")
            array = np.ascontiguousarray(array).reshape(array.shape)
            member = zipfile.ZipInfo(f"{name}.npy")
            buffer = io.BytesIO()
            np.lib.format.write_array_header_1_0(
                buffer, np.lib.format.header_data_from_array_1_0(array)
            )
            head = buffer.getvalue()
            start = out.tell() + _LOCAL_HEADER + len(member.filename) + _ZIP64_FIELD + 4 + len(head)
            padding = -start % ALIGNMENT
            member.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
            with archive.open(member, "w", force_zip64=True) as sink:
                sink.write(head)
                sink.write(array.reshape(-1).view(np.uint8).data if array.size else b"")


def map_npz(path: str) -> dict[str, Array]:
    """Memory maps of the members of the npz that `path` ends with; writing to one changes this
    process's copy alone.

    Raises one of `UNREADABLE`: not an npz of ours.
    """
    arrays: dict[str, Array] = {}
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"member {member.filename} is compressed")
            file.seek(member.header_offset + 26)
            name_size, extra_size = struct.unpack("<HH", file.read(4))
            file.seek(member.header_offset + _LOCAL_HEADER + name_size + extra_size)
            arrays[member.filename.removesuffix(".npy")] = _map_member(path, file)
    return arrays


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, whether columns come first, type) of an array in a npy file, whose values follow."""
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, is_fortran, dtype = read(stream)
    return shape, is_fortran, dtype


def _map_member(path: str, file: BinaryIO) -> Array:
    shape, fortran, dtype = read_header(file)
    if dtype.hasobject or fortran:
        raise ValueError("an array of Python objects, or in Fortran order")
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="c", offset=file.tell(), shape=shape)


def _tag(value: object) -> Json:
    match value:
        case np.generic():
            return _tag(value.item())
        case None | bool() | int():
            return value
        case float():
            if math.isnan(value):
                raise StoreError(
                    "NaN cannot be stored: it equals nothing and means nothing; store None for a"
                    " missing value."
                )
            return value if math.isfinite(value) else f"{_TAG}{value}"
        case str():
            return _TAG + value if value.startswith(_TAG) else value
        case list() | tuple():
            return [_tag(item) for item in value]
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise StoreError("mappings are stored with string keys only.")
            return {key: _tag(item) for key, item in value.items()}
    raise StoreError(
        f"{type(value).__qualname__} cannot be stored as JSON; store numbers, text, lists and"
        " mappings."
    )


def _untag(value: Json) -> Json:
    match value:
        case str() if value.startswith(_TAG):
            if value.startswith(_TAG * 2):
                return value[1:]
            if value not in _INFINITIES:
                raise ValueError(f"unknown tag {value!r}")
            return _INFINITIES[value]
        case list():
            return [_untag(item) for item in value]
        case dict():
            return {key: _untag(item) for key, item in value.items()}
    return value


def _no_constant(text: str) -> Json:
    raise ValueError(f"{text} is not allowed in stored JSON")
