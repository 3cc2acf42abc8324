"""A script's text as a syntax tree: what stands around each part, what binds its words, and where
its functions are called."""

import ast
import collections
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pillar_core.studies.check.command import Command, Option

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
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
class Binding:
    """A place that binds a word to the value of an expression; None for what is not read."""

    place: Any
    value: ast.AST | None


Bindings = collections.defaultdict[str, list[Binding]]
"""What binds each word."""


class Source:
    """The parts of a text's tree, each part's parent, the calls by name, what each line is called,
    and the command that starts it; `bindings.read_source` fills in what binds its words.

    names: what binds a name, by the function that holds it (None outside of all). members: what
    binds a key, option, attribute or keyword, whosever it is. uses: where each name or attribute is
    taken. quoted: where a string names what it runs or takes. functions, kinds: the text's own, as
    they are called, and its classes. opened: objects that the text changes under words that it does
    not write, with the place; “*” for its own names. shared: names that are global or nonlocal
    somewhere. parsers: those of classes of options. options: what a command line may give, by the
    place that binds it. given: what the command says, by what it binds. doubtful: what it says that
    is no option's name, and may stand for one. agreed, truths: what was worked out, of bindings and
    conditions. read: what was read of the command.
    """

    def __init__(
        self,
        nodes: Sequence[ast.AST],
        calls: Mapping[ast.Call, str],
        lines: Sequence[str],
        command: Command | None,
    ) -> None:
        self.nodes, self.calls, self.lines, self.command = nodes, calls, lines, command
        self.parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        self.names = collections.defaultdict[ast.AST | None, Bindings](
            lambda: collections.defaultdict(list)
        )
        self.members: Bindings = collections.defaultdict(list)
        self.uses = collections.defaultdict[str, list[ast.Name | ast.Attribute]](list)
        self.quoted = collections.defaultdict[str, list[ast.AST]](list)
        self.functions = collections.defaultdict[str, list[Any]](list)
        for node in nodes:
            if isinstance(node, Function) and (name := self.called(node)):
                self.functions[name].append(node)
            for word in _quoted(node, self.parents.get(node)):
                self.quoted[word].append(node)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                self.uses[last_word(node)].append(node)
        self.kinds = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        self.opened, self.shared = dict[str, ast.AST](), set[str]()
        self.parsers = [call for call, name in calls.items() if name == "HfArgumentParser"]
        self.options, self.given = dict[ast.AST, Option](), dict[Binding, str]()
        self.doubtful, self.read = set[str](), set[str]()
        self.agreed = dict[tuple[Binding, ...], Any]()
        self.truths = dict[ast.AST, bool | None]()

    @functools.cached_property
    def known_options(self) -> set[str]:
        """Words that give or turn off an option of the text."""
        return {
            name for option in self.options.values() for name in option.given_by + option.off_by
        }

    @functools.cached_property
    def taken(self) -> Mapping[ast.AST, list[str]]:
        """What the text's own functions and classes are called, by each place that takes them; an
        object that is called takes its class's `__call__`."""
        taken = collections.defaultdict[ast.AST, list[str]](list)
        for name in self.functions.keys() | self.kinds.keys():
            own = self.functions.get(name, [])
            for use in (*self.uses_of(name), *self.quoted[name.lstrip(".")]):
                taken[use].append(name)
            for wrapper in (part for function in own for part in wrappers(function)):
                registry = getattr(getattr(wrapper, "func", wrapper), "value", None)
                for use in self.uses[last_word(registry)]:
                    for start in filter(self.is_called, (use, self.parents[use])):
                        is_run = start is use or last_word(start)[:3] == "run"
                        taken[start] += [name] if is_run else []
        entries = (node for node in self.nodes if isinstance(node, ast.Subscript))
        for node in entries:  # it may be any of them
            is_any = re.match(r"(globals|locals)\(\)\[[^']", ast.unparse(node))
            taken[node] += self.functions.keys() if is_any else ()
        for name, kind in self.kinds.items():
            selves = self.selves(kind)
            for use in selves:
                taken[use] += [name] if use.id == "cls" and self.is_called(use) else []
            if "__call__" in (part.name for part in self.methods(kind)):
                made = [self.parents[use] for use in self.uses[name]]
                for use in filter(self.is_called, self.followed(*made, *selves)):
                    taken[use].append(".__call__")
        return taken

    @functools.cached_property
    def targets(self) -> Mapping[ast.AST, list[tuple[str, Binding]]]:
        """The words that stand for a value, by what a statement or a call of the text's own
        function gives them."""
        targets = collections.defaultdict[ast.AST, list[tuple[str, Binding]]](list)
        for word, bindings in self.bindings():
            for part in bindings:
                if part.value is not None and not isinstance(part.place, ast.Call | ast.Dict):
                    targets[part.value].append((word, part))
        return {**targets}

    def methods(self, kind: ast.ClassDef) -> list[Any]:
        """The functions of a class, and of the text's own classes that it is made from."""
        own = [part for part in kind.body if isinstance(part, Function)]
        bases = [base for part in kind.bases if (base := self.kinds.get(last_word(part))) != kind]
        return own + [part for base in bases if base for part in self.methods(base)]

    def followed(self, *made: ast.AST) -> list[ast.AST]:
        """An object where it is made, and where the words that stand for it are taken."""
        waiting, followed = [*made], list[ast.AST]()
        while waiting:
            part = waiting.pop()
            if part in followed:
                continue
            followed.append(part)
            holder = self.parents[part]
            if isinstance(holder, ast.IfExp | ast.BoolOp | ast.Await | ast.NamedExpr):
                waiting.append(holder)
            elif isinstance(holder, ast.Return):
                for use in self.uses_of(self.called(self.function(part))):
                    waiting.append(self.parents[use] if self.is_called(use) else use)
            elif isinstance(holder, ast.Attribute) and self.parents[holder] in self.targets:
                is_own = f".{holder.attr}" in self.functions or holder.attr in self.members
                waiting += [] if is_own else [self.parents[holder]]  # it may return its object
            for word, binding in self.targets.get(part, ()):
                waiting += [
                    use
                    for use in self.uses[word]
                    if not isinstance(use, ast.Name) or binding in self.bound(use)
                ]
        return followed

    def selves(self, kind: ast.ClassDef) -> list[ast.Name]:
        """Where the methods of a class take their own object."""
        firsts = {part: part.args.args[0].arg for part in self.methods(kind) if part.args.args}
        return [
            use
            for function, word in firsts.items()
            for use in self.uses[word]
            if isinstance(use, ast.Name) and self.bound(use) is self.names[function][word]
        ]

    def is_called(self, use: ast.AST) -> bool:
        """Whether a part is what a call calls."""
        return getattr(self.parents.get(use), "func", None) is use

    def taker(self, part: ast.AST) -> ast.AST:
        """What takes a part, as a keyword's value or in a text or not."""
        holder = self.parents[part]
        while isinstance(holder, ast.keyword | ast.FormattedValue | ast.JoinedStr):
            holder = self.parents[holder]
        return holder

    def place(self, node: ast.AST) -> str:
        """What the line of a part is called, such as “Line 3”."""
        return self.lines[getattr(node, "lineno", 1) - 1]

    def holder(self, node: ast.AST, kind: Any) -> Any:
        """The innermost part around `node` that is of a kind; None where there is none."""
        while (part := self.parents.get(node)) is not None and not isinstance(part, kind):
            node = part
        return part

    def function(self, node: ast.AST) -> Any:
        """The function that a part stands in; None outside of all."""
        return self.holder(node, Function)

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that a part is, or stands in."""
        return node if isinstance(node, ast.stmt) else self.holder(node, ast.stmt) or node

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parts around `node`, from the inside, to the end of its function."""
        while (node := self.parents.get(node, node)) in self.parents:
            yield node
            if isinstance(node, Function):
                return

    def called(self, function: Any) -> str:
        """The name by which a function is called, or for `__init__` its class; “.” begins that of
        a method."""
        owner: Any = self.parents.get(function)
        if isinstance(function, ast.Lambda):
            return last_word(owner.targets[0]) if isinstance(owner, ast.Assign) else ""
        if not isinstance(owner, ast.ClassDef):
            return str(function.name)
        return str(owner.name) if function.name == "__init__" else f".{function.name}"

    def uses_of(self, name: str) -> list[ast.Name | ast.Attribute]:
        """Where the text takes its own function, class or method that is called so."""
        kind = ast.Attribute if name[:1] == "." else ast.Name
        own, uses = self.functions.get(name), list[ast.Name | ast.Attribute]()
        for use in self.uses[name.lstrip(".")]:
            holder = last_word(getattr(use, "value", None))
            is_others = holder not in ("", "self") and own == [self.function(use)]
            is_type = getattr(self.parents[use], "annotation", None) is use
            scope = kind is ast.Attribute and self.holder(use, Function | ast.ClassDef)
            is_kind = isinstance(use, kind) or isinstance(scope, ast.ClassDef)
            uses += [use] if is_kind and not is_type and not is_others else []
        return uses

    def path(self, node: ast.AST) -> Iterator[ast.AST]:
        """A part, then the one place where its function is taken, and so on outwards; the last may
        stand in a function that is taken at no one place, or by itself."""
        seen = set[ast.AST]()
        yield node
        while (function := self.function(node)) is not None and function not in seen:
            uses: Sequence[ast.AST] = self.uses_of(self.called(function))
            if isinstance(function, ast.Lambda) and not self.called(function):
                uses = [function]
            if len(uses) != 1:
                return
            seen.add(function)
            yield (node := uses[0])

    def branches(self, node: ast.AST) -> Iterator[tuple[ast.If, bool]]:
        """The conditions around a part and its path, with whether it stands where they hold."""
        for place in self.path(node):
            for part in (place, *self.around(place)):
                holder = self.parents.get(part)
                if isinstance(holder, ast.If) and part is not holder.test:
                    yield holder, part in holder.body

    def runs_once(self, node: ast.AST) -> bool:
        """Whether the text runs a part once at most: in no loop, in functions that nothing
        decorates, called at one place."""
        path = [*self.path(node)]
        for place in path:
            is_called = self.is_called(place) or last_word(self.parents.get(place)) == "run"
            if (
                not (is_called or place is node)
                or wrappers(self.function(place))
                or any(isinstance(part, Loop) for part in self.around(place))
            ):
                return False
        return self.function(path[-1]) is None

    def bound(self, name: ast.Name) -> Sequence[Binding]:
        """What binds a name where it is taken."""
        kinds = Function | ast.ClassDef
        if name.id in self.shared:
            return self.everywhere(name.id)
        scope = self.holder(name, kinds)
        while scope is not None and name.id not in self.names[scope]:
            scope = self.holder(scope, kinds)
        return self.names[scope].get(name.id, ())

    def everywhere(self, word: str) -> list[Binding]:
        """What binds a name in any function."""
        return [part for names in self.names.values() for part in names.get(word, ())]

    def bindings(self) -> Iterator[tuple[str, list[Binding]]]:
        """What binds each word, name or member."""
        for names in (*self.names.values(), self.members):
            yield from names.items()


def wrappers(function: Any) -> Sequence[ast.expr]:
    """What decorates a function or class."""
    return getattr(function, "decorator_list", ())


def last_word(node: ast.AST | None) -> str:
    """The name, attribute or key that a part is, or the name of what it calls."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
        case ast.Subscript(slice=ast.Constant(value=str() as word)):
            return word
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            return last_word(called)
    return ""


def _registry(wrapper: Any) -> str:
    """The name of the object that a decorator is a method of; "" for another."""
    holder = getattr(getattr(wrapper, "func", wrapper), "value", None)
    return holder.id if isinstance(holder, ast.Name) else ""


def _quoted(node: ast.AST, holder: ast.AST | None) -> list[str]:
    """The names that a string calls or, as a key of `globals()` or in `getattr`, takes."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return []
    takers = last_word(getattr(holder, "value", holder))
    if takers in ("globals", "locals", "vars", "getattr", "attrgetter", "methodcaller"):
        return [node.value]
    try:
        if not isinstance(holder, ast.JoinedStr):
            ast.parse(node.value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # it is no code
    return re.findall(r"(\w+)\s*\(", node.value)


def arguments(call: ast.Call) -> dict[str | None, ast.expr]:
    """What a call gives by keyword; None for what stands for any number of others."""
    return {word.arg: word.value for word in call.keywords}
