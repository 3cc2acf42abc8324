"""Values that the text of a script fixes: literals and sums of them, names bound once to such a
value, and the defaults of its options."""

import ast
import collections
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Value = bool | int | float | str | None
"""What one field of a reading holds."""
Values = Mapping[str, Any]
Known = dict[str, Any]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Bound = Mapping[ast.AST | None, Mapping[str, int]]
ScopeOf = Callable[[ast.AST], ast.AST | None]
LARGEST = 2.0**63
INFINITE = ("math.inf", "np.inf", "numpy.inf", "torch.inf")


def _power(base: float, power: float) -> Any:
    """A power by way of floats, so that none takes long; whole where it is exact."""
    result = float(base) ** power
    is_whole = isinstance(base, int) and isinstance(power, int) and abs(result) < 2.0**53
    return int(result) if is_whole and power >= 0 else result


_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "round": round,
    "min": min,
    "max": max,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.exp": math.exp,
    "math.cos": math.cos,
    "np.exp": math.exp,
    "np.cos": math.cos,
    "np.sqrt": math.sqrt,
}


def known_values(nodes: Iterable[ast.AST], scope_of: ScopeOf) -> dict[ast.AST | None, Known]:
    """Values by name in each function, and outside of all (None); options of a command line stand
    as `args.name`. A name that a function binds hides the one outside."""
    nodes = list(nodes)
    inside = collections.defaultdict[ast.AST | None, list[ast.AST]](list)
    bound = collections.defaultdict[ast.AST | None, collections.Counter[str]](collections.Counter)
    for node in nodes:
        scope = None if isinstance(node, ast.Global) else scope_of(node)
        inside[scope].append(node)
        bound[scope].update(node.names if isinstance(node, ast.Global) else _binders(node))
    known = dict[ast.AST | None, Known]()
    for scope in (None, *(node for node in nodes if isinstance(node, Function))):
        outside = known[scope_of(scope)] if scope is not None else {}
        values = {name: value for name, value in outside.items() if not bound[scope][name]}
        for _ in range(2):  # options may start from constants, and constants be made of options
            _take_constants(values, inside[scope], bound[scope])
            if scope is None:
                values |= _entries(nodes, values) | _defaults(nodes, values)
                values |= _parameters(nodes, bound, values)
        known[scope] = values
    return known


def _take_constants(values: Known, nodes: list[ast.AST], bound: Mapping[str, int]) -> None:
    """Adds the names of one scope that are bound to one value, however often."""
    assigned = collections.defaultdict[str, list[ast.expr]](list)
    for name, expression in assignments(nodes):
        assigned[name].append(expression)
    for name, expressions in assigned.items():
        found = {value_of(expression, values) for expression in expressions}
        if bound[name] == len(expressions) and len(found) == 1 and None not in found:
            values[name] = found.pop()


def assignments(nodes: Iterable[ast.AST]) -> list[tuple[str, ast.expr]]:
    """Names and what is assigned to them, in the order of the lines."""
    pairs = []
    for node in nodes:
        if isinstance(node, ast.Assign):
            pairs += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
    pairs.sort(key=lambda pair: pair[0].lineno)
    return [(target.id, value) for target, value in pairs if isinstance(target, ast.Name)]


def value_of(expression: ast.AST, known: Values) -> Any:
    """The number, switch, word or tuple of such that an expression stands for; None where it is
    more than that, or too large."""
    match expression:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _within(value)
        case ast.Name() | ast.Attribute():
            written = ast.unparse(expression)
            return math.inf if written in INFINITE else known.get(written)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            values = tuple(value_of(part, known) for part in parts)
            return None if None in values else values
        case ast.IfExp(test=test, body=body, orelse=other):
            chosen = value_of(test, known)
            return None if chosen is None else value_of(body if chosen else other, known)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _computed(operator.neg, [operand], known)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _computed(operator.not_, [operand], known)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            return _computed(_OPERATIONS[type(sign)], [left, right], known)
        case ast.Subscript(value=row, slice=place):
            if (written := ast.unparse(expression)) in known:
                return known[written]
            return _computed(operator.getitem, [row, place], known)
        case ast.Call(func=function, args=arguments, keywords=[]):
            if (name := ast.unparse(function)) in _FUNCTIONS and name not in known:
                return _computed(_FUNCTIONS[name], arguments, known)
    return None


def _computed(function: Callable[..., Any], parts: list[ast.expr], known: Values) -> Any:
    values = [value_of(part, known) for part in parts]
    others = {float: str, operator.getitem: tuple, min: tuple, max: tuple}
    allowed = (int, float, others.get(function, int))
    if not all(isinstance(value, allowed) for value in values):
        return None
    try:
        result = function(*values)
    except (ArithmeticError, ValueError, TypeError, LookupError):
        return None
    return _within(result)


def _within(value: Any) -> Any:
    """The value; None where it is too large to be meant."""
    if isinstance(value, str | tuple):
        return value
    is_number = isinstance(value, int | float)
    return value if is_number and (abs(value) < LARGEST or value == math.inf) else None


def _binders(node: ast.AST) -> list[str]:
    """Names that a part binds, or may bind."""
    if isinstance(node, ast.Attribute | ast.keyword | ast.Constant) or isinstance(
        getattr(node, "ctx", None), ast.Load
    ):
        return []
    return [name for _, name in ast.iter_fields(node) if isinstance(name, str)]


def _defaults(nodes: list[ast.AST], known: Values) -> Known:
    """Defaults of the options that argparse or absl read, by the names under which the script takes
    them; none that the script gives twice or sets."""
    defaults = collections.defaultdict[str, list[Any]](list)
    changed = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }
    for call in nodes:
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute | ast.Name)):
            continue
        method = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        given = {word.arg: value_of(word.value, known) for word in call.keywords if word.arg}
        words = [value_of(argument, known) for argument in call.args]
        if method == "set_defaults":
            changed |= set(given)
        elif method == "add_argument" and (name := _destination(given, words)):
            is_switch = str(given.get("action", "")).startswith("store_")
            switched = given.get("action") == "store_false" if is_switch else None
            defaults[name].append(given.get("default", switched))
        elif method.startswith("DEFINE_") and len(words) > 1 and isinstance(words[0], str):
            defaults[words[0]].append(words[1])
    return {
        f"{space}.{name}": values[0]
        for space in _spaces(nodes)
        for name, values in defaults.items()
        if len(values) == 1 and values[0] is not None and name not in changed
    }


def _entries(nodes: list[ast.AST], known: Values) -> Known:
    """Entries of dictionaries by `name['key']`, but those that the script sets again."""
    stored = collections.Counter(
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Name | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    )
    return {
        place: value
        for name, written in assignments(nodes)
        if isinstance(written, ast.Dict) and stored[name] == 1
        for key, expression in zip(written.keys, written.values, strict=True)
        if isinstance(key, ast.Constant)
        and not stored[place := f"{name}[{key.value!r}]"]
        and (value := value_of(expression, known)) is not None
    }


def _parameters(nodes: list[ast.AST], bound: Bound, known: Values) -> Known:
    """Attributes that objects set once: to constants, or to defaults of their parameters that no
    call of the class gives otherwise."""
    values = dict[str, Any]()
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    kinds = [node for node in nodes if isinstance(node, ast.ClassDef)]
    for kind, start in [(holder, part) for holder in kinds for part in holder.body]:
        if not isinstance(start, ast.FunctionDef) or start.name != "__init__":
            continue
        made = [call for call in calls if ast.unparse(call.func).endswith(kind.name)]
        given = {word.arg for call in made for word in call.keywords}
        if any(call.args for call in made) or None in given:
            continue
        written, ends = start.args.posonlyargs + start.args.args, start.args.defaults
        pairs: list[Any] = [*zip(reversed(written), reversed(ends), strict=False)]
        pairs += zip(start.args.kwonlyargs, start.args.kw_defaults, strict=True)
        for parameter, default in pairs:
            value = None if default is None else value_of(default, known)
            if (
                value is not None
                and bound[start][parameter.arg] == 1
                and parameter.arg not in given
            ):
                values[parameter.arg] = value
    set_once = collections.Counter(
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    )
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Attribute) and set_once[target.attr] == 1:
            name, value = ast.unparse(target), value_of(node.value, {**known, **values})  # type: ignore[attr-defined]
            if name == f"self.{target.attr}" and value is not None:
                values[name] = value
    return {name: value for name, value in values.items() if "." in name}


def _destination(given: Mapping[str, Any], words: list[Any]) -> str:
    """The attribute that an option of argparse fills."""
    names = [word for word in words if isinstance(word, str)]
    long = [name for name in names if name.startswith("--")] or names
    return str(given.get("dest") or (long[0] if long else "")).lstrip("-").replace("-", "_")


def _spaces(nodes: list[ast.AST]) -> set[str]:
    """Names that hold a script's options, and nothing else."""
    filled, stored = collections.Counter[str](), collections.Counter[str]()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] += 1
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Attribute):
            source = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = ast.unparse(source).rpartition(".")[2]
            if name in ("parse_args", "parse_known_args", "FLAGS"):
                (target,) = node.targets[:1]
                first = target.elts[0] if isinstance(target, ast.Tuple) else target
                filled[ast.unparse(first)] += 1
    return {name for name in filled if filled[name] == stored[name]} | {"FLAGS"} - set(stored)
