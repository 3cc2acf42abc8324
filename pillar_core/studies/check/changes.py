"""What alters a script's noise after its set-up: schedules that can be read, changes that cannot,
and those that private rows decide."""

import ast
import dataclasses
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from pillar_core.studies.check.bindings import FILE, last_word
from pillar_core.studies.check.source import Source, ends

LONGEST = 20_000
"""Passes or steps of a schedule that are counted one by one."""
SCHEDULERS: Mapping[str, str] = FILE["schedulers"]
CHANGED: Mapping[str, str] = {
    name: field for field, names in FILE["changed"].items() for name in names
}
NOISE = {"noise_multiplier", "epsilon"}
SIGMA = ("noise_multiplier", "_noise_multiplier")
"""Names of what is σ itself, and no other share of the noise."""
_PRIVATE = re.compile(r"loss|accura|(^|_)(acc|metrics?|score|auc|f1|err|error|norms)(_|$)")
_PUBLIC = re.compile(r"(^|_)(val|valid|validation|test|public|eval)(_|$)")
Law = Callable[[int, Any, Any], Any]
"""σ after a change, from how often it was made, the loop's variable and σ before; None where it is
not read."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """σ in each pass (or step, if `is_by_step`), as shares of the first where `is_share`; `words`
    name the line."""

    sigmas: tuple[float, ...]
    words: str
    is_share: bool
    is_by_step: bool = False


@dataclasses.dataclass
class Changes:
    """What a script alters: σ by a schedule, or the least that it becomes; numbers that a change
    hides; and in words what is told, and what has no proven ε."""

    schedule: Schedule | None = None
    least: float | None = None
    hidden: set[str] = dataclasses.field(default_factory=set)
    told: list[str] = dataclasses.field(default_factory=list)
    refused: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Change:
    """A statement or call that sets `field` to `value`."""

    place: Any
    field: str
    value: ast.AST


def read_changes(
    source: Source, values: Mapping[str, Any], engines: Container[str] = frozenset()
) -> Changes:
    """Every change of noise, clip norm, rate or accountant in the text; `engines` are the names of
    what draws the noise."""
    changes = Changes()
    made = [*_scheduled(source), *_bound(source, values), *_overridden(source, engines)]
    is_lone = sum(change.field == "noise_multiplier" for change in made) == 1
    for change in made:
        words = f"{source.place(change.place)}, {first_line(change.place):.60}"
        if private := _private_names(source, change):
            changes.refused.append(
                f"{words}: {', '.join(private)} would decide it, which private rows say. No bound"
                " is proven for that."
            )
        elif change.field == "noise_multiplier" and is_lone:
            _read_noise(source, change, values.get("noise_multiplier"), words, changes)
        else:
            is_noise = change.field in ("noise_multiplier", "l2_clip_norm")
            changes.hidden |= {change.field} | (NOISE if is_noise else set())
            wanted = "the least σ of any step, over its clip" if is_noise else "its largest value"
            changes.told.append(f"{words} changes {change.field}: say {wanted}.")
    return changes


def first_line(part: ast.AST) -> str:
    """The first line of a part, as Python writes it."""
    return ast.unparse(part).partition("\n")[0]


def _scheduled(source: Source) -> Iterator[_Change]:
    """Schedulers that are built, or meant otherwise than by a call."""
    built = {call.func: call for call, name in source.calls.items() if name in SCHEDULERS}
    for call in built.values():
        yield _Change(call, SCHEDULERS[source.calls[call]], call)
    for node in source.nodes:
        name = last_word(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name in SCHEDULERS and node not in built:
            yield _Change(node, SCHEDULERS[name], node)


def _bound(source: Source, values: Mapping[str, Any]) -> Iterator[_Change]:
    """Attributes, keys and keywords that may give a number another value than was read."""
    for word, field in CHANGED.items():
        for binding in source.bindings.members[word]:
            place, value = binding.place, binding.value
            holder = source.parents.get(place)
            is_idle = isinstance(holder, ast.ClassDef) and not _is_engine(holder)
            targets = place.targets if isinstance(place, ast.Assign) else []
            is_idle |= any(source.is_parsed(getattr(part, "value", part)) for part in targets)
            if is_idle or place in source.bindings.options or source.is_unfilled(value, word):
                continue
            is_number = value is not None and (field != "noise_multiplier" or word in SIGMA)
            number = source.value(value) if is_number else None  # type: ignore[arg-type]
            is_call = isinstance(place, ast.Call | ast.Dict) and isinstance(value, ast.Name)
            is_named = number is None and CHANGED.get(last_word(value)) == field
            if is_call and field not in values and (is_named or field == "l2_clip_norm"):
                continue  # what has the number's name is taken for it
            if number is None or number != values.get(field):
                yield _Change(place, field, value or place)


def _overridden(source: Source, engines: Container[str]) -> Iterator[_Change]:
    """What may alter the noise by other ways than a number's name."""
    for place in (
        node for name, node in source.bindings.opened.items() if name == "*" or name in engines
    ):
        yield _Change(place, "noise_multiplier", place)
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and _is_engine(node):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name not in ("__init__", *CHANGED):
                    yield _Change(part, "noise_multiplier", part)
    for call, name in source.calls.items():
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_ended = name == "detach" and "engine" in last_word(owner).lower()
        if is_ended or CHANGED.get(getattr(owner, "attr", "")) == "noise_multiplier":
            yield _Change(call, "noise_multiplier", call)
    for word, bindings in source.bindings.members.items():
        for place in (part.place for part in bindings if word not in CHANGED):
            targets = place.targets if isinstance(place, ast.Assign) else []
            owners = [part.value for part in targets if isinstance(part, ast.Attribute)]
            if any(isinstance(part, ast.Name) and part.id in engines for part in owners):
                yield _Change(place, "noise_multiplier", place)
    for use in source.bindings.uses["original_optimizer"]:
        if isinstance(source.parents[use], ast.Assign | ast.Attribute):
            yield _Change(use, "noise_multiplier", use)


def _is_engine(kind: ast.ClassDef) -> bool:
    """Whether a class of the text's own draws noise as a library's does."""
    bases = " ".join(map(last_word, kind.bases))
    return "PrivacyEngine" in bases or ("DP" in bases and "Optimizer" in bases)


def _private_names(source: Source, change: _Change) -> list[str]:
    """Names that speak of private rows, in a change and in what decides whether it is made."""
    parts = [change.value]
    for made in (change.place, *_steps(source, change.place)):
        parts += [made] if made is not change.place else []
        parts += [part.test for part in source.around(made) if isinstance(part, ast.If | ast.While)]
    names = {
        str(getattr(node, "id", None) or getattr(node, "attr", None) or "")
        for part in parts
        for node in ast.walk(part)
    }
    return sorted(name for name in names if _PRIVATE.search(name) and not _PUBLIC.search(name))


def _steps(source: Source, built: ast.AST) -> list[ast.Call]:
    """The calls of a scheduler's `step`; none where it is not bound to one name that is used for
    nothing else."""
    statement = source.parents.get(built)
    if not (isinstance(built, ast.Call) and isinstance(statement, ast.Assign)):
        return []
    name = ast.unparse(statement.targets[0])
    uses = [node for node in source.nodes if isinstance(node, ast.Name) and node.id == name]
    steps = [call for call in source.calls if ast.unparse(call.func) == f"{name}.step"]
    return steps if len(uses) == 1 + len(steps) else []


def _read_noise(source: Source, change: _Change, first: Any, words: str, changes: Changes) -> None:
    """Takes the one change of σ into `changes`: as a schedule, by the least that σ becomes, or as
    a number that is not known."""
    is_scheduler = _is_scheduler(source, change)
    law = _law_of_scheduler(source, change) if is_scheduler else _law_of_statement(source, change)
    start = law(0, None, 1.0) if is_scheduler else first
    statement = change.place
    if is_scheduler:
        steps = _steps(source, change.place)
        is_plain = len(steps) == 1 and not steps[0].args and not source.loops(change.place)
        statement = source.parents[steps[0]] if is_plain else None
    walk = _walk(source, statement, change)
    if walk is not None:
        indices, place, last, is_by_step = walk
        sigmas = list[float]()
        sigma = start
        for count, index in enumerate(indices, 1):
            after = law(count, index, sigma)
            during = after if place == 0 else sigma
            if None in (during, after):
                break
            sigmas.append(during if place in (0, last) else min(during, after))
            sigma = after
        if sigmas:
            changes.schedule = Schedule(tuple(sigmas), words, is_scheduler, is_by_step)
            return
    changes.least = _least(source, change, law, first) if _is_number(first) else None
    if changes.least is None:
        changes.hidden |= NOISE
        changes.told.append(f"{words} changes σ: say the least σ of any step (noise_multiplier).")
    else:
        changes.told.append(
            f"{words} changes σ: its least, {changes.least:.6g}, was counted in every step."
        )


def _is_scheduler(source: Source, change: _Change) -> bool:
    return isinstance(change.place, ast.Call) and source.calls[change.place] in SCHEDULERS


def _law_of_scheduler(source: Source, change: _Change) -> Law:
    """How a scheduler of Opacus changes the share of the first σ."""
    given = {keyword.arg: keyword.value for keyword in change.value.keywords}  # type: ignore[attr-defined]
    name, positional = source.calls[change.place], change.value.args  # type: ignore[attr-defined]
    rate, size = (source.value(given.pop(key, ast.Pass())) for key in ("gamma", "step_size"))
    rule = given.pop("noise_lambda", None)
    given.pop("optimizer", None)
    is_read = not given and len(positional) <= 1

    def law(count: int, _: Any, share: Any) -> Any:
        if not is_read:
            return None
        match name:
            case "LambdaNoise" if isinstance(rule, ast.Lambda) and len(rule.args.args) == 1:
                return _evaluate(source, rule.body, {rule.args.args[0].arg: count})
            case "ExponentialNoise" | "StepNoise" if _is_number(rate):
                turns = name == "ExponentialNoise" or (_is_number(size) and count % size == 0)
                return share * rate if turns and count else share
        return None

    return law


def _law_of_statement(source: Source, change: _Change) -> Law:
    """How a statement in a loop sets σ, from the loop's variable and σ before."""
    loops = source.loops(change.place)
    variable = ast.unparse(loops[0].target) if loops and isinstance(loops[0], ast.For) else ""
    inside = {part for loop in loops[:1] for part in ast.walk(loop) if part is not loop}
    if any(part.place in inside for part in source.everywhere(variable)):
        variable = ""  # it is set in the loop, too
    statement = change.place
    target, expression = "", change.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = ast.unparse(statement.targets[0])
    elif isinstance(statement, ast.AugAssign):
        target = ast.unparse(statement.target)
        expression = ast.BinOp(ast.Name(target), statement.op, statement.value)
    is_sigma = target.rpartition(".")[2] in SIGMA

    def law(_: int, index: Any, sigma: Any) -> Any:
        changing = {variable: index, target: sigma}
        return _evaluate(source, expression, changing) if is_sigma else None

    return law


def _evaluate(source: Source, expression: ast.AST, changing: Mapping[str, Any]) -> Any:
    number = source.value(expression, changing)
    return number if _is_number(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _least(source: Source, change: _Change, law: Law, first: float) -> float | None:
    """The least σ that a change reaches whenever it is made; None where that is not read."""
    if _is_scheduler(source, change):
        rates = [source.value(word.value) for word in change.place.keywords if word.arg == "gamma"]
        return first if rates and _is_number(rates[0]) and rates[0] >= 1 else None
    loops = source.loops(change.place)
    walk: Any = (None,)
    if loops and isinstance(loops[0], ast.For):
        walk = source.span(loops[0]) or source.value(loops[0].iter) or ()
    reached = [law(1, index, None) for index in walk[:LONGEST]]
    is_read = reached and len(walk) <= LONGEST and None not in reached
    return min(first, *reached) if is_read else None


def _walk(
    source: Source, statement: Any, change: _Change
) -> tuple[Iterable[Any], int, int, bool] | None:
    """What the loop over passes walks through in which σ changes, the statement's place in its loop
    and the last place there, and whether that is a loop over steps; None where this is not read."""
    loops: list[Any] = source.loops(statement) if statement is not None else []
    counted = ends(loops[-1]) if loops and source.is_epochs(loops[-1]) else None
    is_from_zero = len(counted or ()) == 1 or _is_scheduler(source, change)
    if counted is None or (source.span(loops[-1]) is None and not is_from_zero):
        return None
    loop, outer = loops[0], loops[-1]
    is_by_step = len(loops) == 2 and isinstance(loop, ast.For) and source.span(loop) is None
    is_read = (
        (loop is outer or (is_by_step and _is_scheduler(source, change)))
        and statement in loop.body
        and source.function(outer) is source.function(change.place)
        and not source.is_repeated(outer)
        and [node for node in source.nodes if source.is_epochs(node)] == [outer]
        and len(loop.body) > 1
        and not outer.orelse
        and not any(isinstance(node, ast.Continue | ast.Try) for node in ast.walk(outer))
    )
    span = source.span(outer)
    indices = range(LONGEST) if span is None or is_by_step else span[:LONGEST]
    return (
        (indices, loop.body.index(statement), len(loop.body) - 1, is_by_step) if is_read else None
    )
