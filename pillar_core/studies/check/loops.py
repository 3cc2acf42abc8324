"""How often a script's loops take what they hold: a step, a call that trains, the set-up of privacy. What is not counted is unknown."""

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

Value = bool | int | float | str | None
Valued = Callable[[ast.expr], Value]
_STEPS = ("step", "apply_gradients", "minimize", "train_step", "train_on_batch")
_SET_UPS = ("make_private", "make_private_with_epsilon")
_RANGES = ("range", "trange")
_AROUND = ("enumerate", "tqdm", "track", "list")
"""Calls that give what is inside them as often as it comes."""
DEEPEST = 20
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def longer_training(tree: ast.AST, value: Valued, epochs: Value) -> Iterator[tuple[str, int, str]]:
    """(field, line, why) of what trains longer, more often or on more rows than the numbers in the text say."""
    loops = _Loops(tree, value)
    fits = [call for call in calls(tree) if named(call.func) == "fit" and any(keyword.arg == "epochs" for keyword in call.keywords)]
    if sum(loops.rounds(call, passes=0) for call in fits) > 1:
        yield "epochs", fits[-1].lineno, "fit is called more than once"
    for call in fits:
        if any(keyword.arg == "steps_per_epoch" for keyword in call.keywords):
            yield "epochs", call.lineno, "steps_per_epoch decides how long an epoch is"
    for call in (call for call in calls(tree) if named(call.func) in _SET_UPS and loops.rounds(call, passes=0) > 1):
        yield from _both(call, "privacy is set up in a loop, and each training spends an ε of its own")
    rounds: dict[str, float] = {}
    for call in filter(_trains, calls(tree)):
        if loops.is_conditional(call):
            yield "batch_size", call.lineno, "a step that not every batch takes may sum over several"
        owner = ast.unparse(call.func)
        rounds[owner] = rounds.get(owner, 0) + loops.rounds(call, passes=1)
        if isinstance(epochs, int | float) and rounds[owner] > epochs:
            yield from _both(call, f"no loop around {owner:.40} is known to end within the {epochs:g} epochs that the noise is for")


def calls(tree: ast.AST) -> list[ast.Call]:
    """All calls."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def named(node: ast.expr) -> str:
    """The last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _both(call: ast.Call, reason: str) -> Iterator[tuple[str, int, str]]:
    yield from ((field, call.lineno, reason) for field in ("epochs", "epsilon"))


def _trains(call: ast.Call) -> bool:
    """Whether a call takes a step, or is of a function that is called train…; a schedule's step is none."""
    if isinstance(call.func, ast.Name) and call.func.id.startswith("train"):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _STEPS and "sched" not in ast.unparse(call.func.value).lower()


class _Loops:
    """What stands around each part of a script, across the functions that it defines."""

    def __init__(self, tree: ast.AST, value: Valued) -> None:
        self._value = value
        self._around = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
        self._sites: dict[str, list[ast.Call]] = {}
        for call in calls(tree):
            self._sites.setdefault(named(call.func), []).append(call)

    def is_conditional(self, node: ast.AST) -> bool:
        """Whether a condition stands between a part and the loop or function that holds it."""
        found, around = False, self._around.get(node)
        while around is not None and not isinstance(around, ast.For | ast.While | _Function):
            found |= isinstance(around, ast.If | ast.IfExp)
            around = self._around.get(around)
        return found and around is not None

    def rounds(self, node: ast.AST, *, passes: int, depth: int = 0) -> float:
        """How often a part is reached, ∞ where that is not known; a loop over a loader's batches counts once, and there may be `passes`."""
        count, around = 1.0, self._around.get(node)
        while around is not None and depth < DEEPEST:
            if isinstance(around, ast.For) and node not in (around.iter, *around.orelse):
                times = self._times(around.iter)
                passes -= times is None
                count *= 1.0 if times is None and passes >= 0 else math.inf if times is None else times
            elif isinstance(around, ast.While | ast.AsyncFor | ast.ListComp | ast.GeneratorExp):
                count = math.inf
            elif isinstance(around, _Function) and (sites := self._sites.get(getattr(around, "name", ""))):
                return count * sum(self.rounds(site, passes=passes, depth=depth + 1) for site in sites) if count else 0.0
            node, around = around, self._around.get(around)
        return count if depth < DEEPEST else math.inf

    def _times(self, given: Any) -> float | None:
        """How often a loop over `given` runs: None for the batches of a loader, ∞ where it is not known."""
        match given:
            case ast.Call(func=func, args=[inner, *_]) if named(func) in _AROUND:
                return self._times(inner)
            case ast.Call(func=func, args=[*ends]) if named(func) in _RANGES and 0 < len(ends) < 3:
                found = [self._value(end) for end in ends]
                numbers = [float(end) for end in found if isinstance(end, int | float)]
                return max(0.0, numbers[-1] - (numbers[0] if len(numbers) > 1 else 0.0)) if len(numbers) == len(ends) else math.inf
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return float(len(parts))
            case ast.Name() | ast.Attribute():
                return None
            case ast.Call(func=func) if "loader" in named(func).lower():
                return None
        return math.inf
