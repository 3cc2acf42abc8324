"""The white-list: what a script may do with what sets privacy up, if its numbers are to be those of the run. All else is asked about."""

import ast
import builtins
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pillar_core.studies.check.flat import Scope, bound, flat, flow

CALLS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("calls.toml").read_text(encoding="utf-8"))
_USES: Mapping[str, list[str]] = CALLS["uses"]
_KNOWN = ("opacus", "tensorflow_privacy", "fastDP", "private_transformers", "jax_privacy", "torch", "torchvision", "tqdm", "absl")
_KERAS = {"", "Vectorized"}
_OPTIMISERS = {f"{first}DPKeras{kind}Optimizer" for first in _KERAS for kind in ("SGD", "Adam", "Adagrad")}
_OPTIMISERS |= {"DPGradientDescentGaussianOptimizer"}
_SETS = ("TensorDataset", "ImageFolder", "MNIST", "FashionMNIST", "EMNIST", "KMNIST", "CIFAR10", "CIFAR100", "SVHN", "STL10")
_HIDING = ("exec", "eval", "globals", "vars", "locals", "setattr", "delattr", "__import__", "compile")
_HIDING_PARTS = ("__dict__", "__class__", "__setattr__", "reload", "argv", "modules")
_OPACUS = ("opacus", "PrivacyEngine", "ModuleValidator", "validators")
_SEVERAL = ("distributed", "parallel", "dpddp", "accelerat")
_BESIDE = ("print", "int", "float", "ArgumentParser", "add_argument", "parse_args")
_FREE_ROOTS = ("torch", "nn", "F", "np", "numpy", "optim", "opacus", "tf", "keras", "tfp", "datasets", "transforms", "logging", "flags")
_FREE_CALLS = ("backward", "criterion", "loss_fn", "to", "cuda", "item", "add_argument", "parse_args", "append")
_MOVES = ("to", "cuda", "float", "long", "view", "reshape", "flatten", "squeeze", "unsqueeze")
_Reasons = Iterator[tuple[int, str]]


def named(node: ast.expr) -> str:
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


class Script:
    """A script as a row of statements, what each name comes from, and the one call that sets privacy up."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = flat(tree)
        self.around = {inner: node for node in ast.walk(self.module) for inner in ast.iter_child_nodes(node)}
        self.bound = bound(self.module)
        self.origins: dict[str, str] = {}
        for node in ast.walk(self.module):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else []:
                module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                self.origins[alias.asname or alias.name.split(".")[0]] = module + (
                    alias.name if alias.asname or module else alias.name.split(".")[0]
                )
        self.calls = [node for node in ast.walk(self.module) if isinstance(node, ast.Call)]
        set_ups = [call for call in self.calls if CALLS.get(self.called(call), {}).get("set_up") and not self._wraps(call)]
        statements = [call for call in self.calls if self.called(call).startswith("compute_dp_sgd_privacy")]
        self.set_ups = set_ups or statements
        self.statement = statements[0] if set_ups and len(statements) == 1 and self.library_of(set_ups[0]) == "tensorflow_privacy" else None
        self.stored = {
            ast.unparse(node) for node in ast.walk(self.module) if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        self.values = dict(self._bound_once())
        self.is_mixed = bool(set_ups and statements) and self.statement is None

    def called(self, call: ast.Call) -> str:
        """The known name of what is called, import aliases resolved; "" for what this text or another package defines."""
        start, name = root(call.func), named(call.func)
        if start in self.origins:
            whole = f"{self.origins[start]}{ast.unparse(call.func).removeprefix(start)}".split(".")
            if whole[0] not in _KNOWN or self.bound[start] > 1:
                return ""
            name = "scheduler" if whole[:3] == ["torch", "optim", "lr_scheduler"] else whole[-1]
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
            yield from (call for call in self.calls if named(call.func) == "fit" and isinstance(call.func, ast.Attribute))

    def loader(self, call: ast.Call) -> ast.Call | None:
        """The loader that a set-up takes."""
        given = self.made(argument(call, "data_loader"))
        return given if isinstance(given, ast.Call) and self.called(given) == "DataLoader" else None

    def made(self, node: ast.expr | None) -> ast.expr | None:
        """A call, or the one that a name was first bound to, which the set-up may bind anew."""
        if isinstance(node, ast.Name):
            bindings = [
                one.value
                for one in self.module.body
                if isinstance(one, ast.Assign) and [named(target) for target in one.targets] == [node.id]
            ]
            return bindings[0] if len(bindings) == 1 else None
        return node

    def is_weighted(self) -> bool:
        """Whether the loader draws rows by weights."""
        drawn = [self.meant(argument(one, "sampler")) for call in self.set_ups if (one := self.loader(call))]
        return any(isinstance(one, ast.Call) and self.called(one) == "WeightedRandomSampler" for one in drawn)

    def is_only_read(self, name: str) -> bool:
        """Whether nothing but attributes of a name is read."""
        uses = [
            self.around[node]
            for node in ast.walk(self.module)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        return all(isinstance(use, ast.Attribute) and isinstance(use.ctx, ast.Load) for use in uses)

    def is_parser(self, name: str) -> bool:
        """Whether options are added to a parser and read, and nothing else."""
        uses = [
            self.around[node]
            for node in ast.walk(self.module)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        return all(isinstance(use, ast.Attribute) and use.attr in ("add_argument", "parse_args") for use in uses)

    def meant(self, node: ast.expr | None) -> ast.expr | None:
        """A call, or the one that a name stands for."""
        return self.values.get(node.id) if isinstance(node, ast.Name) else node

    def statement_of(self, node: ast.AST, body: list[ast.stmt]) -> ast.stmt | None:
        """The statement among `body` that holds a part; None for a part of a function or class."""
        while node not in body and node is not self.module:
            if isinstance(node, Scope):
                return None
            node = self.around[node]
        return node if isinstance(node, ast.stmt) and not isinstance(node, Scope) else None

    def engine(self, call: ast.Call) -> ast.Call | None:
        """The engine whose method a set-up calls."""
        owner = self.meant(call.func.value) if isinstance(call.func, ast.Attribute) else None
        return owner if isinstance(owner, ast.Call) and self.called(owner) == "PrivacyEngine" else None

    def _wraps(self, call: ast.Call) -> bool:
        """Whether it is JAX-Privacy's make_private(model, config), which has its numbers from the config."""
        return self.called(call) == "make_private" and bool(call.args)


def argument(call: ast.Call, name: str) -> ast.expr | None:
    """What a keyword gives."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def training_loops(script: Script) -> list[ast.expr] | None:
    """The ends of the range over which Opacus's training runs, [1] for one pass; None where the text shows no training."""
    if len(script.set_ups) != 1 or script.library_of(script.set_ups[0]) != "opacus":
        return None
    forms = _Forms(script)
    list(forms.reasons())
    if not (loops := forms.loops()):
        return None
    outer = script.around[loops[0]]
    return forms.rounds(outer) if isinstance(outer, ast.For) else [ast.Constant(1)]


def unfollowed(tree: ast.Module, script: Script) -> _Reasons:
    """(line, why) of each statement by which the run may be another than the set-up's numbers say."""
    yield from _hiding(tree)
    if len(script.set_ups) != 1 or script.is_mixed:
        lines = [call.lineno for call in script.set_ups]
        yield (lines[-1], "privacy is set up more than once") if lines else (1, "no call is known here that sets up privacy")
        return
    yield from _Forms(script).reasons()


def _hiding(tree: ast.Module) -> _Reasons:
    """What may change any value or meaning behind the text's back."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in _HIDING:
                yield node.lineno, f"{name} may change any value"
            case ast.Attribute(attr=name) if name in _HIDING_PARTS:
                yield node.lineno, f"{ast.unparse(node):.40} may change any value"
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                yield node.lineno, "import * may give any name another value"
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    whole = f"{node.module or ''}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                    if whole.split(".")[0] == "opacus" and alias.name not in _OPACUS:
                        yield node.lineno, f"what {whole} changes is not known"
                    if any(word in whole.lower() for word in _SEVERAL):
                        yield node.lineno, f"{whole} may let one step sum over the batches of several processes"
            case ast.Attribute(attr=name, value=ast.Name(id="opacus")) if name not in _OPACUS:
                yield node.lineno, f"what opacus.{name} changes is not known"
            case ast.Name(id=name) | ast.Attribute(attr=name) if any(word in name.lower() for word in _SEVERAL):
                yield node.lineno, f"{name} may let one step sum over the batches of several processes"
            case ast.Match() | ast.Global() | ast.Nonlocal():
                yield node.lineno, f"{type(node).__name__.lower()} may give a name another value"
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) if hasattr(builtins, name):
                yield node.lineno, f"{name} is given another meaning"
            case ast.alias() if hasattr(builtins, node.asname or node.name) and node.name != "tqdm":
                yield node.lineno, f"{node.asname or node.name} is given another meaning"


class _Forms:
    """The uses of each name that a set-up binds or takes."""

    def __init__(self, script: Script) -> None:
        self.script, self.call = script, script.set_ups[0]
        self.body = script.module.body
        self.kinds: dict[str, str] = {}

    def reasons(self) -> _Reasons:
        """(line, why) of all that is of no known form."""
        script, call = self.script, self.call
        self.place = script.statement_of(call, self.body)
        if not isinstance(self.place, ast.Assign | ast.Expr) or self.place.value is not call:
            yield call.lineno, "privacy is set up in a loop, a condition, or a function that is not called once by itself"
            return
        yield from self._named()
        yield from self._uses()
        yield from self._changes()
        yield from self._training() if script.library_of(call) == "opacus" else self._fits()

    def _named(self) -> _Reasons:
        """Gives each tracked name its kind."""
        script, call, kinds = self.script, self.call, self.kinds
        targets = self.place.targets if isinstance(self.place, ast.Assign) else []
        library = script.library_of(call)
        for keyword in call.keywords:
            if keyword.arg in ("module", "optimizer", "data_loader", "criterion", "model"):
                if isinstance(keyword.value, ast.Name):
                    kinds[keyword.value.id] = "original"
                elif not isinstance(keyword.value, ast.Call):
                    yield call.lineno, f"{ast.unparse(keyword.value):.40} is a part of something else"
        if library == "opacus":
            if script.engine(call) is None:
                yield call.lineno, f"{ast.unparse(call.func):.40} is not known to be Opacus's own"
            elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                kinds[call.func.value.id] = "engine"
            yield from self._loader_of_known_rows()
            names = ("model", "optimizer", "criterion", "loader") if "ghost" in ast.unparse(call) else ("model", "optimizer", "loader")
            match targets:
                case []:
                    return
                case [ast.Tuple(elts=parts)] if len(parts) == len(names) and all(isinstance(part, ast.Name) for part in parts):
                    kinds |= {part.id: kind for part, kind in zip(parts, names, strict=True) if isinstance(part, ast.Name)}
                case _:
                    yield call.lineno, "what is set up is not bound to one name each"
            return
        single = targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Name) else None
        if targets and single is None:
            yield call.lineno, "what is set up is not bound to one name"
        if single is not None:
            kinds[single.id] = {"fastdp": "attached", "jax_privacy": "config"}.get(library, "compiled")
        for other in script.calls:
            if library != "fastdp" and named(other.func) in ("compile", "fit") and isinstance(other.func, ast.Attribute):
                kinds[root(other.func)] = "keras"
            if library == "jax_privacy" and script.called(other) == "make_private":
                kinds |= {root(part): "keras" for part in other.args[:1]}
                owner = script.around.get(other)
                kinds |= {target.id: "keras" for target in getattr(owner, "targets", []) if isinstance(target, ast.Name)}
        if library == "fastdp":
            kinds |= {root(part): "original" for part in call.args[:1]}
            for other in script.calls:
                if named(other.func) == "attach":
                    kinds |= {part.id: "attaching" for part in other.args if isinstance(part, ast.Name)}
        kinds.pop("", None)

    def _loader_of_known_rows(self) -> _Reasons:
        """The loader, if the text makes it, goes over one set, each row once, or by weights."""
        script, given = self.script, argument(self.call, "data_loader")
        loader = script.loader(self.call)
        if loader is None:
            if isinstance(given, ast.Call) or (
                isinstance(given, ast.Name)
                and any(
                    named(node) == given.id
                    for place in self.body
                    if place is not self.place
                    for node in ast.walk(place)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                )
            ):
                yield self.call.lineno, "the loader is not a DataLoader that the text makes once"
            return
        rows = [*loader.args[:1], argument(loader, "dataset")][0]
        made = script.made(rows)
        is_named = isinstance(rows, ast.Name) and (not script.bound[rows.id] or rows.id in script.origins)
        if not is_named and not (isinstance(made, ast.Call) and script.called(made) in _SETS):
            yield loader.lineno, f"which rows {ast.unparse(loader):.60} draws is not known"
        if (drawn := argument(loader, "sampler") or next(iter(loader.args[3:4]), None)) is not None and not script.is_weighted():
            yield loader.lineno, f"which rows {ast.unparse(drawn):.60} draws is not known"

    def _uses(self) -> _Reasons:
        """Each use of a tracked name against those that are known of its kind."""
        stored = dict[str, int]()
        nodes = [node for node in ast.walk(self.script.module) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
        for name in self.kinds:
            if self.script.bound[name] > sum(node.id == name for node in nodes):
                yield self.call.lineno, f"an import or a definition may give {name} another meaning"
        for node in ast.walk(self.script.module):
            if not isinstance(node, ast.Name) or node.id not in self.kinds:
                continue
            kind, place = self.kinds[node.id], self.script.statement_of(node, self.body)
            if place is self.place:
                continue
            is_before = place is not None and self.body.index(place) < self.body.index(self.place)  # type: ignore[arg-type]
            use = self._use(node)
            if use == "=" and kind in ("engine", "keras"):
                is_known = stored.get(node.id, 0) == 0 or kind == "keras"
            elif is_before and isinstance(place, ast.Assign) and len(place.targets) == 1 and named(place.targets[0]) in self.kinds:
                is_known = use in ("=", "to()", "cuda()", "train()", "eval()", "in fix") or self._is_optimised(node, place)
                is_known &= not self._is_loader(node.id) or (use == "=" and stored.get(node.id, 0) == 0)
            else:
                is_known = use in (_USES[kind] if not is_before else ("to()", "cuda()", "train()", "eval()", "in print", "in len"))
            stored[node.id] = stored.get(node.id, 0) + (use == "=")
            if not is_known:
                yield node.lineno, f"“{ast.unparse(self._shown(node)).splitlines()[0]:.60}” is not a known use of {node.id.split('@')[0]}"

    def _is_optimised(self, node: ast.Name, place: ast.Assign) -> bool:
        """Whether a model's parameters go straight into an optimiser that is no class of this text's own."""
        call = self.script.around.get(self.script.around[node])
        made = place.value
        is_known = isinstance(made, ast.Call) and bool(self.script.called(made)) and call in made.args
        return is_known and self._use(node) == "parameters()"

    def _is_loader(self, name: str) -> bool:
        given = argument(self.call, "data_loader"), argument(self.call, "optimizer")
        return any(isinstance(one, ast.Name) and one.id == name for one in given)

    def _shown(self, node: ast.AST) -> ast.AST:
        while isinstance(node, ast.expr) and isinstance(self.script.around.get(node), ast.expr):
            node = self.script.around[node]
        around = self.script.around.get(node, node)
        return node if isinstance(around, ast.For | ast.While | ast.If | ast.With | ast.Module | Scope) else around

    def _use(self, node: ast.expr) -> str:
        """A use in short: what is called of a name, or where the name goes."""
        around = self.script.around.get(node)
        match around:
            case ast.Call(func=func) if func is node:
                return "()"
            case ast.Call():
                return f"in {self.script.called(around) or '?'}"
            case ast.keyword():
                call = self.script.around[around]
                return f"in {self.script.called(call) or '?'}" if isinstance(call, ast.Call) else "?"
            case ast.Attribute(attr="accountant"):
                return self._use(around)
            case ast.Attribute(attr=method):
                owner = self.script.around.get(around)
                if not isinstance(owner, ast.Call) or owner.func is not around:
                    return f".{method}"
                return f"{method}() {self._use(owner)}" if method == "state_dict" else f"{method}()"
            case ast.For(iter=given) if given is node:
                return "for"
            case ast.Assign(targets=[target]) if target is node:
                return "="
        return "?"

    def _changes(self) -> _Reasons:
        """Calls of what the text does not define, and changes of what it imports."""
        script = self.script
        for node in ast.walk(script.module):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                start, text = root(node), ast.unparse(node)
                is_foreign = start != "self" and (start in script.origins or not script.bound[start])
                if is_foreign and not text.startswith(("torch.backends.", "os.environ[")):
                    yield node.lineno, f"{text:.40} is changed"
        for node in flow(script.module):
            if not isinstance(node, ast.Call):
                continue
            start, name = root(node.func), named(node.func)
            is_free = start and not script.bound[start] and start not in self.kinds and not hasattr(builtins, start)
            is_known = start in _FREE_ROOTS or name in (*_FREE_CALLS, *set(CALLS) - {"fit"}, "tqdm", "trange") or name[:1].isupper()
            if is_free and not is_known:
                yield node.lineno, f"{ast.unparse(node.func):.40} is not defined in this text"

    def _peeled(self, given: ast.expr) -> ast.expr:
        """What a loop goes over, without what counts or shows its rounds."""
        is_around = isinstance(given, ast.Call) and given.args and self.script.called(given) in ("enumerate", "tqdm")
        return self._peeled(given.args[0]) if isinstance(given, ast.Call) and is_around else given

    def loops(self) -> list[ast.For]:
        """The loops over the batches of the loader that the set-up bound."""
        found = [node for node in flow(self.script.module) if isinstance(node, ast.For)]
        return [
            node
            for node in found
            if self.kinds.get(root(self._peeled(node.iter))) == "loader" and isinstance(self._peeled(node.iter), ast.Name)
        ]

    def _training(self) -> _Reasons:
        """One loop over the loader's batches, in at most one over a range, with one step a batch."""
        script, loops = self.script, self.loops()
        backward = [call for call in script.calls if named(call.func) == "backward"]
        steps = [call for call in script.calls if named(call.func) == "step" and self.kinds.get(root(call.func)) == "optimizer"]
        looped = [
            node
            for node in ast.walk(script.module)
            if isinstance(node, ast.Name) and self.kinds.get(node.id) == "loader" and self._use(node) in ("for", "in enumerate", "in tqdm")
        ]
        outside = [*looped[len(loops) :], *backward[1:], *steps[1:]] if loops else [*looped, *backward, *steps]
        for part in outside:
            yield part.lineno, "more than one loop over the loader's batches, with one backward and one step a batch, is not followed"
        if not loops or outside:
            return
        loop = loops[0]
        for call in (*backward, *steps):
            if script.around.get(call) not in loop.body:
                yield call.lineno, f"{ast.unparse(call):.40} is not taken once for each batch"
        for call in steps:
            if call.args or call.keywords:
                yield call.lineno, "a step that is given something may run the model again"
        places = [loop.body.index(around) for call in (*backward, *steps) if (around := script.around[call]) in loop.body]
        if places != sorted(places):
            yield steps[0].lineno, "a step comes before its backward"
        outer = script.around[loop]
        is_plain = outer is script.module or (
            isinstance(outer, ast.For) and loop in outer.body and script.around[outer] is script.module and self.rounds(outer) is not None
        )
        if not is_plain or loop.orelse:
            yield loop.lineno, "this loop stands in more than one plain loop over a range"
        for node in (inner for statement in loop.body for inner in ast.walk(statement)):
            if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.Try | ast.While | ast.With):
                yield node.lineno, f"{type(node).__name__.lower()} in the loop over batches may join several into one step"
        yield from self._batches(loop)

    def rounds(self, loop: ast.For) -> list[ast.expr] | None:
        """The ends of the range that a loop runs over."""
        given = self._peeled(loop.iter)
        is_range = isinstance(given, ast.Call) and self.script.called(given) in ("range", "trange") and 0 < len(given.args) < 3
        return (
            given.args if is_range and isinstance(given, ast.Call) and not any(isinstance(one, ast.Starred) for one in given.args) else None
        )

    def _batches(self, loop: ast.For) -> _Reasons:
        """The model sees each batch once, as the loader gave it."""
        own = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        for statement in loop.body:
            if any(root(changed) in own for part in ast.walk(statement) for changed in _changed(part)):
                yield statement.lineno, f"“{ast.unparse(statement).splitlines()[0]:.40}” may change the batch"
            is_kept = isinstance(statement, ast.Assign) and self._is_of_batch(statement.value, own)
            names = set(bound(statement))
            for call in (
                node for node in ast.walk(statement) if isinstance(node, ast.Call) and self.kinds.get(named(call_of(node))) == "model"
            ):
                if not all(self._is_of_batch(one, own) for one in (*call.args, *(keyword.value for keyword in call.keywords))):
                    yield call.lineno, f"{ast.unparse(call):.40} may see other rows than the batch's"
            own = own | names if is_kept else own - names
        seen = [node for node in ast.walk(loop) if isinstance(node, ast.Call) and self.kinds.get(named(call_of(node))) == "model"]
        for call in seen[1:]:
            yield call.lineno, "the model is called more than once for a batch"
        for call in seen[:1]:
            if isinstance(self.script.statement_of(call, loop.body), ast.For | ast.While):
                yield call.lineno, "the model is called in a loop within the loop over batches"

    def _is_of_batch(self, given: ast.expr, own: set[str]) -> bool:
        match given:
            case ast.Name(id=name):
                return name in own
            case ast.Tuple(elts=parts):
                return all(self._is_of_batch(part, own) for part in parts)
            case ast.Subscript(value=inner, slice=ast.Constant()):
                return isinstance(inner, ast.Name) and inner.id in own
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _MOVES:
                return self._is_of_batch(inner, own)
        return False

    def _fits(self) -> _Reasons:
        """At most one call of fit, by itself, on whole arrays."""
        fits = [call for call in self.script.calls if named(call.func) == "fit"]
        if not CALLS[self.script.called(self.call)].get("set_up"):
            for call in self.script.calls:
                if call is not self.call and named(call.func) not in _BESIDE and not named(call.func).startswith("DEFINE_"):
                    yield call.lineno, f"what {ast.unparse(call.func):.40} trains, beside a statement of another run, is not known"
        for call in (call for call in self.script.calls if named(call.func) == "compile"):
            taken = {self.kinds.get(node.id) for node in ast.walk(call) if isinstance(node, ast.Name)}
            if self.script.library_of(self.call) == "tensorflow_privacy" and "compiled" not in taken:
                yield call.lineno, "compile does not take the optimiser that adds the noise"
        for call in fits:
            place = self.script.around.get(call)
            keywords = {keyword.arg for keyword in call.keywords}
            if (
                place not in self.body
                or len(fits) > 1
                or len(call.args) > 2
                or keywords - {*CALLS["fit"]["fields"], *CALLS["fit"]["others"]}
            ):
                yield call.lineno, "fit is not called once, with x, y, epochs and batch_size alone"


def _changed(part: ast.AST) -> list[ast.expr]:
    """What a part of a statement may change in place."""
    match part:
        case ast.AugAssign(target=target):
            return [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as func)) if method != "backward":
            return [func]
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return [part]
    return []


def call_of(call: ast.Call) -> ast.expr:
    """What is called, where that is a name by itself."""
    return call.func if isinstance(call.func, ast.Name) else ast.Constant(None)
