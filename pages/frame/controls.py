"""Controls of single pages in the link: those that you moved, as one word `name:value;name:value`.

Their values live in the session under `local.<name>`, as text and numbers, and what a link says of them under `link.<name>`, as text.
A control says itself whether it belongs in links (see `local`), so a name that a link brings is read by the control that claims it, or by
nobody: it reaches no state of a page but through that control.
"""

import re
from collections.abc import Callable, Mapping, MutableMapping
from typing import TypeVar, cast

T = TypeVar("T")
LOCAL, LINK = "local.", "link."
LONGEST = 2000
UNSAFE = re.compile(r"[^A-Za-z0-9_.:;,+-]")
"""What no link carries of a control."""


def link_word(state: Mapping[str | int, object]) -> str:
    """The word for a link, from the session's values."""
    codes = {str(key).removeprefix(LINK): state[key] for key in state if str(key).startswith(LINK)}
    return ";".join(f"{name}:{codes[name]}" for name in sorted(codes))


def take(word: str, state: MutableMapping[str | int, object]) -> None:
    """Puts a link's values into the session; linked controls that it does not name go back to their defaults."""
    for key in [key for key in state if str(key).startswith(LINK)]:
        del state[key]
        state.pop(LOCAL + str(key).removeprefix(LINK), None)
    for part in word[:LONGEST].split(";"):
        name, mark, value = part.partition(":")
        if mark and name:
            state[LINK + name] = value


def claim(name: str, state: MutableMapping[str | int, object]) -> None:
    """Connects a control with the link: it takes the link's value, and from then on the link carries the control's."""
    if LOCAL + name in state:
        state[LINK + name] = code(state[LOCAL + name])
    elif LINK + name in state:
        state[LOCAL + name] = state[LINK + name]


def code(value: object) -> str:
    """A value as links write it; different options of a control have different codes."""
    return UNSAFE.sub("", f"{value:.12g}" if isinstance(value, float) else str(value)).replace(";", "")


def parse_value(value: object, default: T) -> T:
    """What a link brought, in the type of the control's default; the default where it cannot be read."""
    if not isinstance(value, str) or isinstance(default, str):
        return cast(T, value)
    if isinstance(default, bool):
        return cast(T, value in ("True", "1"))
    try:
        return cast(Callable[[float], T], type(default))(float(value))
    except (ValueError, OverflowError):
        return default
