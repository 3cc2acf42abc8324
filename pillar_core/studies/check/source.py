"""A script as a syntax tree: what each name comes from, and the one call that sets privacy up."""

import ast
import collections
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pillar_core.studies.check.flat import Scope, bound, flat, flow

CALLS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("calls.toml").read_text(encoding="utf-8"))
_KERAS = {"", "Vectorized"}
_OPTIMISERS = {f"{first}DPKeras{kind}Optimizer" for first in _KERAS for kind in ("SGD", "Adam", "Adagrad")}
_OPTIMISERS |= {"DPGradientDescentGaussianOptimizer"}


def named(node: ast.expr) -> str:
    """The last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def bare(node: ast.AST | None) -> str:
    """A name that stands alone, "" for any other expression."""
    return node.id if isinstance(node, ast.Name) else ""


def names_in(*parts: ast.AST | None) -> set[str]:
    """The names that stand anywhere in these parts."""
    return {bare(inner) for part in parts if part is not None for inner in ast.walk(part)} - {""}


def root(node: ast.AST) -> str:
    """The name that a dotted, called or indexed expression starts from; "" where it starts from none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return bare(node)


def bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a part of a statement binds, each with the expression that it is bound to a part of."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            targets = [target]
        case ast.NamedExpr(target=target, value=value) | ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            targets = [target]
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            targets = [target]
        case _:
            return
    yield from ((part.id, value) for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


class Script:
    """A script as a row of statements, what each name comes from, and the one call that sets privacy up."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = flat(tree)
        self.around = {inner: node for node in ast.walk(self.module) for inner in ast.iter_child_nodes(node)}
        self.place_of = {id(statement): place for place, statement in enumerate(self.module.body)}
        self.bound = bound(self.module)
        self.uses = collections.defaultdict[str, list[ast.Name]](list)
        for node in ast.walk(self.module):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.uses[node.id].append(node)
        self.origins: dict[str, str] = {}
        for node in ast.walk(self.module):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else []:
                first = alias.name.split(".")[0]
                whole = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name if alias.asname else first
                self.origins[alias.asname or first] = whole
        self.calls = [node for node in ast.walk(self.module) if isinstance(node, ast.Call)]
        self.by_name = collections.defaultdict[str, list[ast.Call]](list)
        for call in self.calls:
            self.by_name[named(call.func)].append(call)
        self.fits = self.by_name["fit"]
        known = [call for call in self.calls if CALLS.get(self.called(call), {}).get("set_up")]
        set_ups = [call for call in known if self.called(call) != "make_private" or not call.args]  # JAX-Privacy's takes a config
        statements = [call for call in self.calls if self.called(call).startswith("compute_dp_sgd_privacy")]
        self.set_ups = set_ups or statements
        self.statement = statements[0] if set_ups and len(statements) == 1 and self.library_of(set_ups[0]) == "tensorflow_privacy" else None
        self.stored = {
            ast.unparse(node) for node in ast.walk(self.module) if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        self.values = dict(self._bound_once())
        self.bindings = collections.defaultdict[str, list[ast.expr]](list)
        for node in flow(self.module):
            for name, value in bindings(node):
                self.bindings[name].append(value)
        self.assigned = collections.defaultdict[str, list[ast.expr]](list)
        for one in self.module.body:
            if isinstance(one, ast.Assign) and len(one.targets) == 1:
                self.assigned[named(one.targets[0])].append(one.value)
        self.is_mixed = bool(set_ups and statements) and self.statement is None

    def is_free(self, name: str) -> bool:
        """Whether this text does not define a name: it imports it, or takes it as given."""
        return name in self.origins or not self.bound[name]

    def is_bound_to(self, name: str, is_such: Callable[[ast.expr], bool], found: dict[str, bool], *, within: bool) -> bool:
        """Whether a name is free, or all that it is bound to is such; within: what holds of it in itself. `found` keeps each answer."""
        if name not in found:
            found[name] = within
            found[name] = self.is_free(name) or (bool(values := self.bindings[name]) and all(map(is_such, values)))
        return found[name]

    def called(self, call: ast.Call) -> str:
        """The known name of what is called, import aliases resolved; "" for what this text or another package defines."""
        start, name = root(call.func), named(call.func)
        if start in self.origins:
            whole = f"{self.origins[start]}{ast.unparse(call.func).removeprefix(start)}".split(".")
            if whole[0] not in CALLS["words"]["known"] or self.bound[start] > 1:
                return ""
            is_schedule = whole[:3] == ["torch", "optim", "lr_scheduler"] and whole[-1] in CALLS["words"]["schedules"]
            name = "scheduler" if is_schedule else whole[-1]
            if name == "PrivacyEngine" and whole[0] in ("fastDP", "private_transformers"):
                return "FastPrivacyEngine"
        elif isinstance(call.func, ast.Name) and self.bound[name]:
            return ""
        if name == "PrivacyEngine" and any(keyword.arg == "sample_size" for keyword in call.keywords):
            return "FastPrivacyEngine"
        return "DPOptimizer" if name in _OPTIMISERS else name

    def library_of(self, call: ast.Call) -> str:
        """The library of a known call."""
        return str(CALLS[self.called(call)]["library"])

    def _bound_once(self) -> Iterator[tuple[str, ast.expr]]:
        """Names that are bound once, and by themselves, with what they are bound to."""
        for node in flow(self.module):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.bound[name] == 1:
                    yield name, value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if self.bound[name] == 1:
                    yield name, value

    def read(self) -> Iterator[ast.Call]:
        """The calls whose numbers are read: the set-up, and what goes with it."""
        for call in self.set_ups:
            yield from (one for one in (self.engine(call), self.loader(call), call) if one is not None)
        library = self.library_of(self.set_ups[0]) if self.set_ups else ""
        if self.statement is not None:
            yield self.statement
        if library in ("tensorflow_privacy", "jax_privacy"):
            yield from (call for call in self.fits if isinstance(call.func, ast.Attribute))

    def loader(self, call: ast.Call) -> ast.Call | None:
        """The loader that a set-up takes."""
        given = self.made(argument(call, "data_loader"))
        return given if isinstance(given, ast.Call) and self.called(given) == "DataLoader" else None

    def made(self, node: ast.expr | None) -> ast.expr | None:
        """A call, or the one that a name was first bound to, which the set-up may bind anew."""
        if isinstance(node, ast.Name):
            found = self.assigned[node.id]
            return found[0] if len(found) == 1 else None
        return node

    def is_weighted(self) -> bool:
        """Whether the loader draws rows by weights."""
        drawn = [self.meant(argument(one, "sampler")) for call in self.set_ups if (one := self.loader(call))]
        return any(isinstance(one, ast.Call) and self.called(one) == "WeightedRandomSampler" for one in drawn)

    def called_of(self, name: str) -> set[str]:
        """The methods that are called of a name; "" for an attribute that is read, "?" for every other use."""
        found = set[str]()
        for node in self.uses[name]:
            use = self.around[node]
            if not isinstance(use, ast.Attribute) or not isinstance(use.ctx, ast.Load):
                found.add("?")
            else:
                owner = self.around[use]
                found.add(use.attr if isinstance(owner, ast.Call) and owner.func is use else "")
        return found

    def meant(self, node: ast.expr | None) -> ast.expr | None:
        """A call, or the one that a name stands for."""
        return self.values.get(node.id) if isinstance(node, ast.Name) else node

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The statement of the row that holds a part; None for a part of a function or class."""
        while id(node) not in self.place_of and node is not self.module:
            if isinstance(node, Scope):
                return None
            node = self.around[node]
        return node if isinstance(node, ast.stmt) and not isinstance(node, Scope) else None

    def engine(self, call: ast.Call) -> ast.Call | None:
        """The engine whose method a set-up calls."""
        owner = self.meant(call.func.value) if isinstance(call.func, ast.Attribute) else None
        return owner if isinstance(owner, ast.Call) and self.called(owner) == "PrivacyEngine" else None


def argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """What a keyword gives, or the argument at this place."""
    if place is not None and len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
