"""How often a script's text runs its parts, and how far it walks through its loaders: a count
through its statements, into its own functions and objects, from the outside."""

import ast
import dataclasses
import itertools
import math
import re
from collections.abc import Container, Iterable, Mapping, Set
from typing import Any

from pillar_core.studies.check.source import Function, Loop, Source, last_word
from pillar_core.studies.check.values import bindings_of, ends, loops_around, span_of

_WRAPPERS = {
    *("app", "autocast", "automain", "cache", "cached_property", "capture", "classmethod"),
    *("command", "compile", "configurable", "contextmanager", "disable", "enable_grad", "function"),
    *("group", "inference_mode", "jit", "lru_cache", "main", "no_grad", "option", "argument"),
    *("override", "pass_context", "property", "rank_zero_only", "record", "remote", "setter"),
    *("set_grad_enabled", "staticmethod", "typechecked", "wraps", "wrap", "callback"),
}
"""Decorators whose function runs once for each call of it."""
_RUNNERS = {
    *("run", "fire", "launch", "notebook_launcher", "process", "spawn", "start_processes"),
    *("thread", "main"),
}
"""Calls, in lower case, that run a function which they are given once, or once in each process of
one training."""
_USERS = {"fit", "validate", "test", "predict", "lightningcli", "compile", *_RUNNERS}
"""Calls, in lower case, that run an object or class which they are given once at most."""
_IDLE = {
    *("debug", "id", "info", "isinstance", "issubclass", "len", "modelsummary", "print", "repr"),
    *("save", "summary", "super", "type", "warning", "watch", "wraps"),
}
"""Calls, in lower case, that run nothing of what they are given."""

_HOLDERS = (
    ast.Assign | ast.Dict | ast.Lambda | ast.List | ast.Set | ast.Tuple | ast.Yield | ast.YieldFrom
)
"""What keeps a thing under a name that is not followed."""
_REPEATS = ("chain", "cycle", "from_iterable", "ncycles", "repeat")
"""Calls after which a walk through a loader may be longer than it."""
_PASSES = {
    *("enumerate", "filter", "islice", "iter", "list", "log_every", "map", "prefetch", "progress"),
    *("progress_bar", "reversed", "sorted", "take", "tqdm", "track", "tuple", "zip"),
}
"""Calls that walk through what they are given once at most."""
_STEPS = {"step", "train_step", "training_step", "train_batch", "train_on_batch"}
_OTHER_ROWS = re.compile(r"(^|[\W_])(val|valid|validation|test|public|eval)([\W_]|$)")
"""Words of a loader of rows that are not the private ones."""


def is_repeated(source: Source, part: ast.AST) -> bool:
    """Whether the text may run a part more than once. What nothing in it calls runs once."""
    count = _Count(source, {part: 1.0})
    total = count.of(source.nodes[:1])
    for is_taken in (False, True):
        for name in source.functions:
            if name not in count.costs and is_taken is bool(source.uses_of(name)):
                total += count.of_call(name)
    return total > 1


@dataclasses.dataclass
class _Count:
    """Adds up weights within parts of a text. A weight stands for all that its part runs; that of a
    loop, for what holds no other weight.

    once: loops that count as one turn. is_wrapper: the parts are a decorator's, whose result is
    called once.
    """

    source: Source
    weights: Mapping[ast.AST, float]
    once: Container[ast.AST] = ()
    is_wrapper: bool = False
    costs: dict[str, float | None] = dataclasses.field(default_factory=dict)

    def of(self, parts: Iterable[ast.AST]) -> float:
        """The weight of all parts, one after another."""
        return sum(map(self._of_part, parts))

    def _of_part(self, part: ast.AST) -> float:
        weight = self.weights.get(part)
        if isinstance(part, Function) and self.source.called(part):
            return 0.0  # it runs where it is taken
        if isinstance(part, ast.If):
            return self._of_part(part.test) + max(self.of(part.body), self.of(part.orelse))
        if weight is not None and not isinstance(part, Loop):
            return weight
        total = self.of(ast.iter_child_nodes(part))
        if isinstance(part, ast.Lambda):
            return self._of_handed(part, total, _RUNNERS)
        if isinstance(part, Loop):
            span = range(1) if part in self.once else span_of(self.source, part)
            length = math.inf if weight is not None or span is None else len(span)
            return total * length if total else weight or 0.0
        return total + sum(self._of_use(part, name) for name in self.source.taken.get(part, ()))

    def of_call(self, name: str) -> float:
        """The weight of one call of the text's own functions of a name, as they are decorated."""
        if name in self.costs:
            self.costs[name] = cost = self.costs[name] or 0.0
            return cost
        self.costs[name], total = None, 0.0
        for function in self.source.functions.get(name, ()):
            wrappers = getattr(function, "decorator_list", [])
            inner = (part for part in ast.iter_child_nodes(function) if part not in wrappers)
            cost = self.of(inner)
            for wrapper in wrappers:
                cost = cost and self._of_wrapped(wrapper, cost)
            total += cost
        is_recursive = self.costs[name] is not None
        self.costs[name] = total = math.inf if total and is_recursive else total
        return total

    def _of_wrapped(self, wrapper: ast.AST, cost: float) -> float:
        """The weight of a function of `cost` that is decorated."""
        if (own := self.source.taken.get(wrapper)) is None:
            return cost if last_word(wrapper) in _WRAPPERS else math.inf
        inner = _Count(self.source, {}, is_wrapper=True)
        functions = self.source.functions.get(own[0], ())
        given = {part.arg for function in functions for part in function.args.args}
        names = (part for function in functions for part in ast.walk(function))
        inner.weights = {
            name: inner._of_handed(name, cost, _RUNNERS)
            for name in names
            if isinstance(name, ast.Name) and name.id in given
        }
        return inner.of_call(own[0]) or math.inf  # else it is not seen how it calls it

    def _of_use(self, use: ast.AST, name: str) -> float:
        """The weight of what happens to the text's own function or class where it is taken."""
        source, made = self.source, self.source.parents[use]
        if name not in source.kinds:
            cost = self.of_call(name)
            is_read = any(map(_is_property, source.functions.get(name, ())))
            return cost if is_read else self._of_handed(use, cost, _RUNNERS)
        methods = {source.called(part) for part in source.methods(source.kinds[name])}
        costs = {method: self.of_call(method) for method in methods}
        hooks = {method for method in methods if method[:1] != "." or not source.uses_of(method)}
        cost = sum(costs[method] for method in hooks - {".__call__"})
        if isinstance(made, ast.Call) and made.func is use:
            is_lost = any(costs.values()) and any(map(self._is_handed, source.followed(made)))
            return math.inf if is_lost else cost
        is_taken = isinstance(made, _HOLDERS | ast.Call | ast.keyword)  # else a base, a type
        return self._of_handed(use, cost, _USERS) if is_taken else 0.0

    def _of_handed(self, use: ast.AST, cost: float, runners: Set[str]) -> float:
        """The weight of something of `cost` where it is called, or goes to something else."""
        holder = self.source.taker(use)
        if not cost or isinstance(holder, ast.Expr) or self._is_known(holder, _IDLE):
            return 0.0
        is_called = getattr(holder, "func", None) is use or isinstance(holder, ast.Attribute)
        is_returned = self.is_wrapper and isinstance(holder, ast.Return)
        return cost if is_called or is_returned or self._is_known(holder, runners) else math.inf

    def _is_known(self, call: ast.AST, names: Set[str]) -> bool:
        """Whether a call is one of these, and not of the text's own function."""
        return (
            isinstance(call, ast.Call)
            and last_word(call).lower() in names
            and call.func not in self.source.taken
            and "tune" not in ast.unparse(call.func).lower()
        )

    def _is_handed(self, use: ast.AST) -> bool:
        """Whether an object goes to what may run it several times, or where it is not followed."""
        holder = self.source.taker(use)
        if use in self.source.targets or getattr(holder, "func", None) is use:
            return False
        return isinstance(holder, _HOLDERS) or (
            isinstance(holder, ast.Call) and not self._is_known(holder, _USERS | _IDLE)
        )


def _is_property(function: Any) -> bool:
    """Whether a method runs where it is taken, without a call."""
    words = map(last_word, getattr(function, "decorator_list", ()))
    return not {"property", "cached_property"}.isdisjoint(words)


def is_epochs(source: Source, loop: ast.AST) -> bool:
    """Whether a loop counts passes over the data: with “epoch” in its words, or over a range or a
    condition and around a loop over a loader."""
    if not isinstance(loop, ast.For | ast.While):
        return False
    is_counted = isinstance(loop, ast.While) or ends(loop) is not None
    words = (
        [loop.test] if isinstance(loop, ast.While) else [loop.target, loop.iter][: 1 + is_counted]
    )
    inner = (part for row in loop.body for part in ast.walk(row) if isinstance(part, ast.For))
    return any("epoch" in ast.unparse(part).lower() for part in words) or (
        is_counted and any(_has_loader(source, part.iter) for part in inner)
    )


def long_walks(source: Source) -> list[ast.AST]:
    """Where the text may take more steps in a pass than its loader has batches: it repeats a
    loader, or walks through loaders again in the same pass."""
    walks = {
        part: weight for part in source.nodes if (weight := _passes_of(source, part)) is not None
    }
    again: list[ast.AST] = [walk for walk, passes in walks.items() if passes > 1]
    again += [
        call
        for call, name in source.calls.items()
        if (name in _REPEATS and _has_loader(source, call))
        or (name == "next" and _trains_alone(source, call, walks))
    ]
    passes = [part for part in source.nodes if is_epochs(source, part)]
    once = {*passes, *filter(_is_of_parts, source.nodes)}
    functions = itertools.chain(*source.functions.values())
    parts = (part for part in functions if not {*passes} & {*ast.walk(part)})
    for holder in (*passes, *parts) if walks else ():
        keys = {
            call: _key(source, call)
            for call in ast.walk(holder)
            if isinstance(call, ast.Call) and (call in walks or call.func in source.taken)
        }
        for key in {*keys.values()} or {""}:
            others = {call: 0.0 for call, other in keys.items() if other != key}
            count = _Count(source, walks | others, once=once)
            again += [holder] if count.of(holder.body) > 1 else []
    counted = {part: 0.0 for loop in passes for part in ast.walk(loop)}
    counted |= {
        call: 0.0
        for call in source.calls
        if call.func in source.taken and _OTHER_ROWS.search(_key(source, call))
    }
    for walk in walks if passes else ():  # one beside the passes
        if not _OTHER_ROWS.search(ast.unparse(getattr(walk, "iter", walk))):
            count = _Count(source, {walk: _steps_of(source, walk)} | counted)
            again += [walk] if count.of(source.nodes[:1]) else []
    return again


def _key(source: Source, call: ast.Call) -> str:
    """What a call trains on: the loaders that it is given, or all that it is."""
    given = [*call.args, *(word.value for word in call.keywords)]
    return ", ".join(
        map(ast.unparse, [part for part in given if _has_loader(source, part)] or given)
    )


def _passes_of(source: Source, part: Any) -> float | None:
    """How many passes over a loader a walk that trains makes; None where it is none."""
    if isinstance(part, ast.Call) and last_word(part) == "map":
        return 1.0 if _has_loader(source, part) else None
    if not isinstance(part, Loop) or isinstance(part, ast.While):
        return None
    walked = [turn.iter for turn in getattr(part, "generators", [part])]
    bound = (binding.value for row in walked for binding in bindings_of(source, row))
    every = [*walked, *(row for row in bound if isinstance(row, ast.BinOp | ast.List | ast.Tuple))]
    if not any(_has_loader(source, row) for row in every):
        return None
    steps = _steps_of(source, part)
    if not steps and not _trains(part):
        return None
    is_pass = len(walked) == 1 and all(_is_pass(source, row) for row in every)
    return 1.0 if is_pass and steps <= 1 else math.inf


def _steps_of(source: Source, walk: ast.AST) -> float:
    """How often a turn of a walk makes the same step; a scheduler's is none."""
    steps = {call: ast.unparse(call.func) for call in source.calls if last_word(call) in _STEPS}
    counts = (
        _Count(source, {call: 1.0 for call, other in steps.items() if other == word})
        for word in {*steps.values()}
        if "sched" not in word.lower()
    )
    return max((count.of(ast.iter_child_nodes(walk)) for count in counts), default=0.0)


def _trains_alone(source: Source, call: ast.Call, walks: Container[ast.AST]) -> bool:
    """Whether a call takes batches one by one in a loop that trains, is no walk itself, and does
    not end with its loader."""
    loops = loops_around(source, call)
    if not loops or loops[0] in walks or not _trains(loops[0]):
        return False
    handlers = [part for part in ast.walk(loops[0]) if isinstance(part, ast.ExceptHandler)]
    return not any(isinstance(part, ast.Break) for one in handlers for part in ast.walk(one))


def _trains(part: ast.AST) -> bool:
    calls = [call for call in ast.walk(part) if isinstance(call, ast.Call)]
    return bool({*_STEPS, "backward"} & {*map(last_word, calls)})


def _is_pass(source: Source, walked: ast.AST | None) -> bool:
    """Whether a walk through an expression takes each batch of a loader once at most."""
    match walked:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return True
        case ast.IfExp(body=one, orelse=other):
            return _is_pass(source, one) and _is_pass(source, other)
        case ast.Call(func=called, args=args):
            names, word = {*source.taken.get(called, ())}, last_word(walked)
            if names - source.kinds.keys():
                own = [part for name in names for part in source.functions.get(name, ())]
                kinds = ast.Yield | ast.YieldFrom
                return not any(isinstance(part, kinds) for one in own for part in ast.walk(one))
            loaders = [part for part in args if _has_loader(source, part)]
            is_known = word in _PASSES and not names
            return "loader" in word.lower() or (
                is_known and all(_is_pass(source, part) for part in loaders)
            )
    return False


def _is_of_parts(loop: Any) -> bool:
    """Whether a loop is over names of parts of the data, of which one is to train on."""
    names = getattr(getattr(loop, "iter", None), "elts", [])
    words = [str(getattr(name, "value", "")) for name in names]
    return sum(word.startswith("train") for word in words) == 1


def _has_loader(source: Source, part: ast.AST) -> bool:
    words = {last_word(word) for word in ast.walk(part)}
    return any(
        "loader" in word.lower()
        or "DataLoader" in (last_word(bound.value) for bound in source.everywhere(word))
        for word in words
    )
