"""What binds the names of a script's text, and the entries, options and attributes of its objects,
found in one walk."""

import ast
import collections
import dataclasses
import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
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
    attribute is taken.
    """

    def __init__(
        self,
        nodes: Sequence[ast.AST],
        parents: Mapping[ast.AST, ast.AST],
        calls: Mapping[ast.Call, str],
        known: Container[str],
    ) -> None:
        self.names = collections.defaultdict[ast.AST | None, dict[str, list[Binding]]](dict)
        self.members = collections.defaultdict[str, list[Binding]](list)
        self.uses = collections.defaultdict[str, list[ast.Name | ast.Attribute]](list)
        self.opened, self.shared = dict[str, ast.AST](), set[str]()
        self.options = set[ast.Call]()
        self._parents, self._calls, self._known = parents, calls, known
        self._paired = set[ast.AST]()
        for node in nodes:
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.uses[last_word(node)].append(node)
        functions = [node for node in nodes if isinstance(node, Function)]
        self._defined = collections.Counter(map(self.called, functions))
        for node in nodes:
            self._take(node)
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
            if isinstance(value, ast.Call) and self._calls[value] == "parse_known_args":
                self._bind(target.elts[0], value, place)
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
            self.members[word].append(Binding(place, value))
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
        match holder:
            case ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]):
                self.opened["*"] = self._statement(holder)
            case (
                ast.Name(id=name)
                | ast.Attribute(value=ast.Name(id=name), attr="__dict__")
                | ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)])
            ) if not is_named:
                self.opened[name] = self._statement(holder)

    def _hide_names(self) -> None:
        """An object that is changed by another name is changed by its own, and `import *` may bind
        anew what was bound before it."""
        for star in self.names[None].get("*", ()):
            for bindings in self.names[None].values():
                if any(part.place.lineno < star.place.lineno for part in bindings):  # type: ignore[attr-defined]
                    bindings.append(Binding(star.place, None))
        bound = [
            (name, part.value)
            for names in self.names.values()
            for name, bindings in names.items()
            for part in bindings
            if isinstance(part.value, ast.Name) and part.value.id != name
        ]
        while more := {
            other.id: self.opened[name]
            for name, other in bound
            if name in self.opened and other.id not in self.opened
        }:
            self.opened |= more

    def _take_call(self, call: ast.Call) -> None:
        name, words = self._calls[call], [(word.arg, word.value) for word in call.keywords]
        if name == "add_argument":
            self._take_option(call)
        elif name not in self._known:
            if name.startswith("DEFINE_"):
                self.options.add(call)
            if name in _SETTERS or name.startswith("DEFINE_"):
                pairs = [
                    (str(first.value).rpartition(".")[2], second)
                    for first, second in itertools.pairwise(call.args)
                    if isinstance(first, ast.Constant)
                ]
                for key, value in pairs:
                    self.members[key].append(Binding(call, value))
                if not pairs and call.args:
                    self._open(call.args[0] if len(call.args) > 2 else _owner(call))
            elif name == "update":
                is_named = None not in dict(words) and all(map(_is_written, call.args))
                self._open(_owner(call), is_named=is_named)
            elif name == "exec" and isinstance(call.func, ast.Name):
                self.opened["*"] = self._statement(call)
            for word, value in words:
                self._bind_member(word, value, call)

    def _take_option(self, call: ast.Call) -> None:
        """The default of an option of argparse, by the attribute that it fills."""
        given = {str(word.arg): word.value for word in call.keywords}
        words = {name: str(getattr(part, "value", "")) for name, part in given.items()}
        names = [str(part.value) for part in call.args if isinstance(part, ast.Constant)]
        long = [name for name in names if name.startswith("--")] or names or [""]
        name = words.get("dest", long[0]).lstrip("-").replace("-", "_")
        is_switch = words.get("action") in ("store_true", "store_false")
        switch = ast.Constant(words.get("action") == "store_false") if is_switch else None
        self.members[name].append(Binding(call, given.get("default", switch)))
        self.options.add(call)

    def _take_parameters(self, function: Function) -> None:
        """Binds parameters to their defaults, and to what the text's calls pass."""
        names, written = self.names[function], function.args
        places = [*written.posonlyargs, *written.args]
        defaults = [None] * (len(places) - len(written.defaults)) + written.defaults
        for part, default in itertools.chain(
            zip(places, defaults, strict=True),
            zip(written.kwonlyargs, written.kw_defaults, strict=True),
        ):
            names[part.arg] = [] if default is None else [Binding(part, default)]
        fixed = [*names]
        for part in filter(None, (written.vararg, written.kwarg)):
            names[part.arg] = [Binding(part, None)]
        is_method = isinstance(self._parents.get(function), ast.ClassDef)
        wrappers = getattr(function, "decorator_list", [])
        is_bound = is_method and "staticmethod" not in map(last_word, wrappers)
        order = [part.arg for part in places][is_bound:]
        if self._defined[self.called(function)] > 1:  # which of them a call means is not read
            for bindings in names.values():
                bindings.append(Binding(function, None))
            return
        for use in self.uses_of(function):
            for word, value in self._passed(use, order, fixed):
                if word in fixed:
                    names[word].append(Binding(use, value))

    def _passed(
        self, use: ast.AST, order: Sequence[str], every: Sequence[str]
    ) -> Iterable[tuple[str | None, ast.AST | None]]:
        """What the use of a function or class gives to its parameters; None for what is not
        written."""
        parent = self._parents[use]
        call = self._parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call):
            return [(name, None) for name in every]
        values, given = call.args, {word.arg: word.value for word in call.keywords}
        if call.func is not use and self._calls[call].endswith("CLI"):
            self.options.add(call)  # it fills them as options
            return []
        if call.func is not use:  # a process or several that begin with it
            passed = given.get("args")
            if "kwargs" in given or not isinstance(passed, ast.Tuple):
                return [(name, None) for name in every]
            order, values, given = order["spawn" in self._calls[call] :], passed.elts, {}
        if None in given or any(isinstance(part, ast.Starred) for part in values):
            return [(name, None) for name in every]
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


def _owner(call: ast.Call) -> ast.AST:
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _is_written(value: ast.AST) -> bool:
    """Whether a dictionary's keys stand in the text."""
    return isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys)
