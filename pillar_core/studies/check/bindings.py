"""What binds the names of a script's text, and the entries, options and attributes of its objects,
found in one walk."""

import ast
import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core.registry import toml_tables
from pillar_core.studies.check.command import Command, Option, spelled

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FILE: Mapping[str, Any] = toml_tables(Path(__file__).with_name("calls.toml"))
_KINDS = {name: kind for kind, names in FILE["options"].items() for name in names}
_TAKEN = {keyword for call in FILE["calls"].values() for keyword in call["takes"]}
_FILLS = re.compile(r"(\w+\.)*\w*(CLI|cli)|(fire\.)?Fire|typer\.run")
_SETTERS = ("setattr", "__setattr__", "setitem", "__setitem__", "set_default", "object", "patch")


@dataclasses.dataclass(frozen=True)
class Binding:
    """A place that binds a word to the value of an expression; None for what is not read."""

    place: ast.AST
    value: ast.AST | None


class Bindings:
    """What binds `names`, by the function that holds them (None outside of all), and `members`:
    keys, options, attributes and keywords, whosever they are.

    opened: objects that the text changes under words that it does not write, with the place; “*”
    for its own names. shared: names that are global or nonlocal somewhere. uses: where each name or
    attribute is taken. options: what a command line may give, by the place that binds it, at the
    value that `command` gives or the default. given: what the command says, by what it binds.
    doubtful: what it says that is no option's name, and may stand for one.
    """

    def __init__(
        self,
        nodes: Sequence[ast.AST],
        parents: Mapping[ast.AST, ast.AST],
        calls: Mapping[ast.Call, str],
        command: Command | None,
    ) -> None:
        self.names = collections.defaultdict[ast.AST | None, dict[str, list[Binding]]](dict)
        self.members = collections.defaultdict[str, list[Binding]](list)
        self.uses = collections.defaultdict[str, list[ast.Name | ast.Attribute]](list)
        self.opened, self.shared = dict[str, ast.AST](), set[str]()
        self.options = dict[ast.AST, Option]()
        self.given = dict[Binding, str]()
        self.doubtful = set[str]()
        self.parsers = [call for call, name in calls.items() if name == "HfArgumentParser"]
        given = command.options if command else ()
        self._is_written_out = bool(given) and not any(
            name == "" or str(value).endswith((".json", ".yaml", ".yml")) for name, value in given
        )
        self._parsed = {last_word(part) for call in self.parsers for part in ast.walk(call)}
        self._parents, self._calls = parents, calls
        self._paired = set[ast.AST]()
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.uses[last_word(node)].append(node)
        functions = [node for node in nodes if isinstance(node, Function)]
        self._defined = collections.Counter(map(self.called, functions))
        for node in nodes:
            self._take(node)
        self.known_options = {
            name for option in self.options.values() for name in option.given_by + option.off_by
        }
        if command is not None:
            self._fill_options(command)
        self._hide_names()

    def _take(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._pair(target, value, node)
            case ast.AnnAssign(target=target, value=None):
                self._paired.add(target)
            case ast.AnnAssign() | ast.NamedExpr():
                self._pair(node.target, node.value, node)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                if not isinstance(node.ctx, ast.Load) and node not in self._paired:
                    self._bind(node, None, self._statement(node))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.shared |= set(names)
            case ast.alias(name=name, asname=other):
                self._bind_name(node, other or name.partition(".")[0], None, node)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    self._bind_member(getattr(key, "value", None), value, node)
            case ast.Call():
                self._take_call(node)
            case (
                ast.ClassDef(name=str() as name)
                | ast.ExceptHandler(name=str() as name)
                | ast.MatchAs(name=str() as name)
                | ast.MatchStar(name=str() as name)
                | ast.MatchMapping(rest=str() as name)
            ):
                self._bind_name(node, name, None, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                if not isinstance(node, ast.Lambda):
                    self._bind_name(node, node.name, None, node)
                self._take_parameters(node)

    def scope(self, node: ast.AST) -> ast.AST | None:
        """The function or class that a part stands in; None outside of all."""
        while (node := self._parents.get(node)) is not None:  # type: ignore[assignment]
            if isinstance(node, Function | ast.ClassDef):
                return node
        return None

    def called(self, function: Any) -> str:
        """The name by which a function is called, or for `__init__` its class; “.” begins that of
        a method."""
        owner: Any = self._parents.get(function)
        if isinstance(function, ast.Lambda):
            return last_word(owner.targets[0]) if isinstance(owner, ast.Assign) else ""
        if not isinstance(owner, ast.ClassDef):
            return str(function.name)
        return str(owner.name) if function.name == "__init__" else f".{function.name}"

    def uses_of(self, function: ast.AST) -> list[ast.Name | ast.Attribute]:
        """Where the text takes a function, or for `__init__` its class, by name."""
        name = self.called(function)
        kind = ast.Attribute if name[:1] == "." else ast.Name | ast.Attribute
        uses = [use for use in self.uses[name.lstrip(".")] if isinstance(use, kind)]
        return [use for use in uses if not isinstance(self._parents[use], ast.arg)]

    def _statement(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt) and node in self._parents:
            node = self._parents[node]
        return node

    def _pair(self, target: ast.AST, value: ast.AST | None, place: ast.AST) -> None:
        """Binds the parts of a target to those of a value, where both are written out."""
        if isinstance(target, ast.Tuple | ast.List):
            parts = getattr(value, "elts", ())
            name = self._calls[value] if isinstance(value, ast.Call) else ""
            if name in ("parse_json_file", "parse_yaml_file") and self._is_written_out:
                self._paired |= set(target.elts)  # it is for a command that gives a file alone
            if name in ("parse_known_args", "parse_args_into_dataclasses"):
                for part in target.elts[: 1 if name == "parse_known_args" else None]:
                    self._bind(part, value, place)
            elif len(parts) == len(target.elts):
                for part, given in zip(target.elts, parts, strict=True):
                    self._pair(part, given, place)
        elif not isinstance(target, ast.Starred):
            self._bind(target, value, place)

    def _bind(self, target: ast.AST, value: ast.AST | None, place: ast.AST) -> None:
        self._paired.add(target)
        if isinstance(target, ast.Name):
            self._bind_name(target, target.id, value, place)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            if word := last_word(target):
                self.members[word].append(Binding(place, value))
            if isinstance(target, ast.Subscript):
                self._open(target.value, is_named=bool(word))
            if not isinstance(target.value, ast.Name):  # `FLAGS['sigma'].value = 1` sets both
                self._bind(target.value, None, place)

    def _bind_name(self, node: ast.AST, word: str, value: ast.AST | None, place: ast.AST) -> None:
        scope = self.scope(node)
        if isinstance(scope, ast.ClassDef):
            if isinstance(value, ast.Call) and last_word(value) == "field":
                value = next((part.value for part in value.keywords if part.arg == "default"), None)
            self.members[word].append(Binding(place, value))
            if scope.name in self._parsed and isinstance(place, ast.AnnAssign):
                self.options[place] = Option((f"--{word}",))
        else:
            self.names[scope].setdefault(word, []).append(Binding(place, value))

    def _bind_member(self, word: object, value: ast.AST, place: ast.AST) -> None:
        """A key or keyword, unless its value is what that word stands for elsewhere."""
        is_place = isinstance(value, ast.Attribute | ast.Subscript)
        if isinstance(word, str) and not (is_place and last_word(value) == word):
            self.members[word].append(Binding(place, value))

    def _open(self, holder: ast.AST, *, is_named: bool = False) -> None:
        """Notes what is changed under a word that is not written (or is, but by the text's own
        names)."""
        match _whole(holder):
            case ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]):
                self.opened["*"] = self._statement(holder)
            case ast.Name() | ast.Attribute() as part if not is_named:
                self.opened[last_word(part)] = self._statement(holder)

    def _hide_names(self) -> None:
        """An object that is changed by another name is changed by its own, and `import *` may bind
        anew what was bound before it."""
        for star in self.names[None].get("*", ()):
            for bindings in self.names[None].values():
                if any(part.place.lineno < star.place.lineno for part in bindings):  # type: ignore[attr-defined]
                    bindings.append(Binding(star.place, None))
        bound = [
            (name, last_word(other))
            for names in (*self.names.values(), self.members)
            for name, bindings in names.items()
            for part in bindings
            if isinstance(other := _whole(part.value), ast.Name | ast.Attribute)
        ]
        while more := {
            other: self.opened[name]
            for name, other in bound
            if name in self.opened and other not in self.opened
        }:
            self.opened |= more

    def _take_call(self, call: ast.Call) -> None:
        name, words = self._calls[call], [(word.arg, word.value) for word in call.keywords]
        if name == "add_argument":
            word, binding = self._option(call)
            self.members[word].append(binding)
            return
        if name.startswith("DEFINE_") and call.args:
            word = str(getattr(call.args[0], "value", ""))
            on, off = ((f"--{part}", f"-{part}") for part in (word, f"no{word}"))
            self.options[call] = Option(on, off, _KINDS.get(name, ""))
        if name in _SETTERS or name.startswith("DEFINE_"):
            pairs = [
                (str(first.value).rpartition(".")[2], second)
                for first, second in itertools.pairwise(call.args)
                if isinstance(first, ast.Constant)
            ]
            for key, value in pairs:
                self.members[key].append(Binding(call, value))
                if name == "DEFINE_alias":  # it fills another
                    self.members[str(getattr(value, "value", ""))].append(Binding(call, None))
            if not pairs and call.args:
                self._open(call.args[0] if len(call.args) > 2 else _owner(call))
        elif name == "update":
            is_named = None not in dict(words) and all(map(_is_written, call.args))
            self._open(_owner(call), is_named=is_named)
        elif name == "exec" and isinstance(call.func, ast.Name):
            self.opened["*"] = self._statement(call)
        for keyword, value in words:
            if not (name in FILE["calls"] and keyword in _TAKEN):
                self._bind_member(keyword, value, call)

    def _option(self, call: ast.Call) -> tuple[str, Binding]:
        """The name that an option of argparse or click fills, and its default."""
        given = {word.arg: word.value for word in call.keywords}
        sides = [
            str(part.value).partition("/") for part in call.args if isinstance(part, ast.Constant)
        ]
        dashed = [name for name, _, _ in sides if name[:1] == "-"]
        bare = [name for name, _, _ in sides if name[:1] != "-"]
        long = [name for name in dashed if name[:2] == "--"]
        off = [name for _, _, name in sides if name]
        action, kind = (given.get(word) for word in ("action", "type"))
        word = str(getattr(action, "value", last_word(action)))
        if word == "BooleanOptionalAction":
            off = [f"--no-{name[2:]}" for name in long]
        is_switch = bool(off) or "is_flag" in given or _KINDS.get(word) == "switch"
        is_other = {None, "nargs", "multiple", "count", "callback"} & given.keys() or not dashed
        self.options[call] = Option(
            tuple(map(spelled, dashed)),
            tuple(map(spelled, off)),
            ""
            if is_other
            else "switch"
            if is_switch
            else ""
            if word not in ("", "store")
            else _KINDS.get(last_word(kind) or self._calls[call], ""),
            word != "store_false",
        )
        unset = ast.Constant(word == "store_false" if is_switch else None)
        value = None if None in given else given.get("default", unset)
        dest = getattr(given.get("dest"), "value", None)
        name = str(dest or [*bare, *long, *dashed, ""][0])
        return name.lstrip("-").replace("-", "_"), Binding(call, value)

    def _fill_options(self, command: Command) -> None:
        """Binds options to what a command gives them; those of classes that stand elsewhere to
        None, where it gives nothing."""
        for known in (*self.names.values(), self.members):
            for bindings in known.values():
                bindings[:] = [
                    self._filled(part, option, command)
                    if (option := self.options.get(part.place))
                    else part
                    for part in bindings
                ]
        for parser in self.parsers[:1]:
            words = {name[2:] for name, _ in command.options if name[:2] == "--"}
            for word in words | self.uses.keys():
                if not any(part.place in self.options for part in self.members[word]):
                    unset = Binding(parser, ast.Constant(None))
                    self.members[word].append(self._filled(unset, Option((f"--{word}",)), command))
        self.options |= dict.fromkeys(self.parsers, Option(()))

    def _filled(self, binding: Binding, option: Option, command: Command) -> Binding:
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
            elif name not in self.known_options and option.may_be(name):
                value, words = None, ""
                self.doubtful.add(name)
        filled = Binding(binding.place, value)
        self.given |= {filled: words} if words and value else {}
        return filled

    def _take_parameters(self, function: Function) -> None:
        """Binds parameters to their defaults, and to what the text's calls pass."""
        names, written, uses = self.names[function], function.args, self.uses_of(function)
        places = [*written.posonlyargs, *written.args]
        defaults = [None] * (len(places) - len(written.defaults)) + written.defaults
        for part, default in itertools.chain(
            zip(places, defaults, strict=True),
            zip(written.kwonlyargs, written.kw_defaults, strict=True),
        ):
            is_option = any(map(self._is_filled, uses))
            names[part.arg] = [Binding(part, default)] if default or is_option else []
            if is_option:
                self.options[part] = Option((f"--{part.arg}", f"-{part.arg}", ""))
        fixed = [*names]
        for part in filter(None, (written.vararg, written.kwarg)):
            names[part.arg] = [Binding(part, None)]
        is_method = isinstance(self._parents.get(function), ast.ClassDef)
        wrappers = getattr(function, "decorator_list", [])
        for wrapper in wrappers:
            if isinstance(wrapper, ast.Call) and last_word(wrapper) in ("option", "argument"):
                name, binding = self._option(wrapper)
                names.setdefault(name, []).append(binding)
        is_bound = is_method and "staticmethod" not in map(last_word, wrappers)
        order = [part.arg for part in places][is_bound:]
        if self._defined[self.called(function)] > 1:  # which of them a call means is not read
            for bindings in names.values():
                bindings.append(Binding(function, None))
            return
        for use in uses:
            for word, value in self._passed(use, order, fixed):
                if word in fixed:
                    names[word].append(Binding(use, value))

    def _is_filled(self, use: ast.AST) -> bool:
        """Whether a function is handed to what fills its parameters as options."""
        call = self._call_of(use)
        return (
            call is not None
            and call.func is not use
            and bool(_FILLS.fullmatch(ast.unparse(call.func)))
        )

    def _call_of(self, use: ast.AST) -> ast.Call | None:
        """The call that a part is, or is handed to."""
        parent = self._parents[use]
        call = self._parents[parent] if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) else None

    def _passed(
        self, use: ast.AST, order: Sequence[str], every: Sequence[str]
    ) -> Iterable[tuple[str | None, ast.AST | None]]:
        """What the use of a function or class gives to its parameters; None for what is not
        written."""
        call = self._call_of(use)
        if self._is_filled(use):
            return []
        unread = [(name, None) for name in every]
        if call is None:
            return unread
        values, given = call.args, {word.arg: word.value for word in call.keywords}
        if call.func is not use:  # a process or several that begin with it
            passed = given.get("args")
            if "kwargs" in given or not isinstance(passed, ast.Tuple):
                return unread
            order, values, given = order["spawn" in self._calls[call] :], passed.elts, {}
        match given:
            case {None: ast.Call(func=ast.Name(id="vars"), args=[options])} if (
                len(given) == 1 and not values
            ):
                return [(name, ast.Attribute(options, name, ast.Load())) for name in every]
        if None in given or any(isinstance(part, ast.Starred) for part in values):
            return unread
        return [*zip(order, values, strict=False), *given.items()]


def last_word(node: ast.AST | None) -> str:
    """The name, attribute or key that a part is, or the name of what it calls."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
        case ast.Subscript(slice=ast.Constant(value=str() as word)):
            return word
        case ast.Call(func=func):
            return last_word(func)
    return ""


def _whole(part: ast.AST | None) -> ast.AST | None:
    """The object whose dictionary a part is, or that it is itself."""
    match part:
        case (
            ast.Attribute(value=whole, attr="__dict__")
            | ast.Call(func=ast.Name(id="vars"), args=[whole])
        ):
            return whole
    return part


def _owner(call: ast.Call) -> ast.AST:
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _is_written(value: ast.AST) -> bool:
    """Whether a dictionary's keys stand in the text."""
    return isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys)
