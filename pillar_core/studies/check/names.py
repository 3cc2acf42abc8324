"""What a script's names stand for, by the path that they are imported by, and which of those are
known."""

import ast
import builtins
import re
from collections.abc import Mapping, Sequence

from pillar_core.studies.check.bindings import FILE
from pillar_core.studies.check.source import Binding, Source, wrappers


def _pattern(entry: str) -> str:
    """The paths of a module, or those beneath it that end so, also where nothing binds them."""
    root, _, end = entry.partition(":")
    start = root if root == "builtins" else rf"({root}|\?)"
    end = end.replace(".", r"\.")
    return rf"(?={start}\.)([\w.?]+\.)?{end}" if end else rf"(\?\.)?{root}(\.\w+)*"


_KNOWN: Mapping[str, re.Pattern[str]] = {
    kind: re.compile("|".join(map(_pattern, entries))) for kind, entries in FILE["known"].items()
}


def is_known(source: Source, part: ast.AST, *kinds: str) -> bool:
    """Whether all that a part may stand for is known to be of one of these kinds, and none is the
    text's own."""
    called = getattr(part, "func", None)
    is_own = isinstance(called, ast.Name) and called in source.taken
    paths = {""} if is_own else paths_of(source, part)
    return any(paths and all(map(_KNOWN[kind].fullmatch, paths)) for kind in kinds)


def paths_of(source: Source, part: ast.AST, seen: set[Binding] | None = None) -> set[str]:
    """The paths that a part may be imported by; "" for another, and “?” before one that nothing
    binds. An object goes by its class, and what a call returns by what is called."""
    bindings: Sequence[Binding] = ()
    seen = set() if seen is None else seen
    match part:
        case ast.Call(func=called) | ast.Subscript(value=called):
            own = source.functions.get(called.id, ()) if isinstance(called, ast.Name) else ()
            if not own:
                return paths_of(source, called, seen)
            rows = (row for function in own for row in ast.walk(function))
            bindings = [Binding(row, row.value) for row in rows if isinstance(row, ast.Return)]
        case ast.Attribute(value=holder, attr=word):
            paths = {path and f"{path}.{word}" for path in paths_of(source, holder, seen)}
            if paths != {""}:
                return paths
            bindings = source.members.get(word, ())
        case ast.Name(id=word):
            bindings = source.bound(part)
            if bindings == ():
                is_open = "*" in source.names[None]
                root = "builtins." if word in vars(builtins) else "" if is_open else "?."
                return {root and root + word}
        case ast.IfExp(body=one, orelse=other):
            bindings = [Binding(part, one), Binding(part, other)]
    fresh = {*bindings} - seen  # what was met before has said its paths
    seen |= fresh
    found = [_paths_bound(source, binding, seen) for binding in fresh]
    return set[str]().union(*found) if bindings else {""}


def _paths_bound(source: Source, binding: Binding, seen: set[Binding]) -> set[str]:
    """The paths that a binding gives a word; for a function of the text's own, what decorates
    it."""
    place, statement = binding.place, source.parents.get(binding.place)
    if isinstance(statement, ast.ImportFrom):
        return {f"{'.' * statement.level}{statement.module or ''}.{place.name}"}
    if isinstance(statement, ast.Import):
        return {place.name if place.asname else place.name.partition(".")[0]}
    values: Sequence[ast.AST | None] = wrappers(place) or [binding.value]
    return set[str]().union(*(paths_of(source, part, seen) if part else {""} for part in values))
