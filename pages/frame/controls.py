"""Controls of single pages in the link: those that somebody moved, as one word `name:value;name:value`.

Their values live in the session under `local.<name>`, as text and numbers; what comes from a link is text, and the control that
shows it turns it into a number or falls back to its default. Names that are not listed here stay out of links.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from pillar_core.theory import CALCULATORS

KEPT = "local."
LONGEST = 2000
_GEOMETRY = ("geometry-view", "bases", "which", "convention", "quantile", "n_public", "standardise", "sets")
_THEORY = ("theory-view", "theorem", "rate-axis", "mixture.", "graph.", "shift.", *(f"{name}." for name in CALCULATORS))
_ACCOUNTING = ("accounting-view", "accounting-from", "accounting-steps", "accounting-share", "accounting-noise", "selection", "trials")
_EVIDENCE = ("evidence-view", "audit-redraws", "fault", "claim")
_EXPLORE, _COMPARE = ("tuning",), ("compare-other",)
_LINKED = (*_EXPLORE, *_COMPARE, *_GEOMETRY, *_THEORY, *_ACCOUNTING, *_EVIDENCE)
_NAMES, _PREFIXES = frozenset(_LINKED), tuple(name for name in _LINKED if name.endswith("."))


def is_linked(name: str) -> bool:
    """Whether links carry the control of that name."""
    return name in _NAMES or name.startswith(_PREFIXES)


def written(state: Mapping[Any, Any]) -> str:
    """The word for a link, from the session's values."""
    kept = {str(key).removeprefix(KEPT): state[key] for key in state if str(key).startswith(KEPT)}
    return ";".join(f"{name}:{_text(kept[name])}" for name in sorted(kept) if is_linked(name))


def take(word: str, state: MutableMapping[Any, Any]) -> None:
    """Puts a link's values into the session; linked controls that it does not name go back to their defaults."""
    for key in [key for key in state if str(key).startswith(KEPT) and is_linked(str(key).removeprefix(KEPT))]:
        del state[key]
    for part in word[:LONGEST].split(";"):
        name, mark, value = part.partition(":")
        if mark and is_linked(name):
            state[KEPT + name] = value


def typed(kept: Any, default: Any) -> Any:
    """What a link brought, in the type of the control's default; the default where it cannot be read."""
    if not isinstance(kept, str) or isinstance(default, str):
        return kept
    try:
        return type(default)(float(kept))
    except (ValueError, OverflowError):
        return default


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
