"""A script as a syntax tree: what each name is bound to, which calls set privacy up, and in which loops a call stands."""

import ast
import collections
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CALLS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("calls.toml").read_text(encoding="utf-8"))
_OPTIMISERS = {f"{first}DPKeras{kind}Optimizer" for first in ("", "Vectorized") for kind in ("SGD", "Adam", "Adagrad")}
_OPTIMISERS |= {"DPGradientDescentGaussianOptimizer"}
MOST_SET_UPS = 3
"""That are read: how many more there are makes no difference."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_UNCOUNTED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def named(node: ast.AST) -> str:
    """The last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def root(node: ast.AST) -> str:
    """The name that a dotted, called or indexed expression starts from; "" where it starts from none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_loop(node: ast.AST) -> bool:
    """Whether a part runs several times."""
    return isinstance(node, _LOOPS)


def argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """What a keyword gives, or the argument at this place."""
    if place is not None and len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


class Script:
    """The bindings and calls of a script.

    values: names that are bound once in the whole text, with what they are bound to. assigned: what plain assignments give each name.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.around = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
        self.bound = collections.Counter(name for node in ast.walk(tree) for name in _bound(node))
        self.parameters = collections.Counter(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
        self.assigned = collections.defaultdict[str, list[ast.expr]](list)
        self.uses = collections.defaultdict[str, list[ast.Name]](list)
        self.origins: dict[str, str] = {}
        self.calls, self.by_name = list[ast.Call](), collections.defaultdict[str, list[ast.Call]](list)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[target], value=given) | ast.AnnAssign(target=target, value=ast.expr() as given):
                    for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                        self.assigned[named(part)].append(given)
                case ast.Name(id=name, ctx=ast.Load()):
                    self.uses[name].append(node)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    for alias in names:
                        first = alias.name.split(".")[0]
                        whole = alias.name if alias.asname else first
                        self.origins[alias.asname or first] = whole if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                case ast.Call():
                    self.calls.append(node)
                    self.by_name[named(node.func)].append(node)
        self.values = {
            target.id: value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(value := node.value, ast.expr)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and self.bound[target.id] == 1
        }
        are_schedules = {id(call): self._is_of_schedules(call) for call in self.calls}
        self.schedules = {name for name, given in self.assigned.items() if any(are_schedules.get(id(one)) for one in given)}
        known = [call for call in self.calls if CALLS.get(self.called(call), {}).get("set_up")]
        set_ups = [call for call in known if self.called(call) != "make_private" or not call.args]  # JAX-Privacy's takes a config
        statements = [call for call in self.calls if self.called(call).startswith("compute_dp_sgd_privacy")]
        self.set_ups = (set_ups or statements)[:MOST_SET_UPS]
        self.library = str(CALLS[self.called(self.set_ups[0])]["library"]) if self.set_ups else ""
        self.statement = statements[0] if set_ups and len(statements) == 1 and self.library == "tensorflow_privacy" else None
        libraries = {CALLS[self.called(call)]["library"] for call in self.set_ups}
        self.is_mixed = len(libraries) > 1 or (bool(set_ups and statements) and self.statement is None)

    def called(self, call: ast.Call) -> str:
        """The known name of what is called, import aliases resolved; "" for what this text or another package defines."""
        start, name = root(call.func), named(call.func)
        if start in self.origins:
            parts = self.origins[start].split(".")
            package = parts[0]
            if package not in CALLS["words"]["known"] or self.bound[start] > 1:
                return ""
            name = parts[-1] if isinstance(call.func, ast.Name) else name
            if name == "PrivacyEngine" and package in ("fastDP", "private_transformers"):
                return "FastPrivacyEngine"
        elif isinstance(call.func, ast.Name) and self.bound[name]:
            return ""
        if name == "PrivacyEngine" and argument(call, "sample_size") is not None:
            return "FastPrivacyEngine"
        return "DPKerasOptimizer" if name in _OPTIMISERS else name

    def read(self) -> Iterator[ast.Call]:
        """The calls whose numbers are read: the set-up, and what goes with it."""
        for call in self.set_ups:
            owner = self._made(call.func.value, "PrivacyEngine") if isinstance(call.func, ast.Attribute) else None
            yield from (one for one in (owner, self.loader(call), call) if one is not None)
        if self.statement is not None:
            yield self.statement
        if self.library in ("tensorflow_privacy", "jax_privacy"):
            yield from (call for call in self.by_name["fit"] if isinstance(call.func, ast.Attribute))

    def loader(self, call: ast.Call) -> ast.Call | None:
        """The loader that a set-up takes."""
        return self._made(argument(call, "data_loader"), "DataLoader")

    def drawn_by(self) -> str:
        """What the loader is told to draw rows with, by its name; "" where it draws them itself."""
        for loader in filter(None, map(self.loader, self.set_ups)):
            for given in (argument(loader, "sampler", 3), argument(loader, "batch_sampler", 4)):
                if given is not None and not (isinstance(given, ast.Constant) and given.value is None):
                    made = self.values.get(given.id) if isinstance(given, ast.Name) else given
                    return (isinstance(made, ast.Call) and self.called(made)) or "another sampler"
        return ""

    def _made(self, node: ast.expr | None, kind: str) -> ast.Call | None:
        """The call of `kind` that an expression is, or that its name was given, if only one was; the set-up may bind the name anew."""
        given = [node] if isinstance(node, ast.Call) else self.assigned[node.id] if isinstance(node, ast.Name) else []
        found = [one for one in given if one not in self.set_ups]
        is_one = len(found) == 1 and isinstance(found[0], ast.Call) and self.called(found[0]) == kind
        return found[0] if is_one and isinstance(found[0], ast.Call) else None

    def loops(self, node: ast.AST) -> list[ast.AST] | None:
        """The loops around a part, inmost first, out through functions that are called once by name; None where that cannot be told.

        The last one is a class or a function where the text does not call it.
        """
        found, entered = list[ast.AST](), set[str]()
        while True:
            node = self.around[node]
            if isinstance(node, ast.Module):
                return found
            if isinstance(node, _LOOPS):
                found.append(node)
            elif isinstance(node, _UNCOUNTED):
                return None
            elif isinstance(node, ast.ClassDef) or (isinstance(node, _Function) and not self.uses[node.name]):
                return [*found, node]
            elif isinstance(node, _Function):
                uses = self.uses[node.name]
                site = self.around[uses[0]] if len(uses) == 1 and self.bound[node.name] == 1 else None
                if not isinstance(site, ast.Call) or site.func is not uses[0] or node.decorator_list or node.name in entered:
                    return None
                entered.add(node.name)
                node = site

    def _is_of_schedules(self, call: ast.Call) -> bool:
        names, node = self.origins.get(root(call.func), "").split("."), call.func
        while isinstance(node, ast.Attribute):
            names, node = [*names, node.attr], node.value
        return "lr_scheduler" in names

    def is_schedule(self, call: ast.Call) -> bool:
        """Whether a method belongs to a schedule of the learning rate."""
        return "sched" in root(call.func).lower() or root(call.func) in self.schedules

    def is_conditional(self, node: ast.AST) -> bool:
        """Whether a part of a loop hangs on a condition within that loop."""
        while not isinstance(node, (*_LOOPS, _Function, ast.Module)):
            node = self.around[node]
            if isinstance(node, ast.If | ast.IfExp | ast.BoolOp | ast.Try):
                return True
        return isinstance(node, _LOOPS) and any(isinstance(part, ast.Continue | ast.Return) for part in ast.walk(node))


def _bound(node: ast.AST) -> list[str]:
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name))
        ):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.split(".")[0]]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return []
