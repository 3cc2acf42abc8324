"""Where this copy of the software lies: a repository, or site-packages, where the app has a package
of its own beside the library."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder that `pillar_core` lies in."""
_PACKAGE = ROOT / "pillar_explorer"
IS_INSTALLED = (_PACKAGE / "app.py").is_file()
APP = _PACKAGE if IS_INSTALLED else ROOT
"""The folder of `app.py`, `pages/` and `cache/starter/`."""


def cache_folder() -> Path:
    """The cache where PILLAR_CACHE names none: `cache/` of a repository; of an installed copy a
    folder among the user's caches."""
    if not IS_INSTALLED:
        return APP / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pillar-explorer"


def environment() -> dict[str, str]:
    """That of this process, in which a Python of its own imports this copy."""
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
