"""A training script, read as a syntax tree and never run: the literals of known calls, as a source of numbers and no more.

`calls.toml` knows the calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and JAX-Privacy. A number counts where it
stands in the text: a literal, or a name bound once to one. The rest is asked for. What else a script does is its
owner's word.
"""

import ast
import collections
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pillar_core.errors import SettingError
from pillar_core.registry import toml_tables
from pillar_core.studies.check.words import LIMITS
from pillar_core.types import Values

Value = bool | int | float | str | None
_FILE: Values = toml_tables(Path(__file__).with_name("calls.toml"))
CALLS: Values = _FILE["calls"]
_FIELDS = {keyword: field for field, keywords in _FILE["keywords"].items() for keyword in keywords}
LONGEST = 50_000
"""Characters of a script that is read: Python's own parser takes time that grows with the square of a dotted name."""
LARGEST = 2.0**63
_OPTIMISERS = re.compile(r"(Vectorized)?DPKeras(SGD|Adam|Adagrad)Optimizer|DPGradientDescentGaussianOptimizer")


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a script says: the library ("" where none is known), values by field, and what could not be read, in words.

    hidden: fields that are said, but not as one number: their value must not be guessed.
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=8)
def read_script(text: str) -> Reading:
    """The privacy settings that a Python script names. Nothing of it is run, imported or looked up."""
    if len(text) > LONGEST:
        return _unread(f"The script has {len(text):,} characters; the part that sets up privacy, at most {LONGEST:,}, is enough.")
    try:
        return _read(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _unread("The script cannot be read as Python: paste the part that sets up privacy, or give the numbers.")


def _unread(why: str) -> Reading:
    return Reading(unread=(why,), hidden=frozenset({"sampler"}))


def _read(tree: ast.Module) -> Reading:
    nodes = list(ast.walk(tree))
    bound = collections.Counter(name for node in nodes for name in _binders(node))
    assigns = [(target, node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    assigned = [(target.id, assigned_value) for target, assigned_value in assigns if isinstance(target, ast.Name)]
    names = {name: assigned_value for name, assigned_value in assigned if bound[name] == 1}
    calls = [(name, node) for node in nodes if isinstance(node, ast.Call) and (name := call_name(node)) in CALLS]
    set_ups = [call for name, call in calls if "set_up" in CALLS[name]]
    libraries = {CALLS[name]["library"] for name, _ in calls if "library" in CALLS[name]}
    if len(libraries) != 1:
        obstacle = "several libraries set it up" if libraries else "no call is known here that sets it up"
        return _unread(f"Privacy: {obstacle}. Please give all numbers.")
    (library,) = libraries
    loaders = [_argument(call, "data_loader") for call in set_ups]
    named = {assigned_value.id for assigned_value in loaders if isinstance(assigned_value, ast.Name)}
    loaded = [*loaders, *(assigned_value for name, assigned_value in assigned if name in named)]
    values, hidden, unread = dict[str, Value](), set[str](), list[str]()
    for name, call in calls:
        if (name == "DataLoader" and call not in loaded) or (name == "fit" and library in ("opacus", "fastdp")):
            continue
        takes = CALLS[name]["takes"]
        for keyword, expression in _arguments(call, takes[: CALLS[name].get("positional", 0)]):
            written = f"Line {call.lineno}, {name}: {keyword or ast.unparse(expression):.40}"
            if isinstance(expression, ast.Constant) and expression.value is None:
                continue
            if not keyword:  # it may stand for any other argument
                hidden |= {*(_field(name, taken) for taken in takes), "sampler"}
                unread.append(f"{written} is not known.")
                continue
            if keyword not in takes:
                unread.append(f"{written} is not known here: please see that it changes none of the numbers.")
                continue
            field = _field(name, keyword)
            if not field or (field == "epochs" and name == "fit" and library == "jax_privacy"):  # its config stops the training
                continue
            value = _value(expression, names)
            if field == "sampler" or value is None or values.get(field, value) != value:
                why = "is another value than before" if value is not None else "is not a number in the text"
                hidden.add(field)
                unread.append(f"{written} = {ast.unparse(expression):.40} {why}.")
            elif problem := _impossible(field, value, library):
                hidden |= {field, "noise_multiplier", "epsilon"}
                unread.append(f"{written} cannot be: {problem}.")
            else:
                values[field] = value
    if len(set_ups) > 1:
        hidden |= {"epochs", "steps"}
        unread.append("Privacy is set up more than once, and the ε of all trainings add up. Say how long they take together.")
    planned = {name: values[f"planned_{name}"] for name in ("epochs", "steps") if f"planned_{name}" in values} if len(set_ups) == 1 else {}
    if planned:
        values |= planned
        unread.append("Training is taken to be as long as its noise is planned for.")
    if library == "opacus" and "PrivacyEngine" not in dict(calls):
        hidden.add("accountant")  # the engine is made elsewhere
    if library == "tensorflow_privacy" and not set_ups:
        values.setdefault("used_microbatching", True)  # the library's default
    if "epsilon" in values and ("delta" in hidden or (library in ("opacus", "fastdp") and not planned)):
        hidden.add("epsilon")  # what the noise is solved for is not known
    readable = {field: value for field, value in values.items() if field not in hidden}
    return Reading(library, readable, tuple(dict.fromkeys(unread)), frozenset(hidden))


def _field(name: str, keyword: str) -> str:
    """What a keyword of a call says, "" for no number; the epochs of a set-up are what its noise is planned for."""
    field = _FIELDS.get(keyword, keyword)
    return "planned_epochs" if field == "epochs" and "set_up" in CALLS[name] else field


def call_name(call: ast.Call) -> str:
    """The name under which a call is known."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    if name == "PrivacyEngine" and _argument(call, "sample_size") is not None:
        return "FastPrivacyEngine"
    if name == "make_private" and call.args:  # JAX-Privacy's takes a config
        return ""
    return "DPKerasOptimizer" if _OPTIMISERS.fullmatch(name) else name


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _arguments(call: ast.Call, order: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    """Arguments with their keywords; "" for one that has none or stands for any number of others."""
    known = next((place for place, argument in enumerate(call.args) if isinstance(argument, ast.Starred)), len(order))
    yield from ((order[place] if place < min(known, len(order)) else "", argument) for place, argument in enumerate(call.args))
    yield from ((keyword.arg or "", keyword.value) for keyword in call.keywords)


def _binders(node: ast.AST) -> list[str]:
    """Names that a part binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.alias(name=name, asname=alias):
            return [alias or name]
    return []


def _impossible(field: str, value: Value, library: str) -> str:
    """Why no run can have this value; "" where one can."""
    known = _FILE["words"].get(library, {}).get(field)
    if known is not None:
        return "" if value in known else f"{library} has {', '.join(known)}"
    limit = LIMITS.get(field.removeprefix("planned_"))
    try:
        if limit is not None:
            limit.check(value)
    except SettingError as refusal:
        return str(refusal).rstrip(".")
    return ""


def _value(expression: ast.expr, names: Mapping[str, ast.expr]) -> Value:
    """The number, switch or word that an expression or its name stands for; None where it is more than that, or a number beyond LARGEST."""
    try:
        value = ast.literal_eval(names.get(expression.id, expression) if isinstance(expression, ast.Name) else expression)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, str) or (isinstance(value, int | float) and abs(value) < LARGEST) else None
