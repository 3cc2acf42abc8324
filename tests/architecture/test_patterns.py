"""Regular expressions read each text in one way: two ways for one sign, repeated, take for ever on
a text that does not fit."""

import ast
import re
import string
from collections.abc import Iterator
from re import _compiler, _parser  # type: ignore[attr-defined]  # how Python itself reads a pattern

import pytest
from repository import REPOSITORY, text_of

from pillar_core.data import cells
from pillar_core.runs import use

SIGNS = string.printable + "éÄß²³°µ€’\u00a0\u2009三"
FUNCTIONS = {
    f"re.{name}"
    for name in ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")
}


def written(node: ast.expr, names: dict[str, ast.expr]) -> str:
    """The pattern that an expression writes; what it takes from a variable is a letter."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            written(part.value if isinstance(part, ast.FormattedValue) else part, names)
            for part in node.values
        )
    if isinstance(node, ast.Attribute) and node.attr == "pattern":
        return written(node.value, names)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
        return written(node.args[0], names)
    return (
        written(names[node.id], names) if isinstance(node, ast.Name) and node.id in names else "x"
    )


def patterns() -> Iterator[tuple[str, str]]:
    """(place, pattern) of every call of `re` in app, library, pages and documents."""
    for path in (
        path
        for places in ("*.py", "pillar_core/**/*.py", "pages/**/*.py", "docs/**/*.py")
        for path in REPOSITORY.glob(places)
    ):
        tree = ast.parse(text_of(path))
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        names = {
            target.id: node.value
            for node in assigned
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in FUNCTIONS:
                yield f"{path.relative_to(REPOSITORY)}:{call.lineno}", written(call.args[0], names)


def signs_of(item: tuple[object, object], state: object) -> frozenset[str]:
    """The signs that an item of one sign takes."""
    one = _parser.SubPattern(state, [item])
    taken = _compiler.compile(one, 0)
    return frozenset(sign for sign in SIGNS if taken.fullmatch(sign))


def open_after(
    items: _parser.SubPattern, before: frozenset[str], found: list[str]
) -> frozenset[str]:
    """The signs that an unlimited repetition at the end would still take; `found` gets those that
    two repetitions could share."""
    for name, value in items:
        kind = str(name)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            is_single = (
                len(inner) == 1 and inner.getwidth() == (1, 1) and str(inner[0][0]) != "SUBPATTERN"
            )
            if most == _parser.MAXREPEAT and is_single:
                signs = signs_of(inner[0], items.state)
                found += ["".join(sorted(before & signs))] * bool(before & signs)
                after = signs
            else:
                after = open_after(inner, before, found)
                if most == _parser.MAXREPEAT:  # what ends one round meets what begins the next
                    open_after(inner, after, found)
            before = after | before if least == 0 else after
        elif kind == "SUBPATTERN":
            before = open_after(value[-1], before, found)
        elif kind == "BRANCH":
            before = frozenset().union(*(open_after(branch, before, found) for branch in value[1]))
        elif kind in ("ASSERT", "ASSERT_NOT"):
            open_after(value[1], frozenset(), found)
        elif kind != "AT":
            before = frozenset()
    return before


def shared(pattern: str) -> list[str]:
    """The signs that two repetitions of a pattern could share out in many ways."""
    found: list[str] = []
    open_after(_parser.parse(pattern), frozenset(), found)
    return found


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:(\d+\.?\d*|\.\d+)\n)*",
        r"(?:a+)+",
        r"(\s*\w*)*",
        r"\s*[^%]*?",
        r"a*(?:b?)a*",
        r"(?:\w+\s?)*",
    ],
)
def test_a_pattern_that_reads_a_text_in_many_ways_is_seen(pattern):
    assert shared(pattern)


def test_no_pattern_reads_a_text_in_many_ways():
    every = dict(patterns())
    assert len(every) > 50
    assert not {place: pattern for place, pattern in every.items() if shared(pattern)}


def test_long_cells_that_do_not_fit_are_refused_at_once():  # of each, the old patterns took at least the square of its length
    assert use.NUMBERS.fullmatch("".join(f"{number}\n" for number in range(100_000)) + "\n") is None
    assert use.NUMBERS.fullmatch("1" * 100_000 + "\n\n") is None
    for cell in (
        "1" * 300_000 + "x",
        "$" + " " * 300_000 + "%x",
        "a" + " " * 300_000 + "b",
        "1 " + "a" * 300_000 + "!",
    ):
        assert not cells.is_number(cell)
        assert cells._split_unit(cell)[1] in ("", "x")
        assert re.fullmatch(cells.NUMBER, cell) is None
