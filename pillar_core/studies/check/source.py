"""The Python of a script or a notebook as a syntax tree, with what stands around each part and what
its line is called."""

import ast
import collections
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pillar_core.errors import DataError
from pillar_core.studies.check import constants
from pillar_core.studies.check.bindings import FILE, Binding, Bindings, Function, last_word
from pillar_core.studies.check.command import Command

LONGEST = 50_000
"""Characters of code that is read: Python's own parser takes time that grows with the square of a
dotted name."""
_COMMAND = re.compile(r"^([ \t]*(?:\w+ ?= ?)?)[!%](?:[^\n\\]|\\[\s\S])*", re.MULTILINE)
_CELL_OF_PYTHON = re.compile(r"\s*%%(time|timeit|capture|prun|writefile .*\.py)")
_NO = ("", "0", "f", "false", "n", "no", "none", "off")
_WRITTEN = re.compile(r"\s*%%writefile\s+(?:-a\s+)?(\S+\.py)")
Loop = (
    ast.For
    | ast.AsyncFor
    | ast.While
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


@dataclasses.dataclass(frozen=True)
class Source:
    """The parts of a text's tree, each part's parent, the calls by name, what binds its words, and
    what each line is called."""

    nodes: tuple[ast.AST, ...]
    parents: Mapping[ast.AST, ast.AST]
    calls: Mapping[ast.Call, str]
    bindings: Bindings
    lines: tuple[str, ...]
    command: Command | None = None
    agreed: dict[tuple[Binding, ...], Any] = dataclasses.field(default_factory=dict)
    """Values that were worked out, by what binds them."""
    truths: dict[ast.AST, bool | None] = dataclasses.field(default_factory=dict)
    read: set[str] = dataclasses.field(default_factory=set)
    """What was read of the command."""

    def place(self, node: ast.AST) -> str:
        """What the line of a part is called, such as “Line 3”."""
        return self.lines[getattr(node, "lineno", 1) - 1]

    def value(self, expression: ast.AST, changing: Mapping[str, Any] | None = None) -> Any:
        """What an expression stands for, where names stand for other values while they are
        `changing`; None where the text does not fix it."""

        def look_up(node: ast.expr) -> Any:
            written = ast.unparse(node)
            if changing and written in changing:
                return changing[written]
            if isinstance(node, ast.Call):
                is_lone = self.command and not {"spawn", "Process"} & {*self.calls.values()}
                is_size = is_lone and call_name(node) == "get_world_size"
                return self.command.processes if is_size else None  # type: ignore[union-attr]
            found = self.agree(last_word(node), self.bindings_of(node))
            return None if isinstance(found, tuple) and not isinstance(node, ast.Name) else found

        return constants.value_of(expression, look_up)

    def bindings_of(self, node: ast.AST) -> list[Binding]:
        """What may have bound a name, attribute or entry where it is taken; none where that is not
        read."""
        found: Sequence[Binding] = ()
        if isinstance(node, ast.Name):
            found = self.bound(node)
        elif isinstance(node, ast.Attribute | ast.Subscript) and self._is_read(node.value):
            found = self.bindings.members[last_word(node)] if last_word(node) else ()
        found = [part for part in found if self._reaches(part.place, node)]
        for made in [part.place for part in found if self._is_made(part.place, node)]:
            found = [
                part
                for part in found
                if part.place is made
                or part.place.lineno >= made.lineno  # type: ignore[attr-defined]
                or not (part.place in self.bindings.options or self._is_same(part.place, node))
            ]
        return found

    def is_none(self, expression: Any, seen: frozenset[ast.AST] = frozenset()) -> bool | None:
        """Whether a value is None; None where that is not known."""
        if isinstance(expression, ast.Constant) or self.value(expression) is not None:
            return getattr(expression, "value", 0) is None
        bound = () if expression in seen else self.bindings_of(expression)
        seen |= {expression}
        return True if bound and all(self.is_none(part.value, seen) for part in bound) else None

    def truth(self, test: ast.AST) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        if test not in self.truths:
            self.truths[test] = None
            self.truths[test] = self._truth(test)
        return self.truths[test]

    def _truth(self, test: ast.AST) -> bool | None:
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=part):
                truth = self.truth(part)
                return None if truth is None else not truth
            case ast.BoolOp(op=sign, values=parts):
                truths, decides = {self.truth(part) for part in parts}, isinstance(sign, ast.Or)
                return decides if decides in truths else None if None in truths else not decides
            case ast.Compare(left=part, ops=[sign], comparators=[ast.Constant(value=None)]):
                truth = self.is_none(part)
                return truth if truth is None or isinstance(sign, ast.Is | ast.Eq) else not truth
        value = self.value(test)
        if isinstance(value, str):  # `--private no` may be meant, and turned into False
            return None if value.lower() in _NO else True
        return None if value is None else bool(value)

    def branches(
        self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()
    ) -> Iterator[tuple[ast.If, bool]]:
        """The conditions around a part, with whether it stands where they hold; also those around
        the one place where its function is taken."""
        for part in (node, *self.around(node)):
            holder = self.parents.get(part)
            if isinstance(holder, ast.If) and part is not holder.test:
                yield holder, part in holder.body
        function = self.function(node)
        uses = self.bindings.uses_of(function) if function else []
        if function and len(uses) == 1 and function not in seen:
            yield from self.branches(uses[0], seen | {function})

    def is_idle(self, node: ast.AST) -> bool:
        """Whether a condition around a part does not hold."""
        return any(self.truth(part.test) is (not holds) for part, holds in self.branches(node))

    def _reaches(self, place: ast.AST, use: ast.AST) -> bool:
        """Whether what is bound at a place may hold where it is taken. A text that a command
        starts runs from top to bottom, once."""
        if not self._is_ordered(place, use):
            return True
        start = place.lineno, place.col_offset  # type: ignore[attr-defined]
        if start >= (use.end_lineno, use.end_col_offset):  # type: ignore[attr-defined]
            return False
        here = dict(self.branches(use))
        return not any(
            here.get(part, holds) is not holds or self.truth(part.test) is (not holds)
            for part, holds in self.branches(place)
        )

    def _is_ordered(self, place: ast.AST, use: ast.AST) -> bool:
        """Whether an assignment is made once at most, before or after a part that is taken."""
        return (
            self.command is not None
            and isinstance(place, ast.Assign | ast.AnnAssign | ast.AugAssign)
            and self.function(place) is self.function(use)
            and self._runs_once(use)
        )

    def _is_same(self, place: ast.AST, use: ast.AST) -> bool:
        """Whether an assignment is to what is taken, of an object that is bound once."""
        holder = getattr(use, "value", None)
        return (
            self._is_ordered(place, use)
            and isinstance(place, ast.Assign)
            and ast.unparse(use) in map(ast.unparse, place.targets)
            and (not isinstance(holder, ast.Name) or len(self.everywhere(holder.id)) == 1)
        )

    def _is_made(self, place: ast.AST, use: ast.AST) -> bool:
        """Whether an assignment is made whenever a later part of its function is reached."""
        if not self._is_same(place, use):
            return False
        here = dict(self.branches(use))
        outer = {*self.around(use), self.function(use)}
        return all(
            isinstance(part, ast.If)
            for part in self.around(place)
            if part not in outer | {self.function(place)}
        ) and all(
            here.get(part, self.truth(part.test)) is holds for part, holds in self.branches(place)
        )

    def _runs_once(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether the text runs a part once at most: in no loop, in functions called at one
        place."""
        if any(isinstance(part, Loop) for part in self.around(node)):
            return False
        function = self.function(node)
        if function is None:
            return True
        uses = self.bindings.uses_of(function)
        wrappers = getattr(function, "decorator_list", [])
        if (
            len(uses) != 1
            or function in seen
            or any(isinstance(part, ast.Name) for part in wrappers)
        ):
            return False
        call = self.parents[uses[0]]
        is_called = isinstance(call, ast.Call) and (
            call.func is uses[0] or call_name(call) == "run"
        )
        return is_called and self._runs_once(uses[0], seen | {function})

    def is_optional(self, expression: ast.AST) -> bool:
        """Whether a value hangs on options of a command line."""
        waiting, seen = [expression], set[Binding]()
        while waiting:
            for node in constants.parts_of(waiting.pop()):
                if isinstance(node, ast.Attribute) and self.is_parsed(node.value):
                    return True
                bound = {*self.bindings_of(node)} - seen
                if any(part.place in self.bindings.options for part in bound):
                    return True
                waiting += [part.value for part in bound if part.value is not None]
                seen |= bound
        return False

    def is_parsed(self, holder: ast.AST) -> bool:
        """Whether an object is the options that a command line gives."""
        bound = self.everywhere(holder.id) if isinstance(holder, ast.Name) else []
        values = [part.value for part in bound if not isinstance(part.place, ast.Name)]
        return bool(values) and all(last_word(value).startswith("parse_") for value in values)

    def bound(self, name: ast.Name) -> Sequence[Binding]:
        """What binds a name where it is taken."""
        bindings, scope = self.bindings, self.bindings.scope(name)
        if name.id in bindings.shared:
            return self.everywhere(name.id)
        while scope is not None and name.id not in bindings.names[scope]:
            scope = bindings.scope(scope)
        return bindings.names[scope].get(name.id, ())

    def everywhere(self, word: str) -> list[Binding]:
        """What binds a name in any function."""
        return [part for names in self.bindings.names.values() for part in names.get(word, ())]

    def agree(self, word: str, bindings: Sequence[Binding]) -> Any:
        """The one value that all bindings of a word give it; None where they do not agree."""
        if (key := tuple(bindings)) not in self.agreed:
            self.agreed[key] = None  # a word that stands for itself stands for nothing
            read = [part for part in bindings if not self.is_unfilled(part.value, word)]
            found = {None if part.value is None else self.value(part.value) for part in read}
            is_one = len(found) == 1 and "*" not in self.bindings.opened
            is_list = any(isinstance(part.value, ast.List) for part in read)
            if is_one and not (is_list and self._is_changed(word)):
                self.agreed[key] = found.pop()
                self.read.update(
                    self.bindings.given[part] for part in read if part in self.bindings.given
                )
        return self.agreed[key]

    def is_unfilled(self, value: ast.AST | None, word: str) -> bool:
        """Whether a word is bound to the parameter of its name that nothing in the text fills."""
        return isinstance(value, ast.Name) and value.id == word and self.bound(value) == []

    def _is_changed(self, word: str) -> bool:
        """Whether a list may be changed: it is not just counted, walked through or taken from."""
        parents = [self.parents[use] for use in self.bindings.uses[word]]
        return word in self.bindings.opened or not all(
            isinstance(part, ast.Subscript | ast.For)
            or (isinstance(part, ast.Call) and call_name(part) in ("len", "enumerate", "zip"))
            for part in parents
        )

    def _is_read(self, holder: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an object is one whose attributes or entries the text fixes: a dictionary,
        options, an object of the text's own class."""
        word = last_word(holder)
        if isinstance(holder, ast.Call):
            return self._fixes(holder)
        is_own = isinstance(holder, ast.Attribute) and (
            word == "args" or ast.unparse(holder.value) == "self"
        )
        if (
            not (is_own or isinstance(holder, ast.Name))
            or {word, "*"} & self.bindings.opened.keys()
        ):
            return False
        if word in seen or word == "self":
            return True
        idle = (ast.Name, ast.alias) if word == "FLAGS" else ast.Name
        found = (
            self.everywhere(word) if isinstance(holder, ast.Name) else self.bindings.members[word]
        )
        options = self.bindings.options
        bindings = [
            part
            for part in found
            if not isinstance(part.place, idle)
            and part.place not in options
            and (isinstance(holder, ast.Name) or _binds(part.place, word))
        ]
        return bool(bindings or word == "FLAGS") and all(
            isinstance(part.place, ast.ClassDef)
            or (
                isinstance(part.value, ast.Name | ast.Attribute)
                and self._is_read(part.value, seen | {word})
            )
            or self._fixes(part.value)
            for part in bindings
        )

    def _fixes(self, value: ast.AST | None) -> bool:
        match value:
            case ast.Dict():
                return None not in value.keys
            case ast.Call(args=given, keywords=[]) if call_name(value).startswith("parse_"):
                command_line = ("[]", "argv", "args", "sys.argv[1:]")
                return all(ast.unparse(part) in command_line for part in given)
            case ast.Call(func=ast.Name(id="vars"), args=[part]):
                return self._is_read(part)
            case ast.Call(func=ast.Name() as kind):
                return [type(part.place) for part in self.bound(kind)] == [ast.ClassDef]
            case ast.Attribute(attr=word) | ast.Name(id=word):
                return word == "FLAGS"
        return False

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parts around `node`, from the inside, to the end of its function."""
        while (node := self.parents.get(node, node)) in self.parents:
            yield node
            if isinstance(node, Function):
                return

    def function(self, node: ast.AST) -> ast.AST | None:
        """The function that a part stands in; None outside of all."""
        return next((part for part in self.around(node) if isinstance(part, Function)), None)

    def loops(self, node: ast.AST) -> list[ast.AST]:
        """The loops around `node` in its function, from the inside, but those that run once."""
        loops = [part for part in self.around(node) if isinstance(part, Loop)]
        return [loop for loop in loops if (span := self.span(loop)) is None or len(span) != 1]

    def is_epochs(self, loop: ast.AST) -> bool:
        """Whether a loop counts passes over the data: with “epoch” in its words, or over a range
        and around a loop over a loader."""
        match loop:
            case ast.While(test=words) | ast.For(target=words) if "epoch" in _lower(words):
                return True
            case ast.For(iter=words, body=body) if ends(loop) is not None:
                walks = [
                    part.iter for row in body for part in ast.walk(row) if isinstance(part, ast.For)
                ]
                walked = {last_word(part) for walk in walks for part in ast.walk(walk)}
                return "epoch" in _lower(words) or any(map(self._is_loader, walked))
        return False

    def _is_loader(self, word: str) -> bool:
        values = [part.value for part in self.everywhere(word)]
        return "loader" in word.lower() or "DataLoader" in map(last_word, values)

    def steps(self, loop: ast.AST) -> range | None:
        """What a loop over steps walks through."""
        words = f"{_lower(loop.target)} {_lower(loop.iter)}" if isinstance(loop, ast.For) else ""
        return self.span(loop) if "step" in words or "iter" in words else None

    def span(self, loop: ast.AST) -> range | None:
        """The whole numbers that a loop walks through; None where they are not read."""
        found = [self.value(end) for end in ends(loop) or ()]
        is_whole = 0 < len(found) <= 3 and all(isinstance(end, int) for end in found)
        return range(*found) if is_whole and 0 not in found[2:] else None

    def is_repeated(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
        """Whether the text may run `node` more than once: in a loop, or in a function that is taken
        twice, handed to a map, or decorated by the text's own."""
        function = self.function(node)
        if self.loops(node) or function in seen:
            return True
        if function is None:
            return False
        uses = self.bindings.uses_of(function)
        wrappers = getattr(function, "decorator_list", [])
        return (
            len(uses) > 1
            or any(isinstance(part, ast.Name) and self.bound(part) for part in wrappers)
            or any(self._is_handed(use) or self.is_repeated(use, seen | {function}) for use in uses)
        )

    def _is_handed(self, use: ast.AST) -> bool:
        """Whether a function goes to a map, or by another name."""
        parent = self.parents[use]
        is_mapped = isinstance(parent, ast.Call) and "map" in call_name(parent)
        return isinstance(parent, ast.Assign) or (is_mapped and parent.func is not use)  # type: ignore[attr-defined]


def _binds(place: ast.AST, word: str) -> bool:
    """Whether a place binds a word itself, and not just a part of what it stands for."""
    parts = [part for target in getattr(place, "targets", ()) for part in ast.walk(target)]
    stored = [part for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)]
    return not isinstance(place, ast.Assign) or word in map(last_word, stored)


def read_source(text: str, command: Command | None = None) -> Source:
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
    calls = {
        node: others.get(name := call_name(node), name)
        for node in nodes
        if isinstance(node, ast.Call)
    }
    bindings = Bindings(nodes, parents, calls, command)
    return Source(nodes, parents, calls, bindings, places, command)


def ends(loop: ast.AST) -> list[ast.expr] | None:
    """The ends of the range that a loop walks through, a progress bar around it or not; None for
    another walk."""
    walk = loop.iter if isinstance(loop, ast.For) else None
    while isinstance(walk, ast.Call) and walk.args:
        if call_name(walk) in ("range", "trange"):
            return walk.args
        walk = walk.args[0] if call_name(walk) in ("tqdm", "list") else None
    return None


def _lower(part: ast.AST) -> str:
    return ast.unparse(part).lower()


def call_name(call: ast.Call) -> str:
    """The last name of what is called."""
    return last_word(call) if isinstance(call.func, ast.Attribute | ast.Name) else ""


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """What a piece of code is called before its lines, and the code: the whole text, or a
    notebook's code cells. Of files that these write, those that set up privacy are read."""
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
    for cells in begun or [files[""]]:
        yield from cells


def _without_commands(code: str) -> str:
    """Code without a notebook's commands, which begin with ! or %; each line keeps its number."""
    try:
        ast.parse(code)
    except SyntaxError:
        if code.lstrip().startswith("%%") and not _CELL_OF_PYTHON.match(code):
            return ""  # another language, or a file that is written
        return _COMMAND.sub(lambda found: f"{found[1]}..." + "\n" * found[0].count("\n"), code)
    return code
