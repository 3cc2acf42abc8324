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


_ARITHMETIC: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
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
    **{function.__name__: function for function in (int, float, round, min, max)},
    **{
        f"{module}.{name}": getattr(math, name)
        for module in ("math", "np", "numpy")
        for name in ("ceil", "floor", "sqrt", "exp", "cos")
    },
}
_TEXTS = {int, float, *_COMPARISONS.values()}
"""What takes words, too; the next takes tuples."""
_ROWS = {operator.getitem, min, max}


def evaluate(expression: ast.AST, look_up: LookUp) -> Any:
    """The number, switch, word or tuple of such that an expression stands for; None where it is
    more than that, or too large."""
    match expression:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _within(value)
        case ast.Name() | ast.Attribute():
            return math.inf if ast.unparse(expression) in INFINITE else look_up(expression)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            values = tuple(evaluate(part, look_up) for part in parts)
            return None if None in values else values
        case ast.IfExp(test=test, body=body, orelse=other):
            chosen = evaluate(test, look_up)
            return None if chosen is None else evaluate(body if chosen else other, look_up)
        case ast.UnaryOp(op=sign, operand=part) if type(sign) in _ARITHMETIC:
            return _computed(_ARITHMETIC[type(sign)], [part], look_up)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
            return _computed(_ARITHMETIC[type(sign)], [left, right], look_up)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARISONS:
            return _computed(_COMPARISONS[type(sign)], [left, right], look_up)
        case ast.Subscript(value=row, slice=place):
            entry = look_up(expression)
            return _computed(operator.getitem, [row, place], look_up) if entry is None else entry
        case ast.Call(func=function, args=arguments, keywords=[]):
            known = _FUNCTIONS.get(ast.unparse(function))
            return _computed(known, arguments, look_up) if known else look_up(expression)
    return None


def parts_of(expression: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that its value is worked out of; of a call, if that is known."""
    yield expression
    if not isinstance(expression, ast.Call) or ast.unparse(expression.func) in _FUNCTIONS:
        for part in ast.iter_child_nodes(expression):
            yield from parts_of(part)


def _computed(function: Callable[..., Any], parts: list[ast.expr], look_up: LookUp) -> Any:
    values = [evaluate(part, look_up) for part in parts]
    number = int | float | tuple if function in _ROWS else int | float
    is_text = function in _TEXTS and all(isinstance(value, str) for value in values)
    if not (is_text or all(isinstance(value, number) for value in values)):
        return None
    try:
        return _within(function(*values))
    except (ArithmeticError, ValueError, TypeError, LookupError):
        return None


def _within(value: Any) -> Any:
    """The value; None where it is too large to be meant."""
    if isinstance(value, str | tuple):
        return value
    is_number = isinstance(value, int | float)
    return value if is_number and (abs(value) < LARGEST or value == math.inf) else None
