"""A training script or configuration, read as a syntax tree and never run: the numbers that its privacy hangs on.

Calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and JAX-Privacy are known by name. A value counts where it is a
number in the text: a literal, a name given one value, arithmetic of those, or a command-line option's default. The rest is asked for.
"""

import ast
import collections
import dataclasses
import operator
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pillar_core.studies.check.loops import Value, calls, longer_training, named

LONGEST = 50_000
"""Characters of a script that is read: Python's own parser takes time that grows with the square of a dotted name."""
LARGEST, DEEPEST = 2.0**63, 20
"""Of a number, and of names within names: more would take time, and is no setting."""

_OPACUS: Mapping[str, str] = {
    "noise_multiplier": "noise_multiplier",
    "target_epsilon": "epsilon",
    "target_delta": "delta",
    "epochs": "epochs",
    "max_grad_norm": "l2_clip_norm",
    "poisson_sampling": "poisson_sampling",
    "clipping": "clipping",
}
_ENGINE: Mapping[str, str] = {"accountant": "accountant"}
_FAST_DP: Mapping[str, str] = {
    "batch_size": "batch_size",
    "sample_size": "n",
    "epochs": "epochs",
    "num_steps": "steps",
    "noise_multiplier": "noise_multiplier",
    "target_epsilon": "epsilon",
    "target_delta": "delta",
    "max_grad_norm": "l2_clip_norm",
    "clipping_fn": "clipping",
    "accounting_mode": "accountant",
}
_TF_OPTIMISER = {
    "l2_norm_clip": "l2_clip_norm",
    "noise_multiplier": "noise_multiplier",
    "num_microbatches": "num_microbatches",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
}
_TF_STATEMENT = {
    "number_of_examples": "n",
    "batch_size": "batch_size",
    "num_epochs": "epochs",
    "noise_multiplier": "noise_multiplier",
    "delta": "delta",
    "used_microbatching": "used_microbatching",
}
_TF_EPSILON = {"n": "n", "batch_size": "batch_size", "noise_multiplier": "noise_multiplier", "epochs": "epochs", "delta": "delta"}
_JAX = {
    "epsilon": "epsilon",
    "delta": "delta",
    "clipping_norm": "l2_clip_norm",
    "batch_size": "batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "train_steps": "steps",
    "train_size": "n",
    "poisson_sampling_in_fit": "poisson_sampling",
    "noise_multiplier": "noise_multiplier",
}
_LOADER = {"batch_size": "batch_size", "shuffle": "shuffle", "drop_last": "drop_last"}
_CALLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "make_private": ("opacus", _OPACUS),
    "make_private_with_epsilon": ("opacus", _OPACUS),
    "DPKerasConfig": ("jax_privacy", _JAX),
    "compute_dp_sgd_privacy": ("tensorflow_privacy", _TF_EPSILON),
    "compute_dp_sgd_privacy_statement": ("tensorflow_privacy", _TF_STATEMENT),
    **{f"DPKeras{kind}Optimizer": ("tensorflow_privacy", _TF_OPTIMISER) for kind in ("SGD", "Adam", "Adagrad")},
    **{f"VectorizedDPKeras{kind}Optimizer": ("tensorflow_privacy", _TF_OPTIMISER) for kind in ("SGD", "Adam", "Adagrad")},
    "DPGradientDescentGaussianOptimizer": ("tensorflow_privacy", _TF_OPTIMISER),
    "WeightedRandomSampler": ("", {}),
    "RandomSampler": ("", {"replacement": "replacement"}),
    "DataLoader": ("", _LOADER),
    "fit": ("", {"batch_size": "batch_size", "epochs": "epochs"}),
}
"""Library and fields of each call by its keywords, which are also its arguments in order where they may stand alone."""
_POSITIONAL = {"compute_dp_sgd_privacy", "compute_dp_sgd_privacy_statement", "DPKerasConfig"}
_POSITIONAL |= {name for name, (_, fields) in _CALLS.items() if fields is _TF_OPTIMISER}
SILENT = ("poisson_sampling", "gradient_accumulation_steps", "num_microbatches", "used_microbatching", "drop_last", "accountant")
"""Fields that decide ε though nobody need write them."""
_OPTIONS = ("add_argument", "DEFINE_float", "DEFINE_integer", "DEFINE_bool", "DEFINE_boolean", "set_defaults")
_SCHEDULES = ("ExponentialNoise", "LambdaNoise", "StepNoise")
_JOINING: Mapping[str, str] = {
    **dict.fromkeys(("virtual_step", "signal_skip_step"), "lets one noisy step sum over several batches"),
    **dict.fromkeys(
        (
            "DifferentiallyPrivateDistributedDataParallel",
            "DPDDP",
            "DistributedDataParallel",
            "DistributedDPOptimizer",
            "DistributedSampler",
        ),
        "lets one noisy step sum over the batches of several processes",
    ),
}
_DRAWING = {"make_private", "make_private_with_epsilon", "from_data_loader"}
"""Opacus's calls that noise which changes, and those that draw Poisson samples."""
_PARSING = ("parse_args", "parse_known_args")
_ENGINES = {"fastDP": "fastdp", "private_transformers": "fastdp", "opacus": "opacus"}
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
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


def read_script(text: str) -> Reading:
    """The privacy settings of a Python script. Nothing of it is run, imported or looked up."""
    if len(text) > LONGEST:
        return Reading(unread=(f"The script has {len(text):,} characters; the part that sets up privacy, at most {LONGEST:,}, is enough.",))
    try:
        return _read(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Reading(unread=("The script cannot be read as Python: paste the part that sets up privacy, or give the numbers.",))


def _read(tree: ast.Module) -> Reading:
    names, library, found, unread, hidden = _names(tree), _imported(tree), dict[str, Value](), list[str](), set[str]()
    for call in sorted(calls(tree), key=lambda node: node.lineno):
        name = named(call.func)
        if name == "PrivacyEngine":
            is_fast = library == "fastdp" or any(keyword.arg == "sample_size" for keyword in call.keywords)
            owner, fields = ("fastdp", _FAST_DP) if is_fast else ("opacus", _ENGINE)
        elif name in _CALLS and not (name == "DataLoader" and _is_for_tests(call)):
            owner, fields = _CALLS[name]
        else:
            continue
        library = owner or library
        if name == "WeightedRandomSampler":
            found["sampler"] = "weighted"
        order = ("dataset", "batch_size", "shuffle") if name == "DataLoader" else tuple(fields) if name in _POSITIONAL else ()
        for keyword, expression in _arguments(call, order):
            field = fields.get(keyword)
            if field is None or (isinstance(expression, ast.Constant) and expression.value is None):
                continue
            value = _value(expression, names)
            if value is None or found.get(field, value) != value:
                why = "another value than before" if value is not None else "not a number in the text"
                unread.append(f"Line {call.lineno}, {name}: {keyword} = {ast.unparse(expression):.60} is {why}.")
                hidden.add(field)
            else:
                found[field] = value
        if is_open := _is_open(call):
            unread.append(f"Line {call.lineno}, {name}: what {ast.unparse(is_open):.60} holds is not read.")
            hidden |= {field for field in fields.values() if field in SILENT and field not in found}
    for line, reason in _changes_of_noise(tree):
        unread.append(f"Line {line}: {reason} changes the noise while it trains: say a σ that no step falls below.")
        hidden |= {"noise_multiplier", "epsilon"}
    for field, line, reason in (*_joined_batches(tree), *longer_training(tree, lambda given: _value(given, names), found.get("epochs"))):
        unread.append(f"Line {line}: {reason}: say {'noise_multiplier' if field == 'epsilon' else field} yourself.")
        hidden.add(field)
    if any(named(call.func) == "DataLoader" and not _is_for_tests(call) for call in calls(tree)):
        found.setdefault("shuffle", False)
    if library == "opacus" and not any(named(call.func) in _DRAWING for call in calls(tree)):
        hidden.add("poisson_sampling")
    values = {field: value for field, value in found.items() if field not in hidden}
    return Reading(library, values, tuple(dict.fromkeys(unread)), frozenset(hidden))


def _is_open(call: ast.Call) -> ast.expr | None:
    """An argument that stands for any number of others."""
    starred = [argument for argument in call.args if isinstance(argument, ast.Starred)]
    return next(iter([*starred, *(keyword.value for keyword in call.keywords if keyword.arg is None)]), None)


def _changes_of_noise(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines that change an optimiser's noise, and by what."""
    read = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func) if named(func) in _SCHEDULES:
                yield node.lineno, named(func)
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="noise_multiplier"), *_]):
                yield node.lineno, "setattr"
            case ast.Attribute(value=owner, attr="noise_multiplier", ctx=ast.Store()):
                if "opt" in ast.unparse(owner).lower() or ast.unparse(node) not in read:  # else a setting that is read elsewhere
                    yield node.lineno, ast.unparse(node)


def _joined_batches(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    """(field, line, why) of calls by which a step sums over more than a loader's batch."""
    for call in calls(tree):
        if named(call.func) in _JOINING:
            yield "batch_size", call.lineno, f"{named(call.func)} {_JOINING[named(call.func)]}"


def _imported(tree: ast.Module) -> str:
    """The engine that the script imports, where the name of its class alone does not tell."""
    for node in ast.walk(tree):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            if module.split(".")[0] in _ENGINES:
                return _ENGINES[module.split(".")[0]]
    return ""


def _names(tree: ast.Module) -> dict[str, ast.expr]:
    """Names with one value in the whole text: those of variables and `self.x` as written, command-line options as `.x` with their defaults.

    A name that anything else binds too (a loop, a parameter, an unpacking, an import) has none.
    """
    values: dict[str, list[ast.expr]] = {}
    bound = collections.Counter(ast.unparse(node) for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store))
    bound.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    bound.update(node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                values.setdefault(ast.unparse(target), []).append(node.value)
        elif isinstance(node, ast.Call) and named(node.func) in _OPTIONS:
            for option, default in _options(node):
                values.setdefault(f".{option}", []).append(default)
                bound[f".{option}"] += 1
    is_given = any(call.args or call.keywords for call in calls(tree) if named(call.func) in _PARSING)  # the options' own values
    return {
        name: given[0] for name, given in values.items() if len(given) == 1 and bound[name] == 1 and not (is_given and name.startswith("."))
    }


def _options(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The names of a command-line option, with its default."""
    if named(call.func) == "set_defaults":
        yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)
        return
    defaults = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    if named(call.func) != "add_argument":
        defaults = defaults or call.args[1:2]
    for argument in call.args[: None if named(call.func) == "add_argument" else 1]:
        if defaults and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value.lstrip("-").replace("-", "_"), defaults[0]


def _arguments(call: ast.Call, order: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    yield from zip(order, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def _is_for_tests(call: ast.Call) -> bool:
    """Whether a loader reads test or validation rows, by the name of what it reads."""
    return bool(re.search(r"(?<![a-z])(test|val|eval)", ast.unparse(call).lower()))


def _value(expression: ast.expr, names: dict[str, ast.expr], depth: int = 0) -> Value:
    """The number, switch or word that an expression stands for; None where it is more than that, or a number beyond LARGEST."""
    found = _meant(expression, names, depth) if depth < DEEPEST else None
    return None if isinstance(found, int | float) and not abs(found) < LARGEST else found


def _meant(expression: ast.expr, names: dict[str, ast.expr], depth: int) -> Value:
    match expression:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return constant
        case ast.Name() | ast.Attribute():
            written = ast.unparse(expression)
            option = [f".{named(expression)}"] if isinstance(expression, ast.Attribute) else []
            meant: list[Value] = []
            for name in (name for name in (written, *option) if name in names):
                given, names[name] = names[name], ast.Constant(None)  # a name within itself has no value
                meant.append(_value(given, names, depth + 1))
                names[name] = ast.Constant(meant[-1])  # worked out once, however often it is named
            return meant[0] if meant and meant[0] == meant[-1] else None
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
