"""A training script or configuration, read as a syntax tree and never run: the numbers that its privacy hangs on.

Calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and JAX-Privacy are known by name. A value counts where it is a
number in the text: a literal, a name bound once, arithmetic of those, or a command-line option's default. The rest is asked for, and so
is everything where the script does what is of no known form.
"""

import ast
import collections
import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from pillar_core.errors import SettingError
from pillar_core.studies.check.forms import Forms
from pillar_core.studies.check.source import CALLS, Script, argument, named, root
from pillar_core.studies.check.words import LIMITS

Value = bool | int | float | str | None
LONGEST = 50_000
"""Characters of a script that is read: Python's own parser takes time that grows with the square of a dotted name."""
MOST_REASONS, MOST_NESTED = 20, 100
"""Of a script: reasons that are told, and parts within parts, which cost all readers their square."""
LARGEST, DEEPEST = 2.0**63, 20
"""Of a number, and of names within names: more would take time, and is no setting."""
_PER_ROW = ("hooks", "ew", "functorch", "ghost")
"""Opacus's own ways to the gradient of each row; with "no_op" the script makes them."""
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

    hidden: fields that are said, but not as one number: their value must not be guessed.
    unfollowed: lines by which the run may be another than the values say, and why; with any, no value may be counted.
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    unfollowed: tuple[str, ...] = ()


@functools.lru_cache(maxsize=8)
def read_script(text: str) -> Reading:
    """The privacy settings of a Python script. Nothing of it is run, imported or looked up."""
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
    return Reading(unfollowed=(why,))


def _read(tree: ast.Module) -> Reading:
    script = Script(tree)
    forms = Forms(tree, script)
    names, found, unread, hidden = _names(script), dict[str, Value](), list[str](), set[str]()
    library = script.library_of(script.set_ups[0]) if script.set_ups else ""
    reasons = [f"Line {line}: {reason}." for line, reason in sorted(set(itertools.islice(forms.reasons(), MOST_REASONS)))]
    for call in script.read():
        name = script.called(call)
        spec = CALLS[name]
        for keyword, expression in _arguments(call, list(spec["fields"])[: spec.get("positional", 0)]):
            field = spec["fields"].get(keyword)
            if keyword == "grad_sample_mode" and _value(expression, names) in _PER_ROW:
                continue
            if isinstance(expression, ast.Constant) and expression.value is None:
                continue
            if field is None and keyword not in spec.get("others", ()):
                reasons.append(
                    f"Line {call.lineno}: what {keyword or ast.unparse(expression):.60} does to {named(call.func)} is not known."
                )
            if not field or (field == "epochs" and name == "fit" and library == "jax_privacy"):  # its config stops the training
                continue
            value = _value(expression, names)
            if value is None or found.get(field, value) != value:
                why = "another value than before" if value is not None else "not a number in the text"
                unread.append(f"Line {call.lineno}, {named(call.func)}: {keyword} = {ast.unparse(expression):.60} is {why}.")
                hidden.add(field)
            else:
                found[field] = value
    if any(named(call.func) in CALLS["words"]["seeds"] for call in script.calls):
        found["is_seeded"] = True
    if script.is_weighted():
        found["sampler"] = "weighted"
    if library == "tensorflow_privacy" and not CALLS[script.called(script.set_ups[0])].get("set_up"):
        found.setdefault("used_microbatching", True)  # the library's default
    for field, known in CALLS["words"]["choices"].get(library, {}).items():
        if field in found and found[field] not in known:
            reasons.append(f"Line {script.set_ups[0].lineno}: {field} = {found[field]!r:.60} is not known.")
    is_planned = bool({"planned_epochs", "planned_steps"} & set(found))
    if "epsilon" in found and ("delta" in hidden or (library in ("opacus", "fastdp") and not is_planned)):
        hidden.add("epsilon")  # what the noise is solved for is not known
    _add_length(forms.length(), names, found, hidden)
    values = {field: value for field, value in found.items() if field not in hidden}
    for field in [field for field in values if field.removeprefix("planned_") in LIMITS]:
        try:
            LIMITS[field.removeprefix("planned_")].check(values[field])
        except SettingError as refusal:
            reasons.append(f"The script's value cannot be: {refusal}")
            del values[field]
    return Reading(library, values, tuple(dict.fromkeys(unread)), frozenset(hidden), tuple(dict.fromkeys(reasons)))


def _add_length(rounds: list[ast.expr] | None, names: dict[str, ast.expr], found: dict[str, Value], hidden: set[str]) -> None:
    """How long it trains: as its loops say, else as its noise was planned for."""
    if rounds is None:
        found |= {name: found[f"planned_{name}"] for name in ("epochs", "steps") if f"planned_{name}" in found}
        return
    ends = [_value(end, names) for end in rounds]
    numbers = [float(end) for end in ends if isinstance(end, int | float)]
    if len(numbers) < len(ends):
        hidden.add("epochs")
    else:
        found["epochs"] = max(0.0, numbers[-1] - (numbers[0] if len(numbers) > 1 else 0.0))


def _names(script: Script) -> dict[str, ast.expr]:
    """Names bound once, with what they are bound to; command-line options under the name that they are read by, with their defaults."""
    names, options = dict(script.values), collections.defaultdict[str, list[ast.expr]](list)
    starts = collections.defaultdict[str, list[str]](list)
    for name, value in script.values.items():
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=parser), attr="parse_args"), args=[], keywords=[]):
                if script.called_of(name) <= {""} and _is_parser(script, parser):
                    starts[parser].append(name)
    for call in script.calls:
        if not (option := _option(call)):
            continue
        is_flag = named(call.func).startswith("DEFINE_")
        for start in ("FLAGS", "flags.FLAGS") if is_flag else starts[root(call.func)]:
            options[f"{start}.{option[0]}"].append(option[1])
    return names | {name: given[0] for name, given in options.items() if len(given) == 1 and name not in script.stored}


def _is_parser(script: Script, name: str) -> bool:
    """Whether options of plain kinds are added to a parser that has no others, each under a name of its own, and nothing else is done."""
    made = script.values.get(name)
    is_new = isinstance(made, ast.Call) and script.called(made) == "ArgumentParser" and argument(made, "parents") is None
    added = [script.around[script.around[use]] for use in script.uses[name]]
    return (
        is_new
        and script.called_of(name) <= {"add_argument", "parse_args"}
        and not any(isinstance(call, ast.Call) and {keyword.arg for keyword in call.keywords} & {"dest", None} for call in added)
    )


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
    yield from (
        (order[place] if place < len(order) and not isinstance(given, ast.Starred) else "", given) for place, given in enumerate(call.args)
    )
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
