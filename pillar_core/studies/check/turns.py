"""How often a script's text runs its parts, and how far it walks through its loaders: a count
through its statements, into its own functions and objects, from the outside."""

import ast
import dataclasses
import itertools
import math
import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from pillar_core.studies.check.names import is_known
from pillar_core.studies.check.source import Function, Loop, Source, last_word, wrappers
from pillar_core.studies.check.values import bindings_of, ends, loops_around, span_of

_PLACES = (
    ast.Attribute
    | ast.Await
    | ast.BoolOp
    | ast.Compare
    | ast.Expr
    | ast.If
    | ast.IfExp
    | ast.NamedExpr
    | ast.Return
    | ast.UnaryOp
    | ast.withitem
)
"""Where an object runs nothing, or is followed further."""
_TYPES = ast.Attribute | ast.BinOp | ast.ClassDef | ast.FunctionDef | ast.Subscript
"""Where a class makes no object of its own."""
_STEPS = {"step", "train_step", "training_step", "train_batch", "train_on_batch"}
_OTHER_PROGRAM = re.compile(r"\[?f?'(?!.*\b(python|torchrun|accelerate|sbatch|(ba)?sh)\b)|.*'pip'")
"""A command, as Python writes it, that starts no script of Python."""
_OTHER_ROWS = re.compile(r"(^|[\W_])(val|valid|validation|test|public|eval)([\W_]|$)")
"""Words of a loader of rows that are not the private ones."""


def is_repeated(source: Source, part: ast.AST) -> bool:
    """Whether the text may run a part more than once. What nothing in it calls runs once."""
    count = _Count(source, {part: 1.0})
    total = count.of(source.nodes[:1])
    for name in sorted(source.functions, key=lambda name: bool(source.uses_of(name))):
        total += 0.0 if name in count.costs else count.of_call(name)
    is_open = any(map(count.is_open, source.kinds.values()))
    return is_open or total > 1 or any(_starts_itself(source, call) for call in source.calls)


def _starts_itself(source: Source, call: ast.Call) -> bool:
    """Whether a call may start the script again, as a process of Python or one that is not read."""
    if not is_known(source, call, "starts"):
        return False
    bound = [part.value for row in call.args[:1] for part in bindings_of(source, row)]
    commands = [ast.unparse(part or call) for part in bound or call.args[:1]]
    return not (commands and all(_OTHER_PROGRAM.match(words) for words in commands))


def _product(cost: float, turns: float) -> float:
    """A weight so many times: none of what never runs, however heavy."""
    return cost * turns if cost and turns else 0.0


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
            return _product(total, self._turns(part))
        if isinstance(part, Loop):
            span = range(1) if part in self.once else span_of(self.source, part)
            length = math.inf if weight is not None or span is None else len(span)
            return _product(total, length) or weight or 0.0
        return total + sum(self._of_use(part, name) for name in self.source.taken.get(part, ()))

    def of_call(self, name: str) -> float:
        """The weight of one call of the text's own functions of a name, as they are decorated."""
        if name in self.costs:
            self.costs[name] = cost = self.costs[name] or 0.0
            return cost
        self.costs[name], total = None, 0.0
        for function in self.source.functions.get(name, ()):
            around = wrappers(function)
            inner = (part for part in ast.iter_child_nodes(function) if part not in around)
            cost = self.of(inner)
            for wrapper in around:
                cost = cost and self._of_wrapped(wrapper, cost)
            total += cost
        is_recursive = self.costs[name] is not None
        self.costs[name] = total = math.inf if total and is_recursive else total
        return total

    def _of_wrapped(self, wrapper: ast.AST, cost: float) -> float:
        """The weight of a function of `cost` that is decorated."""
        if (own := self.source.taken.get(wrapper)) is None:
            return cost if is_known(self.source, wrapper, "wraps") else math.inf
        inner = _Count(self.source, {}, is_wrapper=True)
        functions = self.source.functions.get(own[0], ())
        given = {part.arg for function in functions for part in function.args.args}
        names = (part for function in functions for part in ast.walk(function))
        inner.weights = {
            name: _product(cost, inner._turns(name))
            for name in names
            if isinstance(name, ast.Name) and name.id in given
        }
        return inner.of_call(own[0]) or math.inf  # else it is not seen how it calls it

    def _of_use(self, use: ast.AST, name: str) -> float:
        """The weight of what happens to the text's own function or class where it is taken."""
        source, made, turns = self.source, self.source.parents[use], self._turns(use)
        kind = source.kinds.get(name)
        if not turns or (kind and isinstance(made, _TYPES)):
            return 0.0
        if kind is None:
            return _product(self.of_call(name), turns)
        costs = self._costs(kind)
        if not any(costs.values()) or self.is_open(kind) or not source.is_called(use):
            return _product(any(costs.values()), math.inf if self.is_open(kind) else turns)
        hooks = {method for method in costs if method[:1] != "." or not source.uses_of(method)}
        objects = source.followed(made, *source.selves(kind))
        is_lost = any(_is_lost(source, part) for part in objects)
        return math.inf if is_lost else sum(costs[method] for method in hooks - {".__call__"})

    def _costs(self, kind: ast.ClassDef) -> dict[str, float]:
        """The weight of one call of each method of a class."""
        methods = map(self.source.called, self.source.methods(kind))
        return {method: self.of_call(method) for method in methods}

    def is_open(self, kind: ast.ClassDef) -> bool:
        """Whether what is not read here may run a class's methods of any weight: its bases, its
        decorators, or Python's own signs."""
        costs = self._costs(kind)
        signs = [method for method in costs if method[:3] == ".__" and method != ".__call__"]
        is_any = math.inf in costs.values() or any(costs[method] for method in signs)
        return is_any or (any(costs.values()) and not _is_plain(self.source, kind))

    def _turns(self, use: ast.AST) -> float:
        """How often a function or class may run where it is taken: never, once where it is called
        or goes to what is known, or any number of times."""
        source, holder = self.source, self.source.taker(use)
        is_named = isinstance(holder, ast.Expr) or getattr(holder, "attr", "")[:2] == "__"
        if is_named or is_known(source, holder, "idle"):
            return 0.0
        once = ast.Attribute | ast.Compare | (ast.Return if self.is_wrapper else ast.Attribute)
        is_once = source.is_called(use) or is_known(source, holder, "runs")
        return 1.0 if is_once or isinstance(holder, once) else math.inf


def _is_lost(source: Source, use: ast.AST) -> bool:
    """Whether an object goes where it is not followed, to what may run it several times."""
    holder = source.taker(use)
    if use not in source.targets:
        is_seen = isinstance(holder, _PLACES) or source.is_called(use)
        return not (is_seen or is_known(source, holder, "idle", "runs"))
    targets = getattr(holder, "targets", ())
    owners = [part.value for part in targets if isinstance(part, ast.Attribute | ast.Subscript)]
    return not all(
        last_word(part) == "self" and _is_plain(source, source.holder(part, ast.ClassDef))
        for part in owners
    )


def _is_plain(source: Source, kind: ast.ClassDef | None) -> bool:
    """Whether known bases and decorators alone may run a class's methods."""
    if kind is None:
        return False
    others = [*kind.bases, *kind.decorator_list, *(word.value for word in kind.keywords)]
    own = {part: source.kinds.get(last_word(part)) for part in others}
    return all(
        is_known(source, part, "wraps") or (base is not kind and _is_plain(source, base))
        for part, base in own.items()
    )


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
        if name == "next" and _trains_alone(source, call, walks)
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
    if not any(_has_loader(source, row) for row in walked):
        return None
    steps = _steps_of(source, part)
    if not steps and not _trains(part):
        return None
    is_pass = len(walked) == 1 and _is_pass(source, walked[0])
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


def _is_pass(source: Source, walked: Any, seen: set[ast.AST] | None = None) -> bool:
    """Whether a walk through an expression takes each batch of a loader once at most."""
    seen = set() if seen is None else seen
    if walked in seen or not _has_loader(source, walked):
        return True
    seen.add(walked)
    rest = list[Any]()
    match walked:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            rest = [part.value for part in bindings_of(source, walked)]
        case ast.IfExp(body=one, orelse=other):
            rest = [one, other]
        case ast.Call(func=called):
            given = [*walked.args, *(word.value for word in walked.keywords)]
            rest = [part for part in given if _has_loader(source, part)]
            if own := {*source.taken.get(called, ())} - source.kinds.keys():
                parts = (
                    part for name in own for one in source.functions[name] for part in ast.walk(one)
                )
                return not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in parts)
            if not (
                is_known(source, walked, "walks") if rest else "loader" in last_word(walked).lower()
            ):
                return False
        case _:
            return False
    return all(_is_pass(source, part, seen) for part in rest)


def _is_of_parts(loop: Any) -> bool:
    """Whether a loop is over names of parts of the data, of which one is to train on."""
    names = getattr(getattr(loop, "iter", None), "elts", [])
    words = [str(getattr(name, "value", "")) for name in names]
    return sum(word.startswith("train") for word in words) == 1


def _has_loader(source: Source, part: Any, seen: set[str] | None = None) -> bool:
    """Whether an expression speaks of a loader, or of a name that stands for such a one."""
    seen = set() if seen is None else seen
    words = {last_word(word) for word in ast.walk(part)} - seen if part else set[str]()
    seen |= words
    return any("loader" in word.lower() for word in words) or any(
        _has_loader(source, bound.value, seen)
        for word in words
        for bound in source.everywhere(word)
        if bound.value
    )
