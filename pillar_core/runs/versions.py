"""What a record was made with: the versions that decide its numbers, kept in it and shown beside
the command that repeats it."""

import functools
import hashlib
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

VERSION = "0.2.0"
_SOURCES = Path(__file__).resolve().parents[1]


@functools.lru_cache(maxsize=1)
def made_with() -> dict[str, str]:
    """Versions by name: pillar_core, its source (the first 12 hexadecimal digits of a hash over its
    files), Python, packages."""
    packages = {
        name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "torch")
    }
    return {
        "pillar_core": VERSION,
        "source": _source(),
        "Python": platform.python_version(),
        **packages,
    }


def in_words(versions: Mapping[str, str]) -> str:
    """“pillar_core 0.2.0, source …, Python 3.11.7, …” on one line, whoever wrote it; records of
    before versions were kept say so."""
    line = ", ".join(f"{name} {version}" for name, version in versions.items())
    return " ".join(line.split()) or "versions were not recorded"


def _source() -> str:
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        digest.update(f"{path.relative_to(_SOURCES)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]
