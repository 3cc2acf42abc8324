"""Values of expressions: literals, sums of them, and what their names stand for."""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Value = bool | int | float | str | None
"""What one field of a reading holds."""
LookUp = Callable[[ast.expr], Any]
"""What a name, attribute or entry stands for; None where that is not known."""
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
_COMPARISONS: Mapping[type, Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
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


def value_of(expression: ast.AST, look_up: LookUp) -> Any:
    """The number, switch, word or tuple of such that an expression stands for; None where it is
    more than that, or too large."""
    match expression:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _within(value)
        case ast.Name() | ast.Attribute():
            return math.inf if ast.unparse(expression) in INFINITE else look_up(expression)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            values = tuple(value_of(part, look_up) for part in parts)
            return None if None in values else values
        case ast.IfExp(test=test, body=body, orelse=other):
            chosen = value_of(test, look_up)
            return None if chosen is None else value_of(body if chosen else other, look_up)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _computed(operator.neg, [operand], look_up)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _computed(operator.not_, [operand], look_up)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            return _computed(_OPERATIONS[type(sign)], [left, right], look_up)
        case ast.Subscript(value=row, slice=place):
            entry = look_up(expression)
            return _computed(operator.getitem, [row, place], look_up) if entry is None else entry
        case ast.Call(func=function, args=arguments, keywords=[]):
            if (name := ast.unparse(function)) in _FUNCTIONS:
                return _computed(_FUNCTIONS[name], arguments, look_up)
            return look_up(expression)
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return _compared(sign, value_of(left, look_up), value_of(right, look_up))
    return None


def parts_of(expression: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that its value is worked out of; of a call, if that is known."""
    yield expression
    if not isinstance(expression, ast.Call) or ast.unparse(expression.func) in _FUNCTIONS:
        for part in ast.iter_child_nodes(expression):
            yield from parts_of(part)


def _compared(sign: ast.cmpop, left: Any, right: Any) -> bool | None:
    """Whether two numbers, or two words, compare as said; None for all else."""
    is_text = isinstance(left, str) and isinstance(right, str)
    is_number = all(isinstance(part, int | float) for part in (left, right))
    is_read = is_text or (is_number and not isinstance(sign, ast.In | ast.NotIn))
    compare = _COMPARISONS.get(type(sign))
    return bool(compare(left, right)) if compare and is_read else None


def _computed(function: Callable[..., Any], parts: list[ast.expr], look_up: LookUp) -> Any:
    values = [value_of(part, look_up) for part in parts]
    others = {float: str, int: str, operator.getitem: tuple, min: tuple, max: tuple}
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
