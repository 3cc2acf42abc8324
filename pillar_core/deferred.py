"""Packages that take seconds to import, each imported when one of its names is first used.

`from pillar_core.deferred import torch` stands for `import torch` in a module whose import must stay cheap: what is read at import
time (base classes, constants, decorators) must not name it. Python's own import locks make the first use from several threads safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from dp_accounting import dp_event, pld, privacy_accountant, rdp
    from scipy import stats
else:
    import importlib
    from types import ModuleType
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

__all__ = ["dp_event", "pld", "privacy_accountant", "rdp", "stats", "torch"]
