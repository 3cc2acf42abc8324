"""What the parts of a script's text stand for: values that the text fixes, conditions that hold,
and the loops that it runs."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pillar_core.studies.check import constants
from pillar_core.studies.check.source import Binding, Loop, Source, last_word

_NO = ("", "0", "f", "false", "n", "no", "none", "off")


def value_of(source: Source, expression: Any, changing: Mapping[str, Any] | None = None) -> Any:
    """What an expression stands for, where names stand for other values while they are `changing`;
    None where the text does not fix it."""

    def look_up(node: ast.expr) -> Any:
        written = ast.unparse(node)
        if changing and written in changing:
            return changing[written]
        if isinstance(node, ast.Call):
            is_lone = source.command and not {"spawn", "Process"} & {*source.calls.values()}
            is_size = is_lone and last_word(node) == "get_world_size"
            return source.command.processes if is_size else None  # type: ignore[union-attr]
        found = agreed(source, last_word(node), bindings_of(source, node))
        return None if isinstance(found, tuple) and not isinstance(node, ast.Name) else found

    return constants.evaluate(expression, look_up)


def agreed(source: Source, word: str, bindings: Sequence[Binding]) -> Any:
    """The one value that all bindings of a word give it; None where they do not agree."""
    if (key := tuple(bindings)) not in source.agreed:
        source.agreed[key] = None  # a word that stands for itself stands for nothing
        read = [part for part in bindings if not is_unfilled(source, part.value, word)]
        found = {None if part.value is None else value_of(source, part.value) for part in read}
        is_list = any(isinstance(part.value, ast.List) for part in read)
        is_open = "*" in source.opened or (is_list and _is_changed(source, word))
        if len(found) == 1 and not is_open:
            source.agreed[key] = found.pop()
            source.read.update(source.given[part] for part in read if part in source.given)
    return source.agreed[key]


def is_unfilled(source: Source, value: ast.AST | None, word: str) -> bool:
    """Whether a word is bound to the parameter of its name that nothing in the text fills."""
    return isinstance(value, ast.Name) and value.id == word and source.bound(value) == []


def _is_changed(source: Source, word: str) -> bool:
    """Whether a list may be changed: it is not just counted, walked through or taken from."""
    parents = [source.parents[use] for use in source.uses[word]]
    return word in source.opened or not all(
        isinstance(part, ast.Subscript | ast.For)
        or (isinstance(part, ast.Call) and last_word(part) in ("len", "enumerate", "zip"))
        for part in parents
    )


def bindings_of(source: Source, node: ast.AST) -> Sequence[Binding]:
    """What may have bound a name, attribute or entry where it is taken; none where that is not
    read."""
    found: Sequence[Binding] = ()
    if isinstance(node, ast.Name):
        found = source.bound(node)
    elif isinstance(node, ast.Attribute | ast.Subscript) and _is_read(source, node.value):
        found = source.members[last_word(node)] if last_word(node) else ()
    is_ordered = found and source.command is not None and source.runs_once(node)
    return _in_order(source, found, node) if is_ordered else found


def _in_order(source: Source, found: Sequence[Binding], node: Any) -> Sequence[Binding]:
    """What of `found` may hold where a part is taken, in a text that runs from top to bottom,
    once."""
    function, here = source.function(node), dict(source.branches(node))
    outer, end = {*source.around(node), function}, (node.end_lineno, node.end_col_offset)
    holder = getattr(node, "value", None)
    is_lone = not isinstance(holder, ast.Name) or len(source.everywhere(holder.id)) == 1
    kinds = ast.Assign | ast.AnnAssign | ast.AugAssign
    ordered = {
        (part.place.lineno, part.place.col_offset): part
        for part in found
        if isinstance(part.place, kinds) and source.function(part.place) is function
    }
    holding = [part for part in found if part not in ordered.values()]
    for start, part in sorted(ordered.items()):
        place, tests = part.place, [*source.branches(part.place)]
        if start >= end or any(
            here.get(test, holds) is not holds or truth(source, test.test) is (not holds)
            for test, holds in tests
        ):
            continue
        if (  # it was made before, unless a loop or a try stands around it
            is_lone
            and isinstance(place, ast.Assign)
            and ast.unparse(node) in map(ast.unparse, place.targets)
            and all(isinstance(row, ast.If) for row in source.around(place) if row not in outer)
            and all(here.get(test, truth(source, test.test)) is holds for test, holds in tests)
        ):
            holding = [
                other
                for other in holding
                if other not in ordered.values() and other.place not in source.options
            ]
        holding.append(part)
    return holding


def is_none(source: Source, expression: Any, seen: frozenset[ast.AST] = frozenset()) -> bool | None:
    """Whether a value is None; None where that is not known."""
    if isinstance(expression, ast.Constant) or value_of(source, expression) is not None:
        return getattr(expression, "value", 0) is None
    bound = () if expression in seen else bindings_of(source, expression)
    seen |= {expression}
    is_sure = bound and all(is_none(source, part.value, seen) for part in bound)
    return True if is_sure else None


def truth(source: Source, test: ast.AST) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    if test not in source.truths:
        source.truths[test] = None
        source.truths[test] = _truth(source, test)
    return source.truths[test]


def _truth(source: Source, test: ast.AST) -> bool | None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _turned(truth(source, part), True)
        case ast.BoolOp(op=sign, values=parts):
            truths, decides = {truth(source, part) for part in parts}, isinstance(sign, ast.Or)
            return decides if decides in truths else None if None in truths else not decides
        case ast.Compare(left=part, ops=[sign], comparators=[ast.Constant(value=None)]):
            return _turned(is_none(source, part), not isinstance(sign, ast.Is | ast.Eq))
    value = value_of(source, test)
    if isinstance(value, str):  # `--private no` may be meant, and turned into False
        return None if value.lower() in _NO else True
    return None if value is None else bool(value)


def _turned(holds: bool | None, is_turned: bool) -> bool | None:
    return None if holds is None else holds is not is_turned


def is_idle(source: Source, node: ast.AST) -> bool:
    """Whether a condition around a part does not hold."""
    return any(truth(source, part.test) is (not holds) for part, holds in source.branches(node))


def is_optional(source: Source, expression: ast.AST) -> bool:
    """Whether a value hangs on options of a command line."""
    waiting, seen = [expression], set[Binding]()
    while waiting:
        for node in constants.parts_of(waiting.pop()):
            bound = {*bindings_of(source, node)} - seen
            if any(part.place in source.options for part in bound) or (
                isinstance(node, ast.Attribute) and is_parsed(source, node.value)
            ):
                return True
            waiting += [part.value for part in bound if part.value is not None]
            seen |= bound
    return False


def is_parsed(source: Source, holder: ast.AST) -> bool:
    """Whether an object is the options that a command line gives."""
    bound = source.everywhere(holder.id) if isinstance(holder, ast.Name) else []
    values = [part.value for part in bound if not isinstance(part.place, ast.Name)]
    return bool(values) and all(last_word(value).startswith("parse_") for value in values)


def _is_read(source: Source, holder: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an object is one whose attributes or entries the text fixes: a dictionary, options,
    an object of the text's own class."""
    word, is_name = last_word(holder), isinstance(holder, ast.Name)
    if isinstance(holder, ast.Call):
        return _fixes(source, holder)
    is_own = isinstance(holder, ast.Attribute) and (
        word == "args" or ast.unparse(holder.value) == "self"
    )
    if not (is_own or is_name) or {word, "*"} & source.opened.keys():
        return False
    if word in seen or word == "self":
        return True
    idle = (ast.Name, ast.alias) if word == "FLAGS" else ast.Name
    bindings = [
        part
        for part in (source.everywhere(word) if is_name else source.members[word])
        if not isinstance(part.place, idle)
        and part.place not in source.options
        and (is_name or _binds(part.place, word))
    ]
    return bool(bindings or word == "FLAGS") and all(
        isinstance(part.place, ast.ClassDef)
        or (
            isinstance(part.value, ast.Name | ast.Attribute)
            and _is_read(source, part.value, seen | {word})
        )
        or _fixes(source, part.value)
        for part in bindings
    )


def _fixes(source: Source, value: ast.AST | None) -> bool:
    match value:
        case ast.Dict():
            return None not in value.keys
        case ast.Call(args=given, keywords=[]) if last_word(value).startswith("parse_"):
            command_line = ("[]", "argv", "args", "sys.argv[1:]")
            return all(ast.unparse(part) in command_line for part in given)
        case ast.Call(func=ast.Name(id="vars"), args=[part]):
            return _is_read(source, part)
        case ast.Call(func=ast.Name() as kind):
            return [type(part.place) for part in source.bound(kind)] == [ast.ClassDef]
    return isinstance(value, ast.Attribute | ast.Name) and last_word(value) == "FLAGS"


def _binds(place: ast.AST, word: str) -> bool:
    """Whether a place binds a word itself, and not just a part of what it stands for."""
    parts = [part for target in getattr(place, "targets", ()) for part in ast.walk(target)]
    stored = [part for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)]
    return not isinstance(place, ast.Assign) or word in map(last_word, stored)


def loops_around(source: Source, node: ast.AST) -> list[Any]:
    """The loops around `node` in its function, from the inside, but those that run once."""
    loops = [part for part in source.around(node) if isinstance(part, Loop)]
    return [loop for loop in loops if (span := span_of(source, loop)) is None or len(span) != 1]


def ends(loop: ast.AST) -> list[ast.expr] | None:
    """The ends of the range that a loop walks through, a progress bar around it or not; None for
    another walk."""
    walk = loop.iter if isinstance(loop, ast.For) else None
    while isinstance(walk, ast.Call) and walk.args:
        if last_word(walk) in ("range", "trange"):
            return walk.args
        walk = walk.args[0] if last_word(walk) in ("tqdm", "list") else None
    return None


def span_of(source: Source, loop: ast.AST) -> range | None:
    """The whole numbers that a loop walks through; None where they are not read."""
    found = [value_of(source, end) for end in ends(loop) or ()]
    is_whole = 0 < len(found) <= 3 and all(isinstance(end, int) for end in found)
    return range(*found) if is_whole and 0 not in found[2:] else None
