"""Packages that take seconds to import, each imported when one of its names is first used.

`from pillar_core.deferred import torch` stands for `import torch` in a module whose import must
stay cheap. What is read at import time (base classes, constants, decorators) must not name it.
`import_whole` makes the first use of our own modules safe from threads.
"""

import importlib
import time
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    import torch
    from scipy import stats
else:

    class _Deferred:  # a ModuleType takes three times as long to find that it lacks a name
        _imported: ModuleType | None = None

        def __init__(self, name: str) -> None:
            self.__name__ = name

        def __getattr__(self, name: str) -> object:
            if self._imported is None:
                package = self.__name__.partition(".")[0]
                importlib.import_module(
                    package
                    # whole before its parts: two threads that import each other's part would
                    # deadlock
                )
                self._imported = importlib.import_module(self.__name__)
            value = getattr(self._imported, name)
            setattr(
                self, name, value
            )  # the next look-up does not come here: a step of a training makes twenty
            return value

    pandas = _Deferred("pandas")
    torch = _Deferred("torch")
    stats = _Deferred("scipy.stats")

TRIES = 100


def import_whole(name: str) -> ModuleType:
    """The module of that name, its import finished, whatever other threads import meanwhile.

    Of threads whose imports wait for each other, Python refuses one by a RuntimeError. It tries
    again while the others go on.
    """
    for _ in range(TRIES - 1):
        try:
            return importlib.import_module(name)
        except RuntimeError:
            time.sleep(0.01)
    return importlib.import_module(name)


__all__ = ["import_whole", "pandas", "stats", "torch"]
