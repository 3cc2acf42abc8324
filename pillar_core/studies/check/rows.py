"""Where the rows of a script come from: loaded, and changed by constants alone, or worked out from one another."""

import ast

from pillar_core.studies.check.source import CALLS, Script, named

_WORDS = CALLS["words"]
_READS = ("load", "read", "fetch")


class Rows:
    """Whether expressions are rows as they were loaded; each name is looked at once."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._loaded: dict[str, bool] = {}
        self._fixed: dict[str, bool] = {}

    def are_loaded(self, given: ast.expr) -> bool:
        """Rows that were read somewhere, at most cut out, converted or scaled by constants."""
        match given:
            case ast.Name(id=name):
                return self._script.is_bound_to(name, self.are_loaded, self._loaded, within=True)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return all(map(self.are_loaded, parts))
            case ast.BinOp(left=left, right=right):
                return self.are_loaded(left) and self.are_fixed(right)
            case ast.Subscript(value=inner, slice=place):
                return self.are_loaded(inner) and self.are_fixed(place)
            case ast.Attribute(value=inner, attr=name):
                return name in _WORDS["parts_of_rows"] and self.are_loaded(inner)
            case ast.Call(func=function, args=args, keywords=keywords):
                is_own = isinstance(function, ast.Name) and not self._script.is_free(function.id)
                if is_own or not all(self.are_fixed(keyword.value) for keyword in keywords):
                    return False
                if named(function) in _WORDS["conversions"]:
                    is_method = isinstance(function, ast.Attribute) and not self.are_fixed(function.value)
                    given, *rest = [function.value, *args] if is_method and isinstance(function, ast.Attribute) else args or [function]
                    return self.are_loaded(given) and all(map(self.are_fixed, rest))
                return named(function).startswith(_READS) and all(map(self.are_fixed, args))
        return False

    def are_fixed(self, given: ast.AST) -> bool:
        """Constants, imports and what is made of them, no statistic among it."""
        parts = list(ast.walk(given))
        if any(isinstance(part, ast.Attribute | ast.Name) and named(part) in _WORDS["statistics"] for part in parts):
            return False
        names = (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
        return all(self._script.is_bound_to(name, self._is_constant, self._fixed, within=False) for name in names)

    def _is_constant(self, value: ast.expr) -> bool:
        calls = [part for part in ast.walk(value) if isinstance(part, ast.Call)]
        is_read = any(self._script.called(call) in _WORDS["sets"] or named(call.func).startswith(_READS) for call in calls)
        return not is_read and self.are_fixed(value)
