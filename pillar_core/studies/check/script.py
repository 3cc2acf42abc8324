"""A training script or configuration, read as a syntax tree and never run: the numbers that its privacy hangs on.

Calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and JAX-Privacy are known by name. A value counts where it is a
number in the text: a literal, a name bound once, arithmetic of those, or a command-line option's default. The rest is asked for. What a
script does is not certified: names that often make its numbers untrue are remarked on.
"""

import ast
import collections
import dataclasses
import functools
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from pillar_core.errors import SettingError
from pillar_core.studies.check.source import CALLS, Script, argument, is_loop, named, root
from pillar_core.studies.check.words import LIMITS

Value = bool | int | float | str | None
LONGEST = 50_000
"""Characters of a script that is read: Python's own parser takes time that grows with the square of a dotted name."""
MOST_TOLD, MOST_NESTED = 20, 100
"""Of a script: lines that are told of a kind, and parts within parts, which cost all readers their square."""
LARGEST, DEEPEST = 2.0**63, 20
"""Of a number, and of names within names: more would take time, and is no setting."""
_REMARKS: Mapping[str, Any] = CALLS["remarks"]
_NAMED = {name: said for said, remark in _REMARKS.items() for name in remark.get("names", ())}
_SET: Mapping[str, str] = _REMARKS["changed"]["sets"]
"""Parts of an engine or optimiser that a script may set, and the fields that they change."""
_OPERATIONS: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a script says: the library ("" where none is known), values by field, and what could not be read, in words.

    hidden: fields that are said, but not as one number: their value must not be guessed. remarks: lines by which the numbers or the
    conditions of their ε may be untrue. They are found by names: that there is none says nothing.
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()


def read_script(text: str) -> Reading:
    """The privacy settings that a Python script names. Nothing of it is run, imported or looked up."""
    return _reading(text)


@functools.lru_cache(maxsize=8)
def _reading(text: str) -> Reading:
    if len(text) > LONGEST:
        return _unread(f"The script has {len(text):,} characters; the part that sets up privacy, at most {LONGEST:,}, is enough.")
    try:
        tree = ast.parse(text)
        if not _is_flat(tree):
            return _unread(f"The script nests more than {MOST_NESTED} parts: the part that sets up privacy is enough.")
        return _read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _unread("The script cannot be read as Python: paste the part that sets up privacy, or give the numbers.")


def _is_flat(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(MOST_NESTED):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    return not level


def _unread(why: str) -> Reading:
    return Reading(unread=(why,), hidden=frozenset({"sampler"}))


def _read(tree: ast.Module) -> Reading:
    script, hidden = Script(tree), set[str]()
    remarks = tuple(_remarks(script, hidden))
    if not script.set_ups or script.is_mixed:
        known = "several libraries set it up" if script.set_ups else "no call is known here that sets it up"
        return Reading(unread=(f"Privacy: {known}. Please give all numbers.",), hidden=frozenset({"sampler"}), remarks=remarks)
    names = {} if "names" in hidden else _names(script)
    found, unread = dict[str, Value](), list[str]()

    def hide(line: int, what: str, why: str, *fields: str) -> None:
        unread.append(f"Line {line}, {what:.60} {why}.")
        hidden.update(fields)

    for call in script.read():
        name = script.called(call)
        spec = CALLS[name]
        for keyword, expression in _arguments(call, list(spec["fields"])[: spec.get("positional", 0)]):
            field, line, written = spec["fields"].get(keyword), call.lineno, f"{named(call.func)}: {keyword or ast.unparse(expression):.40}"
            if (isinstance(expression, ast.Constant) and expression.value is None) or keyword in spec.get("others", ()):
                continue
            if not keyword:  # it may stand for any other argument
                hide(line, written, "is not known", *({*spec["fields"].values(), "sampler"} - set(found)))
            elif field is None and "unknown" in spec:
                hide(line, written, "is not known", *spec["unknown"])
            if not field or (field == "epochs" and name == "fit" and script.library == "jax_privacy"):  # its config stops the training
                continue
            value = _value(expression, names)
            if value is None or found.get(field, value) != value:
                why = "is another value than before" if value is not None else "is not a number in the text"
                hide(line, f"{written} = {ast.unparse(expression):.40}", why, field)
            elif problem := _impossible(field, value, script.library):
                hide(line, written, f"cannot be: {problem}", field, "noise_multiplier", "epsilon")
            else:
                found[field] = value
    if (drawn := script.drawn_by()) == "WeightedRandomSampler":
        found["sampler"] = "weighted"
    elif drawn:
        hide(script.set_ups[0].lineno, drawn, "draws the rows", "sampler")
    fits = script.by_name["fit"] if script.library in ("tensorflow_privacy", "jax_privacy") else []
    if len(fits) > 1 or any(map(script.loops, fits)):
        hidden |= {"epochs", "steps"}
    if script.library == "tensorflow_privacy" and not CALLS[script.called(script.set_ups[0])].get("set_up"):
        found.setdefault("used_microbatching", True)  # the library's default
    is_planned = bool({"planned_epochs", "planned_steps"} & set(found))
    if "epsilon" in found and ("delta" in hidden or (script.library in ("opacus", "fastdp") and not is_planned)):
        hidden.add("epsilon")  # what the noise is solved for is not known
    if script.library in ("opacus", "fastdp"):
        remarks = (*remarks, *_left(script), *_add_length(script, names, found, hidden))
    around = [script.loops(call) for call in script.set_ups]
    if len(around) > 1 or any(loops is None or any(map(is_loop, loops)) for loops in around):
        line, words = script.set_ups[-1].lineno, "privacy is set up in a loop or more than once, and the ε of all trainings add up."
        unread.append(f"Line {line}: {words} Please say how long all of them take together.")
        hidden |= {"epochs", "steps"}
    values = {field: value for field, value in found.items() if field not in hidden}
    return Reading(script.library, values, tuple(dict.fromkeys(unread))[:MOST_TOLD], frozenset(hidden), remarks)


def _impossible(field: str, value: Value, library: str) -> str:
    """Why no run can have this value; "" where one can."""
    known = CALLS["words"]["choices"].get(library, {}).get(field)
    if known is not None:
        return "" if value in known else f"{library} has {', '.join(known)}"
    limit = LIMITS.get(field.removeprefix("planned_"))
    try:
        if limit is not None:
            limit.check(value)
    except SettingError as refusal:
        return str(refusal).rstrip(".")
    return ""


def _remarks(script: Script, hidden: set[str]) -> Iterator[str]:
    """What the names of a script say against its numbers, one line a kind; adds the fields that must be asked for."""
    first, reductions = dict[str, tuple[int, str]](), {"reduction": (1, "mean"), "loss_reduction": (1, "mean")}
    for node in ast.walk(script.tree):
        line, parts = getattr(node, "lineno", 1), list[str]()
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Constant(value=str(name)) if name in _SET:
                hidden.add(_SET[name])
                first.setdefault("changed", (line, name))
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                parts = [name]
            case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
                parts = name.split(".")
            case ast.keyword(arg=str(name), value=value):
                parts = [name]
                if name in reductions:
                    reductions[name] = line, ast.unparse(value).strip("'")
        for name in parts:
            if name in _NAMED:
                first.setdefault(_NAMED[name], (line, name))
    if reductions["reduction"][1] != reductions["loss_reduction"][1]:
        first["reduction"] = max(reductions.values())
    for said, (line, name) in sorted(first.items(), key=lambda one: one[1]):
        hidden.update(_REMARKS[said].get("hides", ()))
        yield f"Line {line}, {name:.40}: {_REMARKS[said]['says']}"


def _left(script: Script) -> Iterator[str]:
    """Steps and batches of an Opacus script that are not those that its set-up returned."""
    call = script.set_ups[0]
    if script.library != "opacus":
        return
    targets = [part for target in getattr(script.around[call], "targets", []) for part in ast.walk(target)]
    known = {*map(named, targets), *script.parameters}
    if not targets:
        yield f"Line {call.lineno}: {_REMARKS['returned']['says']}"
    for step in script.by_name["step"][:MOST_TOLD]:
        given = [_peeled(loop.iter) for loop in (script.loops(step) or [])[:1] if isinstance(loop, ast.For)]
        owner = step.func.value if isinstance(step.func, ast.Attribute) else step.func
        for part in [] if script.is_schedule(step) else [owner, *given]:
            if targets and named(part) not in known:
                yield f"Line {part.lineno}, {ast.unparse(part):.40}: {_REMARKS['returned']['says']}"


def _add_length(script: Script, names: dict[str, ast.expr], found: dict[str, Value], hidden: set[str]) -> Iterator[str]:
    """How long it trains, as the loops around its one step say; where the text shows none, as its noise was planned for."""
    planned = {name: found[f"planned_{name}"] for name in ("epochs", "steps") if f"planned_{name}" in found}
    steps = [call for call in script.by_name["step"] if not script.is_schedule(call)]
    if not steps and not script.by_name["fit"]:
        found |= planned
        if planned:
            yield "The text shows no training: it is taken to be as long as the noise is planned for."
        return
    if any(map(script.is_conditional, steps[:3])):
        hidden.add("batch_size")
        yield f"Line {steps[0].lineno}: not each batch is a step, so that one step may sum over several."
    found["epochs"] = _passes(script.loops(steps[0]), names) if len(steps) == 1 else None
    if found["epochs"] is None:
        hidden.add("epochs")


def _passes(loops: list[ast.AST] | None, names: dict[str, ast.expr]) -> Value:
    """The passes over the rows that a loop over batches in at most one over a range makes; None for any others."""
    match loops:
        case [ast.For(iter=batches)]:
            ends: list[ast.expr] = [ast.Constant(1)]
        case [ast.For(iter=batches), ast.For(iter=rounds)]:
            counted = _peeled(rounds)
            is_range = isinstance(counted, ast.Call) and named(counted.func) in ("range", "trange") and 0 < len(counted.args) < 3
            ends = counted.args if is_range and isinstance(counted, ast.Call) else []
        case _:
            return None
    numbers = [value for end in ends if isinstance(value := _value(end, names), int | float)]
    if not isinstance(_peeled(batches), ast.Name | ast.Attribute) or not ends or len(numbers) < len(ends):
        return None
    return float(max(0.0, numbers[-1] - (numbers[0] if len(numbers) > 1 else 0)))


def _peeled(given: ast.expr) -> ast.expr:
    """What a loop goes over, without what counts or shows its rounds."""
    match given:
        case ast.Call(func=function, args=[inner, *_]) if named(function) in ("enumerate", "tqdm"):
            return _peeled(inner)
    return given


def _names(script: Script) -> dict[str, ast.expr]:
    """Names bound once, with what they are bound to; command-line options under the name that they are read by, with their defaults."""
    options, starts = collections.defaultdict[str, list[ast.expr]](list), collections.defaultdict[str, list[str]](list)
    for name, given in script.assigned.items():
        match given:
            case [ast.Call(func=ast.Attribute(value=ast.Name(id=parser), attr="parse_args"), args=[], keywords=[])] if script.bound[
                name
            ] - script.parameters[name] == 1 and _is_parser(script, parser):
                starts[parser].append(name)
    stored = {ast.unparse(node) for node in ast.walk(script.tree) if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)}
    for call in script.calls:
        if option := _option(call):
            is_flag = named(call.func).startswith("DEFINE_")
            for start in ("FLAGS", "flags.FLAGS") if is_flag else starts[root(call.func)]:
                options[f"{start}.{option[0]}"].append(option[1])
    return script.values | {name: given[0] for name, given in options.items() if len(given) == 1 and name not in stored}


def _is_parser(script: Script, name: str) -> bool:
    """Whether options of plain kinds are added to a parser that has no others, each under a name of its own, and nothing else is done."""
    made, added = script.values.get(name), list[ast.AST]()
    if not isinstance(made, ast.Call) or script.called(made) != "ArgumentParser" or argument(made, "parents") is not None:
        return False
    for use in script.uses[name]:
        part = script.around[use]
        if not isinstance(part, ast.Attribute) or part.attr not in ("add_argument", "parse_args"):
            return False
        added.append(script.around[part])
    return all(isinstance(call, ast.Call) and not {keyword.arg for keyword in call.keywords} & {"dest", None} for call in added)


def _option(call: ast.Call) -> tuple[str, ast.expr] | None:
    """The name that a command-line option is kept under, and its default."""
    is_flag = named(call.func).startswith("DEFINE_")
    if not is_flag and named(call.func) != "add_argument":
        return None
    written = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    long = [one for one in written if one.startswith("--")] or written
    default = argument(call, "default") or (call.args[1] if is_flag and len(call.args) > 1 else None)
    kind = argument(call, "type")
    is_plain = not {keyword.arg for keyword in call.keywords} & {"action", "nargs"} and (
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("int", "float", "str"))
    )
    return (long[0].lstrip("-").replace("-", "_"), default) if long and default is not None and is_plain else None


def _arguments(call: ast.Call, order: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """Arguments with their keywords; "" for one that has none or stands for any number of others."""
    known = next((place for place, given in enumerate(call.args) if isinstance(given, ast.Starred)), len(order))
    yield from ((order[place] if place < min(known, len(order)) else "", given) for place, given in enumerate(call.args))
    yield from ((keyword.arg or "", keyword.value) for keyword in call.keywords)


def _value(expression: ast.expr, names: dict[str, ast.expr], depth: int = 0) -> Value:
    """The number, switch or word that an expression stands for; None where it is more than that, or a number beyond LARGEST."""
    found = _meant(expression, names, depth) if depth < DEEPEST else None
    return None if isinstance(found, int | float) and not abs(found) < LARGEST else found


def _meant(expression: ast.expr, names: dict[str, ast.expr], depth: int) -> Value:
    match expression:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return constant
        case ast.Name() | ast.Attribute() if (written := ast.unparse(expression)) in names:
            given, names[written] = names[written], ast.Constant(None)  # a name within itself has no value
            meant = _value(given, names, depth + 1)
            names[written] = ast.Constant(meant)  # worked out once, however often it is named
            return meant
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, names, depth + 1)
            return -inner if isinstance(inner, int | float) else None
        case ast.Call(func=ast.Name(id="int" | "float" as kind), args=[operand]):
            inner = _value(operand, names, depth + 1)
            try:
                return {"int": int, "float": float}[kind](inner) if isinstance(inner, int | float | str) else None
            except (ValueError, OverflowError):
                return None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            pair = _value(left, names, depth + 1), _value(right, names, depth + 1)
            if not all(isinstance(part, int | float) for part in pair):
                return None
            try:
                result: Value = _OPERATIONS[type(op)](*pair)
            except (ZeroDivisionError, OverflowError):
                return None
            return result
    return None
