"""The Python of a script or a notebook as a syntax tree, with what stands around each part and what
its line is called."""

import ast
import collections
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.studies.check import constants

FILE: Mapping[str, Any] = toml_tables(Path(__file__).with_name("calls.toml"))
LONGEST = 50_000
"""Characters of code that is read: Python's own parser takes time that grows with the square of a
dotted name."""
_COMMAND = re.compile(r"^([ \t]*(?:\w+ ?= ?)?)[!%](?:[^\n\\]|\\[\s\S])*", re.MULTILINE)
_CELL_OF_PYTHON = re.compile(r"\s*%%(time|timeit|capture|prun|writefile .*\.py)")
_WRITTEN = re.compile(r"\s*%%writefile\s+(?:-a\s+)?(\S+\.py)")
Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.GeneratorExp


@dataclasses.dataclass(frozen=True)
class Source:
    """The parts of a text's tree, each part's parent, the calls by name, values by name, and what
    each line is called."""

    nodes: tuple[ast.AST, ...]
    parents: Mapping[ast.AST, ast.AST]
    calls: Mapping[ast.Call, str]
    known: Mapping[ast.AST | None, constants.Known]
    lines: tuple[str, ...]

    def place(self, node: ast.AST) -> str:
        """What the line of a part is called, such as “Line 3”."""
        return self.lines[getattr(node, "lineno", 1) - 1]

    def value(self, expression: ast.AST) -> Any:
        """What an expression stands for; None where the text does not fix it."""
        return constants.value_of(expression, self.values(expression))

    def values(self, node: ast.AST) -> constants.Known:
        """Values by the names that stand for them where `node` is."""
        return self.known[self.function(node)]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parts around `node`, from the inside, to the end of its function."""
        while (node := self.parents.get(node, node)) in self.parents:
            yield node
            if isinstance(node, constants.Function):
                return

    def function(self, node: ast.AST) -> ast.AST | None:
        """The function that a part stands in; None outside of all."""
        return function_of(node, self.parents)

    def loops(self, node: ast.AST) -> list[ast.AST]:
        """The loops around `node` in its function, from the inside, but those that run once."""
        loops = [part for part in self.around(node) if isinstance(part, Loop)]
        return [loop for loop in loops if (span := self.span(loop)) is None or len(span) != 1]

    def is_epochs(self, loop: ast.AST) -> bool:
        """Whether a loop counts passes over the data: over a range, with “epoch” in its words."""
        words = ast.unparse(loop).partition("\n")[0].lower()
        return isinstance(loop, ast.For) and _ends(loop) is not None and "epoch" in words

    def span(self, loop: ast.AST) -> range | None:
        """The whole numbers that a loop walks through; None where they are not read."""
        ends = [self.value(end) for end in _ends(loop) or ()]
        is_whole = 0 < len(ends) <= 3 and all(isinstance(end, int) for end in ends)
        return range(*ends) if is_whole and 0 not in ends[2:] else None

    def is_repeated(self, node: ast.AST) -> bool:
        """Whether the text may run `node` more than once: a loop, or a function that is called
        twice or in a loop."""
        return self._is_repeated(node, frozenset())

    def _is_repeated(self, node: ast.AST, seen: frozenset[str]) -> bool:
        if self.loops(node):
            return True
        names = [part.name for part in self.around(node) if isinstance(part, ast.FunctionDef)]
        if not names or names[0] in seen:
            return bool(names)
        callers = [call for call, name in self.calls.items() if name == names[0]]
        return len(callers) > 1 or any(
            self._is_repeated(call, seen | {names[0]}) for call in callers
        )


def read_source(text: str) -> Source:
    """The tree of a script's or notebook's code. Raises DataError: too long, or no Python."""
    cells = list(_cells(text))
    code = "\n".join(lines for _, lines in cells)
    places = tuple(
        f"{cell}line {number}".capitalize()
        for cell, lines in cells
        for number, _ in enumerate(lines.split("\n"), 1)
    )
    if len(code) > LONGEST:
        raise DataError(
            f"The script has {len(code):,} characters; the part that sets up privacy, at most"
            f" {LONGEST:,}, is enough."
        )
    try:
        nodes = tuple(ast.walk(ast.parse(code)))
    except SyntaxError as fault:
        raise DataError(
            f"{places[min(fault.lineno or 1, len(places)) - 1]} cannot be read as Python: paste the"
            " part that sets up privacy, or give the numbers."
        ) from fault
    others = {
        alias.asname: alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    return Source(
        nodes,
        parents,
        {
            node: others.get(name := call_name(node), name)
            for node in nodes
            if isinstance(node, ast.Call)
        },
        constants.known_values(nodes, lambda node: function_of(node, parents)),
        places,
    )


def _ends(loop: ast.AST) -> list[ast.expr] | None:
    """The ends of the range that a loop walks through, a progress bar around it or not; None for
    another walk."""
    walk = loop.iter if isinstance(loop, ast.For) else None
    while isinstance(walk, ast.Call) and walk.args:
        if call_name(walk) in ("range", "trange"):
            return walk.args
        walk = walk.args[0] if call_name(walk) in ("tqdm", "list") else None
    return None


def function_of(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.AST | None:
    """The function that a part stands in; None outside of all."""
    while (parent := parents.get(node)) is not None:
        if isinstance(parent, constants.Function):
            return parent
        node = parent
    return None


def call_name(call: ast.Call) -> str:
    """The last name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """What a piece of code is called before its lines, and the code: the whole text, or a
    notebook's code cells. Of files that these write, the first that sets up privacy is read."""
    if not text.lstrip().startswith("{"):
        yield "", _without_commands(text)
        return
    files = collections.defaultdict[str, list[tuple[str, str]]](list)
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "code":
            source = cell["source"]
            code = source if isinstance(source, str) else "".join(source)
            written = _WRITTEN.match(code)
            file = written[1] if written else ""
            files[file].append((f"cell {number}, ", _without_commands(code)))
    set_ups = [name for name, call in FILE["calls"].items() if "set_up" in call]
    begun = [
        cells
        for cells in files.values()
        if any(f"{name}(" in code for name in set_ups for _, code in cells)
    ]
    yield from begun[0] if begun else files[""]


def _without_commands(code: str) -> str:
    """Code without a notebook's commands, which begin with ! or %; each line keeps its number."""
    try:
        ast.parse(code)
    except SyntaxError:
        if code.lstrip().startswith("%%") and not _CELL_OF_PYTHON.match(code):
            return ""  # another language, or a file that is written
        return _COMMAND.sub(lambda found: f"{found[1]}..." + "\n" * found[0].count("\n"), code)
    return code
