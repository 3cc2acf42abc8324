"""A training script, read as a syntax tree and never run: the literals of known calls, as a source
of numbers and no more.

`calls.toml` knows the calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and
JAX-Privacy. A number counts where it stands in the text: a literal, or a name bound once to one.
The rest is asked for. What else a script does is its owner's word.
"""

import ast
import collections
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from pillar_core.errors import DataError, SettingError
from pillar_core.registry import toml_tables
from pillar_core.studies.check.fields import LIMITS
from pillar_core.types import Values

Value = bool | int | float | str | None
_FILE: Values = toml_tables(Path(__file__).with_name("calls.toml"))
CALLS: Values = _FILE["calls"]
_FIELDS = {keyword: field for field, keywords in _FILE["keywords"].items() for keyword in keywords}
LONGEST = 50_000
"""Characters of a script that is read: Python's own parser takes time that grows with the square of
a dotted name."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a script says: the library ("" where none is known), values by field, and what could not
    be read, in words.

    hidden: fields that are said, but not as one number: their value must not be guessed.
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=8)
def read_script(text: str) -> Reading:
    """The privacy settings that a Python script names. Nothing of it is run, imported or looked
    up."""
    try:
        return _read(text)
    except DataError as refusal:
        why = str(refusal)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        why = (
            "The script cannot be read as Python: paste the part that sets up privacy, or give the"
            " numbers."
        )
    return Reading(unread=(why,), hidden=frozenset({"sampler"}))


def _read(text: str) -> Reading:
    if len(text) > LONGEST:
        raise DataError(
            f"The script has {len(text):,} characters; the part that sets up privacy, at most"
            f" {LONGEST:,}, is enough."
        )
    nodes = list(ast.walk(ast.parse(text)))
    bound = collections.Counter(name for node in nodes for name in _binders(node))
    assigns = [node for node in nodes if isinstance(node, ast.Assign)]
    assigned = [
        (target.id, node.value)
        for node in assigns
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    names = {name: expression for name, expression in assigned if bound[name] == 1}
    calls = [
        (name, node)
        for node in nodes
        if isinstance(node, ast.Call) and (name := _call_name(node)) in CALLS
    ]
    set_ups = [call for name, call in calls if "set_up" in CALLS[name]]
    libraries = {CALLS[name]["library"] for name, _ in calls if "library" in CALLS[name]}
    if len(libraries) != 1:
        raise DataError(
            "Privacy is set up by"
            f" {' and '.join(sorted(libraries)) or 'no call that is known here'}. Please give all"
            " numbers."
        )
    (library,) = libraries
    loaders = [
        argument.value
        for call in set_ups
        for argument in call.keywords
        if argument.arg == "data_loader"
    ]
    named = {loader.id for loader in loaders if isinstance(loader, ast.Name)}
    loaded = [*loaders, *(expression for name, expression in assigned if name in named)]
    values, hidden, unread = dict[str, Value](), set[str](), list[str]()
    for name, call in calls:
        if (name == "DataLoader" and call not in loaded) or (
            name == "fit" and library != "tensorflow_privacy"
        ):
            continue
        fields = {keyword: _FIELDS.get(keyword, keyword) for keyword in CALLS[name]["takes"]}
        for keyword, expression in _arguments(call, [*fields][: CALLS[name].get("positional", 0)]):
            written = f"Line {call.lineno}, {name}: {keyword or ast.unparse(expression):.40}"
            field, value = fields.get(keyword, ""), _value(expression, names)
            if not keyword:  # it may stand for any other argument
                hidden |= {*fields.values(), "sampler"}
            if keyword not in fields:
                unread.append(
                    f"{written} is not known here: please see that it changes none of the numbers."
                )
            elif not field:
                continue
            elif field == "sampler" or value is None or values.get(field, value) != value:
                hidden.add(field)
                unread.append(
                    f"{written} = {ast.unparse(expression):.40} is not one number in the text."
                )
            elif problem := _impossible(field, value, library):
                hidden |= {field, "noise_multiplier", "epsilon"}
                unread.append(f"{written} cannot be: {problem}.")
            else:
                values[field] = value
    if len(set_ups) > 1:
        hidden |= {"epochs", "steps"}
        unread.append(
            "Privacy is set up more than once, and the ε of all trainings add up. Say how long they"
            " take together."
        )
    plans = library in ("opacus", "fastdp")  # their set-up says how long training lasts
    is_planned = plans and bool({"epochs", "steps"} & (values.keys() - hidden))
    if is_planned:
        unread.append("Training is taken to be as long as its noise is planned for.")
    if library == "opacus" and "PrivacyEngine" not in dict(calls):
        hidden.add("accountant")  # the engine is made elsewhere
    if library == "tensorflow_privacy" and not set_ups:
        values.setdefault("used_microbatching", True)  # the library's default
    if "epsilon" in values and ("delta" in hidden or (plans and not is_planned)):
        hidden.add("epsilon")  # what the noise is solved for is not known
    return Reading(
        library,
        {field: values[field] for field in values if field not in hidden},
        tuple(unread),
        frozenset(hidden),
    )


def _call_name(call: ast.Call) -> str:
    """The name under which a call is known."""
    name = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )
    if name == "PrivacyEngine" and any(argument.arg == "sample_size" for argument in call.keywords):
        return "FastPrivacyEngine"
    if name.startswith(
        ("DPKeras", "VectorizedDPKeras", "DPGradientDescentGaussian")
    ) and name.endswith("Optimizer"):
        return "DPKerasOptimizer"
    return "" if name == "make_private" and call.args else name  # JAX-Privacy's takes a config


def _arguments(call: ast.Call, order: Sequence[str]) -> list[tuple[str, ast.expr]]:
    """Arguments with their keywords; "" for one that has none or stands for any number of others;
    without those that are None."""
    order = [] if any(isinstance(argument, ast.Starred) for argument in call.args) else order
    given = [*zip([*order, *[""] * len(call.args)], call.args, strict=False)]
    given += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    return [
        (keyword, value)
        for keyword, value in given
        if not (isinstance(value, ast.Constant) and value.value is None)
    ]


def _binders(node: ast.AST) -> list[str]:
    """Names that a part binds, or may bind."""
    if isinstance(node, ast.Attribute | ast.keyword | ast.Constant) or isinstance(
        getattr(node, "ctx", None), ast.Load
    ):
        return []
    return [name for _, name in ast.iter_fields(node) if isinstance(name, str)]


def _impossible(field: str, value: Value, library: str) -> str:
    """Why no run can have this value; "" where one can."""
    if known := _FILE["words"].get(library, {}).get(field):
        return "" if value in known else f"{library} has {', '.join(known)}"
    try:
        if field in LIMITS:
            LIMITS[field].check(value)
    except SettingError as refusal:
        return str(refusal).rstrip(".")
    return ""


def _value(expression: ast.expr, names: Mapping[str, ast.expr]) -> Value:
    """The number, switch or word that an expression or its name stands for; None where it is more
    than that, or too large."""
    try:
        value = ast.literal_eval(
            names.get(expression.id, expression) if isinstance(expression, ast.Name) else expression
        )
    except (ValueError, TypeError):
        return None
    return (
        value
        if isinstance(value, str) or (isinstance(value, int | float) and abs(value) < 2.0**63)
        else None
    )
