"""The white-list: what a script may do with what sets privacy up, if its numbers are to be those of the run. All else is asked about."""

import ast
import builtins
import collections
from collections.abc import Iterator, Mapping

from pillar_core.studies.check.flat import Scope, flow
from pillar_core.studies.check.rows import Rows
from pillar_core.studies.check.source import CALLS, Script, argument, bare, bindings, named, names_in, root
from pillar_core.studies.check.training import fits, is_ghost, loops, rounds, training

_WORDS: Mapping[str, list[str]] = CALLS["words"]
_Reasons = Iterator[tuple[int, str]]


class Forms:
    """The uses of each name that a set-up binds or takes.

    kinds: what each such name stands for, a row of `uses` in calls.toml; told by `reasons`.
    """

    def __init__(self, tree: ast.Module, script: Script) -> None:
        self.tree, self.script = tree, script
        self.kinds: dict[str, str] = {}
        self._settings: dict[str, bool] = {}

    def reasons(self) -> _Reasons:
        """(line, why) of each statement by which the run may be another than the set-up's numbers say."""
        yield from _hiding(self.tree)
        script = self.script
        if len(script.set_ups) != 1 or script.is_mixed:
            lines = [call.lineno for call in script.set_ups]
            yield (lines[-1], "privacy is set up more than once") if lines else (1, "no call is known here that sets up privacy")
            return
        self.call = script.set_ups[0]
        self.place = script.statement_of(self.call)
        if not isinstance(self.place, ast.Assign | ast.Expr) or self.place.value is not self.call:
            yield self.call.lineno, "privacy is set up in a loop, a condition, or a function that is not called once by itself"
            return
        yield from self._named()
        yield from self._uses()
        yield from self._aliases()
        yield from self._changes()
        yield from self._seeds()
        yield from self._statistics()
        yield from training(script, self.kinds) if script.library_of(self.call) == "opacus" else fits(script, self.kinds)

    def length(self) -> list[ast.expr] | None:
        """The ends of the range over which Opacus's training runs, [1] for one pass; None where the text shows no training."""
        found = loops(self.script, self.kinds) if "loader" in self.kinds.values() else []
        outer = self.script.around[found[0]] if found else None
        return [ast.Constant(1)] if isinstance(outer, ast.Module) else rounds(self.script, outer) if isinstance(outer, ast.For) else None

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
            elif isinstance(call.func, ast.Attribute) and bare(call.func.value):
                kinds[bare(call.func.value)] = "engine"
            yield from self._loader_of_known_rows()
            for name, value in script.values.items():
                if isinstance(value, ast.Call) and script.called(value) == "scheduler":
                    kinds[name] = "scheduler"
            names = ("model", "optimizer", "criterion", "loader") if is_ghost(call) else ("model", "optimizer", "loader")
            match targets:
                case []:
                    return
                case [ast.Tuple(elts=parts)] if len(parts) == len(names) and all(isinstance(part, ast.Name) for part in parts):
                    kinds |= {part.id: kind for part, kind in zip(parts, names, strict=True) if isinstance(part, ast.Name)}
                case _:
                    yield call.lineno, "what is set up is not bound to one name each"
            return
        if len(targets) == 1 and bare(targets[0]):
            kinds[bare(targets[0])] = {"fastdp": "attached", "jax_privacy": "config"}.get(library, "compiled")
        elif targets:
            yield call.lineno, "what is set up is not bound to one name"
        for other in script.calls:
            if library != "fastdp" and named(other.func) in ("compile", "fit") and isinstance(other.func, ast.Attribute):
                kinds[root(other.func)] = "keras"
            if library == "jax_privacy" and script.called(other) == "make_private":
                kinds |= {root(part): "keras" for part in other.args[:1]}
                owner = script.around.get(other)
                kinds |= {bare(target): "keras" for target in getattr(owner, "targets", [])}
        if library == "fastdp":
            kinds |= {root(part): "original" for part in call.args[:1]}
            for other in script.by_name["attach"]:
                kinds |= {bare(part): "attaching" for part in (*other.args, *(keyword.value for keyword in other.keywords))}
        kinds.pop("", None)

    def _loader_of_known_rows(self) -> _Reasons:
        """The loader, if the text makes it, goes over one set, each row once, or by weights."""
        script, given = self.script, argument(self.call, "data_loader")
        loader = script.loader(self.call)
        if loader is None:
            parts = (part for place in script.module.body if place is not self.place for part in ast.walk(place))
            stored = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            if isinstance(given, ast.Call) or bare(given) in stored:
                yield self.call.lineno, "the loader is not a DataLoader that the text makes once"
            return
        rows = argument(loader, "dataset", 0)
        made = script.made(rows)
        is_named = isinstance(rows, ast.Name) and script.is_free(rows.id)
        if not is_named and not (isinstance(made, ast.Call) and script.called(made) in _WORDS["sets"] and self._are_known(made)):
            yield loader.lineno, f"which rows {ast.unparse(loader):.60} draws is not known, or what they were worked out from"
        if (drawn := argument(loader, "sampler", 3)) is not None and not script.is_weighted():
            yield loader.lineno, f"which rows {ast.unparse(drawn):.60} draws is not known"

    def _are_known(self, made: ast.Call) -> bool:
        """Whether a set holds rows as they were loaded, changed by constants alone."""
        rows, given = Rows(self.script), [*made.args, *(keyword.value for keyword in made.keywords)]
        return all(map(rows.are_loaded if self.script.called(made) == "TensorDataset" else rows.are_fixed, given))

    def _uses(self) -> _Reasons:
        """Each use of a tracked name against those that are known of its kind."""
        script, stored = self.script, collections.Counter[str]()
        nodes = [node for node in ast.walk(script.module) if isinstance(node, ast.Name)]
        stores = collections.Counter(node.id for node in nodes if not isinstance(node.ctx, ast.Load))
        for name in self.kinds:
            if script.bound[name] > stores[name]:
                yield self.call.lineno, f"an import or a definition may give {name} another meaning"
        for node in (one for one in nodes if one.id in self.kinds):
            kind, place = self.kinds[node.id], script.statement_of(node)
            if place is self.place:
                continue
            is_before = place is not None and script.place_of[id(place)] < script.place_of[id(self.place)]
            use = self._use(node)
            if use == "=" and kind in ("engine", "keras", "scheduler"):
                is_known = not stored[node.id] or kind == "keras"
            elif is_before and isinstance(place, ast.Assign) and len(place.targets) == 1 and named(place.targets[0]) in self.kinds:
                is_known = use in ("=", "to()", "cuda()", "train()", "eval()", "in fix") or self._is_optimised(node, place)
                is_known &= not self._is_loader(node.id) or (use == "=" and not stored[node.id])
            else:
                is_known = use in (CALLS["uses"][kind] if not is_before else ("to()", "cuda()", "train()", "eval()", "in print", "in len"))
            stored[node.id] += use == "="
            if not is_known or (not is_before and kind != "engine" and self._is_conditional(node)):
                yield node.lineno, f"“{ast.unparse(self._shown(node)).splitlines()[0]:.60}” is not a known use of {node.id.split('@')[0]}"

    def _is_optimised(self, node: ast.Name, place: ast.Assign) -> bool:
        """Whether a model's parameters go straight into an optimiser that is no class of this text's own."""
        call = self.script.around.get(self.script.around[node])
        made = place.value
        is_known = isinstance(made, ast.Call) and bool(self.script.called(made)) and call in made.args
        return is_known and self._use(node) == "parameters()"

    def _is_conditional(self, node: ast.AST) -> bool:
        """Whether it hangs on a condition: what is done to the model would then tell more than its noisy steps do."""
        while node is not self.script.module:
            node = self.script.around[node]
            if isinstance(node, ast.If | ast.IfExp | ast.BoolOp | ast.While | ast.Try | ast.Assert):
                return True
        return False

    def _is_loader(self, name: str) -> bool:
        return name in (bare(argument(self.call, "data_loader")), bare(argument(self.call, "optimizer")))

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

    def _aliases(self) -> _Reasons:
        """Parts of the model and optimiser, and what holds them, once these are set up."""
        tied, place_of = collections.defaultdict[str, set[str]](set), self.script.place_of
        for node in (part for statement in self.script.module.body[: place_of[id(self.place)]] for part in flow(statement)):
            for target, value in bindings(node):
                for name in (part.id for part in self._held(value)):
                    tied[target].add(name)
                    tied[name].add(target)
        seen = names_in(*(argument(self.call, name) for name in ("module", "model", "optimizer", "criterion")), *self.call.args)
        waiting = list(seen)
        while waiting:
            more = tied[waiting.pop()] - seen - {name for name, kind in self.kinds.items() if kind in ("engine", "loader")}
            seen |= more
            waiting += more
        making = {
            id(one)
            for one in self.script.module.body[: place_of[id(self.place)]]
            if isinstance(one, ast.Assign)
            and not any(isinstance(part, ast.Call) and named(part.func).endswith("_") for part in ast.walk(one))
        }
        loader = self.script.loader(self.call)
        made = self.script.made(argument(loader, "dataset", 0)) if loader is not None else None
        fed = [made] if isinstance(made, ast.Call) and self.script.called(made) == "TensorDataset" else self.script.fits
        for name in seen & names_in(*fed) - set(self.kinds):
            yield self.call.lineno, f"the model or the optimiser is made from {name}, which holds rows"
        for name in seen - set(self.kinds):
            for node in self.script.uses[name]:
                place = self.script.statement_of(node)
                if place is not self.place and id(place) not in making and not self._is_setting(node):
                    yield node.lineno, f"{name.split('@')[0]} is a part of what is set up, or holds one: its use here is not followed"

    def _statistics(self) -> _Reasons:
        """What is worked out from several rows before training: it may enter rows, first weights or the step size."""
        last = max((self.script.place_of.get(id(self.script.statement_of(one)), 0) for one in self.script.fits), default=0)
        for statement in self.script.module.body[: max(last + 1, self.script.place_of[id(self.place)])]:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Name(id="print") | ast.Attribute(attr="print"))):
                    continue
            for part in ast.walk(statement):
                if isinstance(part, ast.Attribute) and part.attr in _WORDS["statistics"]:
                    yield part.lineno, f"{ast.unparse(part):.40} may carry what many rows are into one, or into the model"

    def _held(self, value: ast.expr) -> Iterator[ast.Name]:
        """The names that a value may hold a part of: those of this text that are no numbers, sizes, devices or options."""
        if self._is_setting(value):
            return
        if isinstance(value, ast.Name):
            yield value
        is_moved = isinstance(value, ast.Call) and named(value.func) in ("to", "cuda")
        for inner in [value.func] if isinstance(value, ast.Call) and is_moved else ast.iter_child_nodes(value):
            yield from (
                self._held(inner.value if isinstance(inner, ast.keyword) else inner) if isinstance(inner, ast.expr | ast.keyword) else ()
            )

    def _is_setting(self, value: ast.expr) -> bool:
        script = self.script
        match value:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                if name not in self._settings:
                    self._settings[name] = False  # of itself
                    self._settings[name] = script.is_free(name) or (name in script.values and self._is_setting(script.values[name]))
                return self._settings[name]
            case ast.Attribute(value=inner, attr=attribute):
                return attribute == "shape" or self._is_setting(inner)
            case ast.Call(func=function):
                return named(function) in _WORDS["settings"]
            case ast.Subscript(value=one) | ast.UnaryOp(operand=one):
                return self._is_setting(one)
            case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
                return self._is_setting(one) and self._is_setting(other)
        return False

    def _changes(self) -> _Reasons:
        """Calls of what the text does not define, and changes of what it imports."""
        script = self.script
        for node in ast.walk(script.module):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                start, text = root(node), ast.unparse(node)
                made = script.values.get(start)
                is_kept = isinstance(node, ast.Subscript) or (isinstance(made, ast.Call) and named(made.func) == "parse_args")
                if start != "self" and (script.is_free(start) or not is_kept) and not text.startswith(("torch.backends.", "os.environ[")):
                    yield node.lineno, f"{text:.40} is changed"
        for node in flow(script.module):
            if not isinstance(node, ast.Call):
                continue
            if _keeps(node):
                yield node.lineno, f"{ast.unparse(node):.40} keeps something of the rows that it sees, without noise"
            in_place = {keyword.arg for keyword in node.keywords} & {"inplace", "out"}
            if in_place or (named(node.func).endswith("_") and not named(node.func).endswith("__")):
                yield node.lineno, f"{ast.unparse(node):.40} changes something in place"
            start, name = root(node.func), named(node.func)
            is_free = start and not script.bound[start] and start not in self.kinds and not hasattr(builtins, start)
            is_known = (
                start in _WORDS["free_roots"]
                or name in (*_WORDS["free_calls"], *set(CALLS) - {"fit"}, "tqdm", "trange")
                or name[:1].isupper()
            )
            if is_free and not is_known:
                yield node.lineno, f"{ast.unparse(node.func):.40} is not defined in this text"

    def _seeds(self) -> _Reasons:
        """Seeds that are set by more than one statement by itself, also within functions that stay as they are, or under another name."""
        again, seeds, shown = _WORDS["restored"], _WORDS["seeds"], {id(node) for node in flow(self.script.module)}
        for node in ast.walk(self.script.module):
            match node:
                case ast.alias(name=name, asname=str()) if name.split(".")[-1] in (*again, *seeds):
                    yield getattr(node, "lineno", 1), f"{name} under another name may have the same noise drawn again"
                case ast.Call() if named(node.func) in again or "default_generator" in ast.unparse(node.func):
                    yield node.lineno, f"{ast.unparse(node):.40} may have the same noise drawn again"
                case ast.Call() if named(node.func) in seeds and not (id(node) in shown and self._is_once(node)):
                    yield node.lineno, f"{ast.unparse(node):.40} is not called once, by itself: steps may draw the same noise"

    def _is_once(self, call: ast.Call) -> bool:
        statement = self.script.around[call]
        return isinstance(statement, ast.Expr) and self.script.around[statement] is self.script.module


def _keeps(call: ast.Call) -> bool:
    """Whether a layer may change itself by what it is shown: embeddings that renormalise, statistics that run along."""
    is_limited = named(call.func) in ("Embedding", "EmbeddingBag") and len(call.args) > 3
    return is_limited or any(keyword.arg in ("max_norm", "track_running_stats") for keyword in call.keywords)


def _hiding(tree: ast.Module) -> _Reasons:
    """What may change any value or meaning behind the text's back."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute() if named(node) in _WORDS["hiding" if bare(node) else "hiding_parts"]:
                yield node.lineno, f"{ast.unparse(node):.40} may change any value"
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) if name in _WORDS["unfollowed_parts"]:
                yield node.lineno, f"what {name} does to the run is not followed"
            case ast.ClassDef(name=name):
                yield node.lineno, f"what class {name} does to rows or steps is not followed"
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                yield node.lineno, "import * may give any name another value"
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    whole = f"{node.module or ''}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                    if whole.split(".")[0] == "opacus" and alias.name not in _WORDS["opacus"]:
                        yield node.lineno, f"what {whole} changes is not known"
                    if whole.split(".")[0] in _WORDS["hiding_modules"]:
                        yield node.lineno, f"{whole} may change any value"
                    if any(word in whole.lower() for word in _WORDS["several"]):
                        yield node.lineno, f"{whole} may let one step sum over the batches of several processes"
            case ast.Attribute(attr=name, value=ast.Name(id="opacus")) if name not in _WORDS["opacus"]:
                yield node.lineno, f"what opacus.{name} changes is not known"
            case ast.Name(id=name) | ast.Attribute(attr=name) if any(word in name.lower() for word in _WORDS["several"]):
                yield node.lineno, f"{name} may let one step sum over the batches of several processes"
            case ast.Match() | ast.Global() | ast.Nonlocal():
                yield node.lineno, f"{type(node).__name__.lower()} may give a name another value"
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) if hasattr(builtins, name) and name != "__init__":
                yield node.lineno, f"{name} is given another meaning"
            case ast.alias() if hasattr(builtins, node.asname or node.name) and node.name != "tqdm":
                yield node.lineno, f"{node.asname or node.name} is given another meaning"
