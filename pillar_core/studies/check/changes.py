"""What alters a script's noise after its set-up: schedules that can be read, changes that cannot,
and those that private rows decide."""

import ast
import dataclasses
import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from pillar_core.studies.check import values
from pillar_core.studies.check.bindings import FILE
from pillar_core.studies.check.reading import NOISE, Draft, Schedule, first_line
from pillar_core.studies.check.source import Source, arguments, last_word
from pillar_core.studies.check.turns import is_epochs, is_repeated

LONGEST = 20_000
"""Passes or steps of a schedule that are counted one by one."""
SCHEDULERS: Mapping[str, str] = FILE["schedulers"]
CHANGED: Mapping[str, str] = {
    name: field for field, names in FILE["changed"].items() for name in names
}
SIGMA = ("noise_multiplier", "_noise_multiplier")
"""Names of what is σ itself, and no other share of the noise."""
_PRIVATE = re.compile(r"loss|accura|(^|_)(acc|metrics?|score|auc|f1|err|error|norms)(_|$)")
_PUBLIC = re.compile(r"(^|_)(val|valid|validation|test|public|eval)(_|$)")
Law = Callable[[int, Any, Any], Any]
"""σ after a change, from how often it was made, the loop's variable and σ before; None where it is
not read."""


@dataclasses.dataclass(frozen=True)
class _Change:
    """A statement or call that sets `field` to `value`."""

    place: Any
    field: str
    value: ast.AST


def read_changes(draft: Draft, engines: Container[str]) -> None:
    """Takes every change of noise, clip norm, rate or accountant into the draft: σ by a schedule,
    by the least that it becomes, or as a number to ask for. `engines` are the names of what draws
    the noise."""
    source = draft.source
    made = [*_scheduled(source), *_bound(draft)]
    made += [_Change(place, "noise_multiplier", place) for place in _overriding(source, engines)]
    is_lone = sum(change.field == "noise_multiplier" for change in made) == 1
    for change in made:
        words = f", {first_line(change.place):.60}"
        if private := _private_names(source, change):
            draft.refused.append(
                f"{source.place(change.place)}{words}: {', '.join(private)} would decide it, which"
                " private rows say. No bound is proven for that."
            )
        elif change.field == "noise_multiplier" and is_lone:
            _read_noise(draft, change, words)
        else:
            is_noise = change.field in ("noise_multiplier", "l2_clip_norm")
            wanted = "the least σ of any step, over its clip" if is_noise else "its largest value"
            hidden = {change.field, *(NOISE if is_noise else ())}
            draft.tell(change.place, f"{words} changes {change.field}: say {wanted}.", *hidden)


def _scheduled(source: Source) -> Iterator[_Change]:
    """Schedulers that are built, or meant otherwise than by a call."""
    built = {call.func: call for call, name in source.calls.items() if name in SCHEDULERS}
    for call in built.values():
        yield _Change(call, SCHEDULERS[source.calls[call]], call)
    for name, field in SCHEDULERS.items():
        for use in source.uses[name]:
            if use not in built:
                yield _Change(use, field, use)


def _bound(draft: Draft) -> Iterator[_Change]:
    """Attributes, keys and keywords that may give a number another value than was read."""
    source = draft.source
    for word, field in CHANGED.items():
        for binding in source.members[word]:
            place, value = binding.place, binding.value
            holder = source.parents.get(place)
            is_idle = isinstance(holder, ast.ClassDef) and not _is_engine(holder)
            targets = place.targets if isinstance(place, ast.Assign) else []
            is_idle |= any(
                values.is_parsed(source, getattr(part, "value", part)) for part in targets
            )
            if is_idle or place in source.options or values.is_unfilled(source, value, word):
                continue
            is_number = value is not None and (field != "noise_multiplier" or word in SIGMA)
            number = values.value_of(source, value) if is_number else None
            is_call = isinstance(place, ast.Call | ast.Dict) and isinstance(value, ast.Name)
            is_named = number is None and CHANGED.get(last_word(value)) == field
            if is_call and field not in draft.values and (is_named or field == "l2_clip_norm"):
                continue  # what has the number's name is taken for it
            if number is None or number != draft.values.get(field):
                yield _Change(place, field, value or place)


def _overriding(source: Source, engines: Container[str]) -> Iterator[ast.AST]:
    """What may alter the noise by other ways than a number's name."""
    yield from (node for name, node in source.opened.items() if name == "*" or name in engines)
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and node.name not in ("__init__", *CHANGED):
            kind = source.parents[node]
            if isinstance(kind, ast.ClassDef) and _is_engine(kind):
                yield node
    for call, name in source.calls.items():
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_ended = name == "detach" and "engine" in last_word(owner).lower()
        if is_ended or CHANGED.get(getattr(owner, "attr", "")) == "noise_multiplier":
            yield call
    for word, bindings in source.members.items():
        for place in (part.place for part in bindings if word not in CHANGED):
            targets = place.targets if isinstance(place, ast.Assign) else []
            owners = [part.value for part in targets if isinstance(part, ast.Attribute)]
            if any(isinstance(part, ast.Name) and part.id in engines for part in owners):
                yield place
    for use in source.uses["original_optimizer"]:
        if isinstance(source.parents[use], ast.Assign | ast.Attribute):
            yield use


def _is_engine(kind: ast.ClassDef) -> bool:
    """Whether a class of the text's own draws noise as a library's does."""
    bases = " ".join(map(last_word, kind.bases))
    return "PrivacyEngine" in bases or ("DP" in bases and "Optimizer" in bases)


def _private_names(source: Source, change: _Change) -> list[str]:
    """Names that speak of private rows, in a change and in what decides whether it is made."""
    steps = _steps(source, change.place)
    parts = [change.value, *steps] + [
        part.test
        for made in (change.place, *steps)
        for part in source.around(made)
        if isinstance(part, ast.If | ast.While)
    ]
    words = {
        str(getattr(node, "id", None) or getattr(node, "attr", ""))
        for part in parts
        for node in ast.walk(part)
    }
    return sorted(word for word in words if _PRIVATE.search(word) and not _PUBLIC.search(word))


def _steps(source: Source, built: ast.AST) -> list[ast.Call]:
    """The calls of a scheduler's `step`; none where it is taken for anything else."""
    taken = [source.parents[use] for use in source.followed(built)[1:]]
    steps = [source.parents[part] for part in taken if last_word(part) == "step"]
    calls = [part for part in steps if isinstance(part, ast.Call)]
    return calls if len(calls) == len(taken) else []


def _read_noise(draft: Draft, change: _Change, words: str) -> None:
    """Takes the one change of σ into the draft: as a schedule, by the least that σ becomes, or as a
    number that is not known."""
    source, statement, first = draft.source, change.place, draft.values.get("noise_multiplier")
    is_share = source.calls.get(statement) in SCHEDULERS
    if is_share:
        law, steps = _law_of_scheduler(source, statement), _steps(source, statement)
        is_plain = len(steps) == 1 and not steps[0].args
        is_plain &= not values.loops_around(source, statement)
        statement = source.parents[steps[0]] if is_plain else None
    else:
        law = _law_of_statement(source, change)
    if source.function(change.place) is source.function(statement):
        draft.schedule = _composed(
            source,
            statement,
            law,
            law(0, None, 1.0) if is_share else first,
            f"{source.place(change.place)}{words}",
            is_share,
        )
    if draft.schedule is not None:
        return
    least = _least(source, change, law, first)
    told = "say the least σ of any step (noise_multiplier)"
    if least is not None:
        draft.values["noise_multiplier"] = least
        told = f"its least, {least:.6g}, was counted in every step"
    draft.tell(change.place, f"{words} changes σ: {told}.", *(NOISE if least is None else ()))


def _law_of_scheduler(source: Source, built: ast.Call) -> Law:
    """How a scheduler of Opacus changes the share of the first σ."""
    given: dict[Any, Any] = arguments(built)
    rule, rate, size = (
        given.pop(key, ast.Pass()) for key in ("noise_lambda", "gamma", "step_size")
    )
    rate, size = values.value_of(source, rate), values.value_of(source, size)
    given.pop("optimizer", None)
    match "" if given or len(built.args) > 1 else source.calls[built]:
        case "LambdaNoise" if isinstance(rule, ast.Lambda) and len(rule.args.args) == 1:
            word = rule.args.args[0].arg
            return lambda count, _, share: _evaluate(source, rule.body, {word: count})
        case "ExponentialNoise" if _is_number(rate):
            return lambda count, _, share: share * rate if count else share
        case "StepNoise" if _is_number(rate) and _is_number(size) and size:
            return lambda count, _, share: share if count == 0 or count % size else share * rate
    return lambda *_: None


def _law_of_statement(source: Source, change: _Change) -> Law:
    """How a statement in a loop sets σ, from the loop's variable and σ before."""
    loops = values.loops_around(source, change.place)
    statement, expression = change.place, change.value
    variable = ast.unparse(loops[0].target) if loops and isinstance(loops[0], ast.For) else ""
    inside = {part for loop in loops[:1] for part in ast.walk(loop) if part is not loop}
    if any(part.place in inside for part in source.everywhere(variable)):
        variable = ""  # it is set in the loop, too
    target = ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = ast.unparse(statement.targets[0])
    elif isinstance(statement, ast.AugAssign):
        target = ast.unparse(statement.target)
        expression = ast.BinOp(ast.Name(target), statement.op, statement.value)
    if target.rpartition(".")[2] not in SIGMA:
        return lambda *_: None
    return lambda _, index, sigma: _evaluate(source, expression, {variable: index, target: sigma})


def _evaluate(source: Source, expression: ast.AST, changing: Mapping[str, Any]) -> Any:
    number = values.value_of(source, expression, changing)
    return number if _is_number(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _least(source: Source, change: _Change, law: Law, first: Any) -> Any:
    """The least σ that a change reaches whenever it is made; None where that is not read."""
    if not _is_number(first):
        return None
    if source.calls.get(change.place) in SCHEDULERS:
        rate = values.value_of(source, arguments(change.place).get("gamma"))
        return first if _is_number(rate) and rate >= 1 else None
    loops = values.loops_around(source, change.place)
    walk: Any = (None,)
    if loops and isinstance(loops[0], ast.For):
        walk = values.span_of(source, loops[0]) or values.value_of(source, loops[0].iter) or ()
    reached = [law(1, index, None) for index in walk[:LONGEST]]
    is_read = reached and len(walk) <= LONGEST and None not in reached
    return min(first, *reached) if is_read else None


def _composed(
    source: Source, statement: Any, law: Law, sigma: Any, words: str, is_share: bool
) -> Schedule | None:
    """σ in each turn of the loop over passes, or over steps, in which a statement changes it from
    `sigma`: the least within a turn; None where this is not read."""
    loops = [] if statement is None else values.loops_around(source, statement)
    if not loops or not is_epochs(source, loops[-1]):
        return None
    loop, outer = loops[0], loops[-1]
    counted, span = values.ends(outer), values.span_of(source, outer)
    if counted is None or (span is None and len(counted) > 1 and not is_share):
        return None
    is_by_step = (
        len(loops) == 2 and isinstance(loop, ast.For) and values.span_of(source, loop) is None
    )
    is_read = (
        (loop is outer or (is_by_step and is_share))
        and statement in loop.body
        and not is_repeated(source, outer)
        and [node for node in source.nodes if is_epochs(source, node)] == [outer]
        and len(loop.body) > 1
        and not outer.orelse
        and not any(isinstance(node, ast.Continue | ast.Try) for node in ast.walk(outer))
    )
    if not is_read:
        return None
    indices = range(LONGEST) if span is None or is_by_step else span[:LONGEST]
    place, sigmas = loop.body.index(statement), list[float]()
    for count, index in enumerate(indices, 1):
        after = law(count, index, sigma)
        during = after if place == 0 else sigma
        if None in (during, after):
            break
        is_at_end = place in (0, len(loop.body) - 1)
        sigmas.append(during if is_at_end else min(during, after))
        sigma = after
    return Schedule(tuple(sigmas), words, is_share, is_by_step) if sigmas else None
