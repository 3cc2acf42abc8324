"""Packages that take seconds to import, each imported when one of its names is first used.

`from pillar_core.deferred import torch` stands for `import torch` in a module whose import must stay cheap: what is read at import
time (base classes, constants, decorators) must not name it. `imported` makes the first use of our own modules safe from several threads.
"""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from dp_accounting import dp_event, pld, privacy_accountant, rdp
    from scipy import stats
else:
    from typing import Any

    class _Deferred(ModuleType):
        def __getattr__(self, name: str) -> Any:
            package = self.__name__.partition(".")[0]
            importlib.import_module(package)  # whole before its parts: two threads that import each other's part would deadlock
            return getattr(importlib.import_module(self.__name__), name)

    torch = _Deferred("torch")
    dp_event = _Deferred("dp_accounting.dp_event")
    pld = _Deferred("dp_accounting.pld")
    privacy_accountant = _Deferred("dp_accounting.privacy_accountant")
    rdp = _Deferred("dp_accounting.rdp")
    stats = _Deferred("scipy.stats")

LOCK = threading.RLock()
"""Of first uses: whoever holds it holds no import lock that came before it."""


def imported(name: str) -> ModuleType:
    """The module of that name, whole: one thread at a time imports it, and again where another's import statement crossed.

    Python locks a module before its package where it is imported past its package, and after it where the package imports it; of two
    threads that meet so, one is refused by a `_DeadlockError`. In the midst of an import that refusal goes on to the outermost one.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    if _is_importing():
        return importlib.import_module(name)
    with LOCK:
        while True:
            try:
                return importlib.import_module(name)
            except RuntimeError as error:
                if type(error).__name__ != "_DeadlockError":
                    raise


def _is_importing() -> bool:
    """Whether this thread is in an import, so that it holds locks for which others may wait."""
    frame = sys._getframe()
    while frame.f_back is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


__all__ = ["LOCK", "dp_event", "imported", "pld", "privacy_accountant", "rdp", "stats", "torch"]
