"""What binds the words of a script's text: its names, and the entries, options and attributes of
its objects."""

import ast
import collections
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.studies.check.command import Command, Option, spelled
from pillar_core.studies.check.source import (
    Binding,
    Function,
    Source,
    arguments,
    last_word,
    wrappers,
)

FILE: Mapping[str, Any] = toml_tables(Path(__file__).with_name("calls.toml"))
LONGEST = 50_000
"""Characters of code that is read: Python's own parser takes time that grows with the square of a
dotted name."""
_KINDS = {name: kind for kind, names in FILE["options"].items() for name in names}
_TAKEN = {keyword for call in FILE["calls"].values() for keyword in call["takes"]}
_FILLS = re.compile(r"(\w+\.)*\w*(CLI|cli)|(fire\.)?Fire|typer\.run")
_SETTERS = ("setattr", "__setattr__", "setitem", "__setitem__", "set_default", "object", "patch")
_COMMAND = re.compile(r"^([ \t]*(?:\w+ ?= ?)?)[!%](?:[^\n\\]|\\[\s\S])*", re.MULTILINE)
_CELL_OF_PYTHON = re.compile(r"\s*%%(time|timeit|capture|prun|writefile .*\.py)")
_WRITTEN = re.compile(r"\s*%%writefile\s+(?:-a\s+)?(\S+\.py)")


def read_source(text: str, command: Command | None = None) -> Source:
    """The tree of a script's or notebook's code, and what binds its words. Raises DataError: too
    long, or no Python."""
    cells = list(_cells(text))
    code = "\n".join(lines for _, lines in cells)
    places = [
        f"{cell}line {number}".capitalize()
        for cell, lines in cells
        for number, _ in enumerate(lines.split("\n"), 1)
    ]
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
    }
    called = ((node, last_word(node)) for node in nodes if isinstance(node, ast.Call))
    calls = {call: others.get(name, name) for call, name in called}
    source = Source(nodes, calls, places, command)
    _bind_all(source)
    return source


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """What a piece of code is called before its lines, and the code: the whole text, or a
    notebook's code cells. Of files that these write, those that set up privacy are read."""
    if not text.lstrip().startswith("{"):
        yield "", _without_commands(text)
        return
    files = collections.defaultdict[str, list[tuple[str, str]]](list)
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            written = _WRITTEN.match(code)
            file = written[1] if written else ""
            files[file].append((f"cell {number}, ", _without_commands(code)))
    set_ups = tuple(f"{name}(" for name, call in FILE["calls"].items() if "set_up" in call)
    begun = [
        cells
        for cells in files.values()
        if any(words in code for words in set_ups for _, code in cells)
    ]
    yield from itertools.chain.from_iterable(begun or [files[""]])


def _without_commands(code: str) -> str:
    """Code without a notebook's commands, which begin with ! or %; each line keeps its number."""
    try:
        ast.parse(code)
    except SyntaxError:
        if code.lstrip().startswith("%%") and not _CELL_OF_PYTHON.match(code):
            return ""  # another language, or a file that is written
        return _COMMAND.sub(lambda found: f"{found[1]}..." + "\n" * found[0].count("\n"), code)
    return code


def _bind_all(source: Source) -> None:
    functions = [node for node in source.nodes if isinstance(node, Function)]
    defined = collections.Counter(map(source.called, functions))
    for node in source.nodes:
        match node:
            case ast.Name() | ast.Attribute() | ast.Subscript() if not isinstance(
                node.ctx, ast.Load
            ):
                _bind_target(source, node)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                source.shared.update(names)
            case ast.alias(name=name, asname=other):
                _bind_name(source, node, other or name.partition(".")[0], None, node)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    _bind_member(source, getattr(key, "value", None), value, node)
            case ast.Call():
                _bind_call(source, node)
            case (
                ast.ClassDef(name=str() as name)
                | ast.FunctionDef(name=str() as name)
                | ast.AsyncFunctionDef(name=str() as name)
                | ast.ExceptHandler(name=str() as name)
                | ast.MatchAs(name=str() as name)
                | ast.MatchStar(name=str() as name)
                | ast.MatchMapping(rest=str() as name)
            ):
                _bind_name(source, node, name, None, node)
        if isinstance(node, Function):
            _bind_parameters(source, node, is_known=defined[source.called(node)] == 1)
    if source.command is not None:
        _fill_options(source, source.command)
    _hide_names(source)


def _bind_target(source: Source, target: Any) -> None:
    """Binds what is assigned to, deleted or walked through, in the statement that it stands in."""
    holder = source.parents[target]
    place = holder if isinstance(holder, ast.NamedExpr) else source.statement(target)
    if isinstance(holder, ast.AnnAssign) and holder.value is None:
        return
    value = _value_for(source, target)
    if value is ...:
        return
    if isinstance(target, ast.Name):
        _bind_name(source, target, target.id, value, place)
    while not isinstance(target, ast.Name):  # `FLAGS['sigma'].value = 1` sets both
        if not isinstance(target, ast.Attribute | ast.Subscript):
            return
        if word := last_word(target):
            source.members[word].append(Binding(place, value))
        if isinstance(target, ast.Subscript):
            _open(source, target.value, is_named=bool(word))
        target, value = target.value, None


def _value_for(source: Source, target: Any) -> Any:
    """The expression that a target takes: of several, its own, where both are written out; None for
    another, and … where nothing is taken."""
    match source.parents[target]:
        case (
            ast.Assign(value=value)
            | ast.AnnAssign(value=value)
            | ast.NamedExpr(value=value)
            | ast.withitem(context_expr=value)
        ):
            return value
        case ast.Tuple(elts=parts) | ast.List(elts=parts) as several:
            whole, place = _value_for(source, several), parts.index(target)
            name = source.calls.get(whole, "")
            if name == "parse_args_into_dataclasses" or (name == "parse_known_args" and not place):
                return whole
            if name in ("parse_json_file", "parse_yaml_file") and _is_written_out(source.command):
                return ...  # it is for a command that gives a file alone
            others = getattr(whole, "elts", ())
            return others[place] if len(others) == len(parts) else None
    return None


def _is_written_out(command: Command | None) -> bool:
    """Whether a command gives options, and none in a file."""
    given = command.options if command else ()
    return bool(given) and not any(
        name == "" or str(value).endswith((".json", ".yaml", ".yml")) for name, value in given
    )


def _bind_name(
    source: Source, node: ast.AST, word: str, value: ast.AST | None, place: ast.AST
) -> None:
    scope = source.holder(node, Function | ast.ClassDef)
    if not isinstance(scope, ast.ClassDef):
        source.names[scope][word].append(Binding(place, value))
        return
    if isinstance(value, ast.Call) and last_word(value) == "field":
        value = arguments(value).get("default")
    source.members[word].append(Binding(place, value))
    kinds = [last_word(part) for call in source.parsers for part in ast.walk(call)]
    if scope.name in kinds and isinstance(place, ast.AnnAssign):
        source.options[place] = Option((f"--{word}",))


def _bind_member(source: Source, word: object, value: ast.AST, place: ast.AST) -> None:
    """A key or keyword, unless its value is what that word stands for elsewhere."""
    is_place = isinstance(value, ast.Attribute | ast.Subscript)
    if isinstance(word, str) and not (is_place and last_word(value) == word):
        source.members[word].append(Binding(place, value))


def _open(source: Source, changed: ast.AST, *, is_named: bool = False) -> None:
    """Notes what is changed under a word that is not written (or is, but by the text's own
    names)."""
    match _whole(changed):
        case ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]):
            source.opened["*"] = source.statement(changed)
        case ast.Name() | ast.Attribute() as part if not is_named:
            source.opened[last_word(part)] = source.statement(changed)


def _hide_names(source: Source) -> None:
    """An object that is changed by another name is changed by its own, and `import *` may bind
    anew what was bound before it."""
    for star in source.names[None].get("*", ()):
        for bindings in source.names[None].values():
            if any(part.place.lineno < star.place.lineno for part in bindings):
                bindings.append(Binding(star.place, None))
    opened = source.opened
    bound = [
        (name, last_word(other))
        for name, bindings in source.bindings()
        for part in bindings
        if isinstance(other := _whole(part.value), ast.Name | ast.Attribute)
    ]
    while more := {
        other: opened[name] for name, other in bound if name in opened and other not in opened
    }:
        opened |= more


def _bind_call(source: Source, call: ast.Call) -> None:
    """What a call sets: the option that it declares, what it names beside a value, its keywords."""
    name, given = source.calls[call], arguments(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    if name == "add_argument":
        word, binding = _bind_option(source, call)
        source.members[word].append(binding)
        return
    if name.startswith("DEFINE_") and call.args:
        word = str(getattr(call.args[0], "value", ""))
        on, off = ((f"--{part}", f"-{part}") for part in (word, f"no{word}"))
        source.options[call] = Option(on, off, _KINDS.get(name, ""))
    if name in _SETTERS or name.startswith("DEFINE_"):
        pairs = [
            (str(first.value).rpartition(".")[2], second)
            for first, second in itertools.pairwise(call.args)
            if isinstance(first, ast.Constant)
        ]
        for key, value in pairs:
            source.members[key].append(Binding(call, value))
            if name == "DEFINE_alias":  # it fills another
                source.members[str(getattr(value, "value", ""))].append(Binding(call, None))
        if not pairs and call.args:
            _open(source, call.args[0] if len(call.args) > 2 else owner)
    elif name == "update":
        is_written = all(
            isinstance(part, ast.Dict) and all(isinstance(key, ast.Constant) for key in part.keys)
            for part in call.args
        )
        _open(source, owner, is_named=is_written and None not in given)
    elif name == "exec" and owner is call:
        source.opened["*"] = source.statement(call)
    for keyword, value in given.items():
        if not (name in FILE["calls"] and keyword in _TAKEN):
            _bind_member(source, keyword, value, call)


def _bind_option(source: Source, call: ast.Call) -> tuple[str, Binding]:
    """The name that an option of argparse or click fills, and its default."""
    given = arguments(call)
    sides = [str(part.value).partition("/") for part in call.args if isinstance(part, ast.Constant)]
    dashed = [name for name, _, _ in sides if name[:1] == "-"]
    bare = [name for name, _, _ in sides if name[:1] != "-"]
    long = [name for name in dashed if name[:2] == "--"]
    off = [name for _, _, name in sides if name]
    action = given.get("action")
    word = str(getattr(action, "value", last_word(action)))
    if word == "BooleanOptionalAction":
        off = [f"--no-{name[2:]}" for name in long]
    is_switch = bool(off) or "is_flag" in given or _KINDS.get(word) == "switch"
    kind = _KINDS.get(last_word(given.get("type")) or source.calls[call], "")
    if {None, "nargs", "multiple", "count", "callback"} & given.keys() or not dashed:
        kind = ""
    elif is_switch or word not in ("", "store"):
        kind = "switch" if is_switch else ""
    is_off = word == "store_false"
    source.options[call] = Option(
        tuple(map(spelled, dashed)), tuple(map(spelled, off)), kind, not is_off
    )
    unset = ast.Constant(is_off if is_switch else None)
    value = None if None in given else given.get("default", unset)
    dest = getattr(given.get("dest"), "value", None)
    name = str(dest or [*bare, *long, *dashed, ""][0])
    return name.lstrip("-").replace("-", "_"), Binding(call, value)


def _fill_options(source: Source, command: Command) -> None:
    """Binds options to what a command gives them; those of classes that stand elsewhere to None,
    where it gives nothing."""
    options = source.options
    for _, bindings in source.bindings():
        bindings[:] = [
            _filled(source, part, options[part.place], command) if part.place in options else part
            for part in bindings
        ]
    for parser in source.parsers[:1]:
        words = {name[2:] for name, _ in command.options if name[:2] == "--"}
        for word in words | source.uses.keys():
            if not any(part.place in options for part in source.members[word]):
                unset, option = Binding(parser, ast.Constant(None)), Option((f"--{word}",))
                source.members[word].append(_filled(source, unset, option, command))
    options |= dict.fromkeys(source.parsers, Option(()))


def _filled(source: Source, binding: Binding, option: Option, command: Command) -> Binding:
    value, words = binding.value, ""
    if not option.given_by:
        value = None  # a word in its place may give it
    for name, given in command.options:
        if name in option.given_by:
            read = option.value(given)
            value = None if read is None else ast.Constant(read)
            words = "" if isinstance(given, bool | str) else f"{name} {given}"
        elif name in option.off_by:
            value, words = ast.Constant(False), ""
        elif name not in source.known_options and option.may_be(name):
            value, words = None, ""
            source.doubtful.add(name)
    filled = Binding(binding.place, value)
    source.given.update({filled: words} if words and value else {})
    return filled


def _bind_parameters(source: Source, function: Function, *, is_known: bool) -> None:
    """Binds parameters to their defaults, and to what the text's calls pass where it `is_known`
    which function they mean."""
    names, written, uses = (
        source.names[function],
        function.args,
        source.uses_of(source.called(function)),
    )
    places = [*written.posonlyargs, *written.args]
    defaults = [None] * (len(places) - len(written.defaults)) + written.defaults
    is_option = any(_is_filled(source, use) for use in uses)
    for part, default in zip(
        [*places, *written.kwonlyargs], [*defaults, *written.kw_defaults], strict=True
    ):
        names[part.arg] = [Binding(part, default)] if default or is_option else []
        if is_option:
            source.options[part] = Option((f"--{part.arg}", f"-{part.arg}", ""))
    fixed = [*names]
    for other in filter(None, (written.vararg, written.kwarg)):
        names[other.arg] = [Binding(other, None)]
    for wrapper in wrappers(function):
        if isinstance(wrapper, ast.Call) and last_word(wrapper) in ("option", "argument"):
            name, binding = _bind_option(source, wrapper)
            names[name].append(binding)
    if not is_known:
        for bindings in names.values():
            bindings.append(Binding(function, None))
        return
    is_method = isinstance(source.parents[function], ast.ClassDef)
    is_bound = is_method and "staticmethod" not in map(last_word, wrappers(function))
    order = [part.arg for part in places][is_bound:]
    for use in uses:
        for word, value in _passed(source, use, order, fixed):
            if word in fixed:
                names[word].append(Binding(use, value))


def _is_filled(source: Source, use: ast.AST) -> bool:
    """Whether a function is handed to what fills its parameters as options."""
    call = source.taker(use)
    if not isinstance(call, ast.Call) or call.func is use:
        return False
    return bool(_FILLS.fullmatch(ast.unparse(call.func)))


def _passed(
    source: Source, use: ast.AST, order: Sequence[str], every: Sequence[str]
) -> Iterable[tuple[Any, ast.AST | None]]:
    """What the use of a function or class gives to its parameters; None for what is not written."""
    call, unread = source.taker(use), [(name, None) for name in every]
    if _is_filled(source, use):
        return []
    if not isinstance(call, ast.Call):
        return unread
    values, given = call.args, arguments(call)
    if call.func is not use:  # a process or several that begin with it
        passed = given.get("args")
        if "kwargs" in given or not isinstance(passed, ast.Tuple):
            return unread
        order, values, given = order["spawn" in source.calls[call] :], passed.elts, {}
    match given:
        case {None: ast.Call(func=ast.Name(id="vars"), args=[options])} if (
            len(given) == 1 and not values
        ):
            return [(name, ast.Attribute(options, name, ast.Load())) for name in every]
    if None in given or any(isinstance(part, ast.Starred) for part in values):
        return unread
    return [*zip(order, values, strict=False), *given.items()]


def _whole(part: ast.AST | None) -> ast.AST | None:
    """The object whose dictionary a part is, or that it is itself."""
    match part:
        case (
            ast.Attribute(value=whole, attr="__dict__")
            | ast.Call(func=ast.Name(id="vars"), args=[whole])
        ):
            return whole
    return part
