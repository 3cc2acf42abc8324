"""Text as it is, where Streamlit reads Markdown: what came from data, files, links or the library
is never markup."""

import re

from pillar_core import mode, store

_SHORTCODE = re.compile(r":(?=[\w+-]+(?:/[\w+-]+)?:)")
"""An icon or emoji is looked for after Markdown was read, where no backslash is left: an invisible
sign breaks the pattern."""
_ADDRESS = re.compile(r"(?i)https?:(?=//)|www(?=\.)|(?<=[-.\w+])@(?=[-\w]+\.)")
"""A bare address becomes a link after Markdown was read, too."""
_ACTIVE = re.compile(r"[\\`*\[\]<~|$]|(?<![^\W_])_|_(?![^\W_])|:(?=[\w:\[{\u2060])|&(?=#?\w+;)")
_PATH = re.compile(r"(?<![\w.:/])(?:~|/[\w.@+-]+)(?:/[\w.@+-]+)+/?")
_START = re.compile(r"^(\d*)(?=[#>+=-]|(?<=\d)[.)])")


def text(value: object) -> str:
    """Markdown that shows `value` letter by letter, in an element's body, label, option, caption or
    help alike.

    Images, links, code, formulas, colours and icons in it are not read; line ends stay.
    """
    return "  \n".join(
        _line(line.strip()) for line in without_paths(str(value)).splitlines() if line.strip()
    )


def without_paths(message: str) -> str:
    """A message as the asker may read it: no place on the server's disk for a visitor of a demo."""
    if not mode.binds():
        return message
    return _PATH.sub(
        "…", re.sub(rf"{re.escape(str(store.default().root))}[\w.@+/-]*", "…", message)
    )


def _line(line: str) -> str:
    return _START.sub(
        r"\1\\",
        _ACTIVE.sub(r"\\\g<0>", _ADDRESS.sub("\\g<0>\u2060", _SHORTCODE.sub(":\u2060", line))),
    )
