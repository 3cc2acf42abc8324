"""What the parts of a script's text stand for: values that the text fixes, conditions that hold,
and the loops that it runs."""

import ast
from collections.abc import Mapping, Sequence, Set
from typing import Any

from pillar_core.studies.check import constants
from pillar_core.studies.check.source import Binding, Loop, Source, last_word

_NO = ("", "0", "f", "false", "n", "no", "none", "off")


def value_of(source: Source, expression: Any, changing: Mapping[str, Any] | None = None) -> Any:
    """What an expression stands for, where names stand for other values while they are `changing`;
    None where the text does not fix it."""

    def look_up(node: ast.expr) -> Any:
        written = ast.unparse(node)
        if changing and written in changing:
            return changing[written]
        if isinstance(node, ast.Call):
            is_lone = source.command and not {"spawn", "Process"} & {*source.calls.values()}
            is_size = is_lone and last_word(node) == "get_world_size"
            return source.command.processes if is_size else None  # type: ignore[union-attr]
        found = agreed(source, last_word(node), bindings_of(source, node))
        return None if isinstance(found, tuple) and not isinstance(node, ast.Name) else found

    return constants.evaluate(expression, look_up)


def agreed(source: Source, word: str, bindings: Sequence[Binding]) -> Any:
    """The one value that all bindings of a word give it; None where they do not agree."""
    if (key := tuple(bindings)) not in source.agreed:
        source.agreed[key] = None  # a word that stands for itself stands for nothing
        read = [part for part in bindings if not is_unfilled(source, part.value, word)]
        found = {None if part.value is None else value_of(source, part.value) for part in read}
        is_list = any(isinstance(part.value, ast.List) for part in read)
        is_open = "*" in source.opened or (is_list and _is_changed(source, word))
        if len(found) == 1 and not is_open:
            source.agreed[key] = found.pop()
            source.read.update(source.given[part] for part in read if part in source.given)
    return source.agreed[key]


def is_unfilled(source: Source, value: ast.AST | None, word: str) -> bool:
    """Whether a word is bound to the parameter of its name that nothing in the text fills."""
    return isinstance(value, ast.Name) and value.id == word and source.bound(value) == []


def _is_changed(source: Source, word: str) -> bool:
    """Whether a list may be changed: it is not just counted, walked through or taken from."""
    parents = [source.parents[use] for use in source.uses[word]]
    return word in source.opened or not all(
        isinstance(part, ast.Subscript | ast.For)
        or (isinstance(part, ast.Call) and last_word(part) in ("len", "enumerate", "zip"))
        for part in parents
    )


def bindings_of(source: Source, node: ast.AST) -> Sequence[Binding]:
    """What may have bound a name, attribute or entry where it is taken; none where that is not
    read."""
    found: Sequence[Binding] = ()
    if isinstance(node, ast.Name):
        found = source.bound(node)
    elif isinstance(node, ast.Attribute | ast.Subscript) and _is_read(source, node.value):
        found = source.members[last_word(node)] if last_word(node) else ()
    is_ordered = found and source.command is not None and source.runs_once(node)
    return _in_order(source, found, node) if is_ordered else found


def _in_order(source: Source, found: Sequence[Binding], node: Any) -> Sequence[Binding]:
    """What of `found` may hold where a part is taken, in a text that runs from top to bottom,
    once."""
    function, here = source.function(node), dict(source.branches(node))
    end = node.end_lineno, node.end_col_offset
    ordered = {
        part
        for part in found
        if isinstance(part.place, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and source.function(part.place) is function
    }
    idle = {
        part
        for part in ordered
        if (part.place.lineno, part.place.col_offset) >= end
        or any(
            here.get(test, holds) is not holds or truth(source, test.test) is (not holds)
            for test, holds in source.branches(part.place)
        )
    }
    found = [part for part in found if part not in idle]
    holder = getattr(node, "value", None)
    if isinstance(holder, ast.Name) and len(source.everywhere(holder.id)) != 1:
        return found
    same = [
        part.place
        for part in found
        if part in ordered
        and isinstance(part.place, ast.Assign)
        and ast.unparse(node) in map(ast.unparse, part.place.targets)
    ]
    outer = {*source.around(node), function}
    for made in same:  # whenever the later part is reached, unless a loop or a try stands around
        is_made = all(
            isinstance(part, ast.If) for part in source.around(made) if part not in outer
        ) and all(
            here.get(test, truth(source, test.test)) is holds
            for test, holds in source.branches(made)
        )
        found = [
            part
            for part in found
            if not is_made
            or part.place is made
            or part.place.lineno >= made.lineno
            or not (part.place in source.options or part.place in same)
        ]
    return found


def is_none(source: Source, expression: Any, seen: frozenset[ast.AST] = frozenset()) -> bool | None:
    """Whether a value is None; None where that is not known."""
    if isinstance(expression, ast.Constant) or value_of(source, expression) is not None:
        return getattr(expression, "value", 0) is None
    bound = () if expression in seen else bindings_of(source, expression)
    seen |= {expression}
    is_sure = bound and all(is_none(source, part.value, seen) for part in bound)
    return True if is_sure else None


def truth(source: Source, test: ast.AST) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    if test not in source.truths:
        source.truths[test] = None
        source.truths[test] = _truth(source, test)
    return source.truths[test]


def _truth(source: Source, test: ast.AST) -> bool | None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _turned(truth(source, part), True)
        case ast.BoolOp(op=sign, values=parts):
            truths, decides = {truth(source, part) for part in parts}, isinstance(sign, ast.Or)
            return decides if decides in truths else None if None in truths else not decides
        case ast.Compare(left=part, ops=[sign], comparators=[ast.Constant(value=None)]):
            return _turned(is_none(source, part), not isinstance(sign, ast.Is | ast.Eq))
    value = value_of(source, test)
    if isinstance(value, str):  # `--private no` may be meant, and turned into False
        return None if value.lower() in _NO else True
    return None if value is None else bool(value)


def _turned(holds: bool | None, is_turned: bool) -> bool | None:
    return None if holds is None else holds is not is_turned


def is_idle(source: Source, node: ast.AST) -> bool:
    """Whether a condition around a part does not hold."""
    return any(truth(source, part.test) is (not holds) for part, holds in source.branches(node))


def is_optional(source: Source, expression: ast.AST) -> bool:
    """Whether a value hangs on options of a command line."""
    waiting, seen = [expression], set[Binding]()
    while waiting:
        for node in constants.parts_of(waiting.pop()):
            bound = {*bindings_of(source, node)} - seen
            if any(part.place in source.options for part in bound) or (
                isinstance(node, ast.Attribute) and is_parsed(source, node.value)
            ):
                return True
            waiting += [part.value for part in bound if part.value is not None]
            seen |= bound
    return False


def is_parsed(source: Source, holder: ast.AST) -> bool:
    """Whether an object is the options that a command line gives."""
    bound = source.everywhere(holder.id) if isinstance(holder, ast.Name) else []
    values = [part.value for part in bound if not isinstance(part.place, ast.Name)]
    return bool(values) and all(last_word(value).startswith("parse_") for value in values)


def _is_read(source: Source, holder: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an object is one whose attributes or entries the text fixes: a dictionary, options,
    an object of the text's own class."""
    word, is_name = last_word(holder), isinstance(holder, ast.Name)
    if isinstance(holder, ast.Call):
        return _fixes(source, holder)
    is_own = isinstance(holder, ast.Attribute) and (
        word == "args" or ast.unparse(holder.value) == "self"
    )
    if not (is_own or is_name) or {word, "*"} & source.opened.keys():
        return False
    if word in seen or word == "self":
        return True
    idle = (ast.Name, ast.alias) if word == "FLAGS" else ast.Name
    bindings = [
        part
        for part in (source.everywhere(word) if is_name else source.members[word])
        if not isinstance(part.place, idle)
        and part.place not in source.options
        and (is_name or _binds(part.place, word))
    ]
    return bool(bindings or word == "FLAGS") and all(
        isinstance(part.place, ast.ClassDef)
        or (
            isinstance(part.value, ast.Name | ast.Attribute)
            and _is_read(source, part.value, seen | {word})
        )
        or _fixes(source, part.value)
        for part in bindings
    )


def _fixes(source: Source, value: ast.AST | None) -> bool:
    match value:
        case ast.Dict():
            return None not in value.keys
        case ast.Call(args=given, keywords=[]) if last_word(value).startswith("parse_"):
            command_line = ("[]", "argv", "args", "sys.argv[1:]")
            return all(ast.unparse(part) in command_line for part in given)
        case ast.Call(func=ast.Name(id="vars"), args=[part]):
            return _is_read(source, part)
        case ast.Call(func=ast.Name() as kind):
            return [type(part.place) for part in source.bound(kind)] == [ast.ClassDef]
    return isinstance(value, ast.Attribute | ast.Name) and last_word(value) == "FLAGS"


def _binds(place: ast.AST, word: str) -> bool:
    """Whether a place binds a word itself, and not just a part of what it stands for."""
    parts = [part for target in getattr(place, "targets", ()) for part in ast.walk(target)]
    stored = [part for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)]
    return not isinstance(place, ast.Assign) or word in map(last_word, stored)


def loops_around(source: Source, node: ast.AST) -> list[Any]:
    """The loops around `node` in its function, from the inside, but those that run once."""
    loops = [part for part in source.around(node) if isinstance(part, Loop)]
    return [loop for loop in loops if (span := span_of(source, loop)) is None or len(span) != 1]


def is_epochs(source: Source, loop: ast.AST) -> bool:
    """Whether a loop counts passes over the data: with “epoch” in its words, or over a range or a
    condition and around a loop over a loader."""
    match loop:
        case ast.While(test=words) | ast.For(target=words) if "epoch" in _lower(words):
            return True
        case ast.While(test=words) | ast.For(iter=words) if (
            isinstance(loop, ast.While) or ends(loop) is not None
        ):
            return "epoch" in _lower(words) or bool(_walks(source, loop))
    return False


def long_walks(source: Source) -> list[ast.AST]:
    """Where the text may take more steps in a pass than its loader has batches: it repeats a
    loader, or walks through loaders again in the same pass."""
    again: list[ast.AST] = [
        call
        for call, name in source.calls.items()
        if name in _REPEATS and _has_loader(source, call)
    ]
    trainers = _trainers(source)
    for part in source.nodes:
        if isinstance(part, Loop) and _trains(part) and not _is_pass_of(source, part):
            again.append(part)
        if is_epochs(source, part):
            again += [walk for walk in _walks(source, part) if _trains(walk)][1:]
        if is_epochs(source, part) or part in trainers:
            again += _taken_again(source, part, {function.name for function in trainers})
    return again


_REPEATS = ("chain", "cycle", "from_iterable", "ncycles", "repeat")
"""Calls after which a walk through a loader may be longer than it."""

_PASSES = {
    *("enumerate", "filter", "islice", "iter", "list", "log_every", "map", "prefetch", "progress"),
    *("progress_bar", "reversed", "sorted", "take", "tqdm", "track", "tuple", "zip"),
}
"""Calls that walk through what they are given once at most."""

_STEPS = {"step", "train_step", "training_step", "train_batch", "train_on_batch", "backward"}


def _trains(part: ast.AST) -> bool:
    calls = [call for call in ast.walk(part) if isinstance(call, ast.Call)]
    return bool(_STEPS & {*map(last_word, calls)})


def _is_pass_of(source: Source, loop: Any) -> bool:
    """Whether a loop that trains takes one step, at most, for each batch of a loader."""
    if isinstance(loop, ast.While):
        return True
    walked = [loop] if isinstance(loop, ast.For | ast.AsyncFor) else loop.generators
    if not any(_has_loader(source, part.iter) for part in walked):
        bound = [bindings_of(source, part.iter) for part in walked]
        values = [part.value for found in bound for part in found if part.value]
        return not any(isinstance(part, ast.BinOp) and _has_loader(source, part) for part in values)
    inner = [part for part in ast.walk(loop) if part is not loop and ends(part) is not None]
    inner = [part for part in inner if len(span_of(source, part) or "??") != 1]
    return (
        len(walked) == 1
        and _is_pass(source, walked[0].iter)
        and not any(last_word(part) == "step" for turn in inner for part in ast.walk(turn))
    )


def _is_pass(source: Source, walked: ast.AST | None) -> bool:
    """Whether a walk through an expression takes each batch of a loader once at most."""
    match walked:
        case ast.Name() | ast.Attribute():
            bound = [part.value for part in bindings_of(source, walked)]
            return not any(isinstance(part, ast.BinOp | ast.List | ast.Tuple) for part in bound)
        case ast.Subscript():
            return True
        case ast.IfExp(body=one, orelse=other):
            return _is_pass(source, one) and _is_pass(source, other)
        case ast.Call():
            word, own = last_word(walked), _functions(source, last_word(walked))
            if own:
                kinds = ast.Yield | ast.YieldFrom
                return not any(isinstance(part, kinds) for one in own for part in ast.walk(one))
            given = [part for part in walked.args if _has_loader(source, part)]
            is_known = word in _PASSES and all(_is_pass(source, part) for part in given)
            return is_known or "loader" in word.lower()
    return False


def _functions(source: Source, word: str) -> list[Any]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [part for part in source.nodes if isinstance(part, kinds) and part.name == word]


def _trainers(source: Source) -> list[Any]:
    """The functions that train within a pass: they walk and take steps, or call what does."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    functions = [
        part
        for part in source.nodes
        if isinstance(part, kinds) and not any(is_epochs(source, node) for node in ast.walk(part))
    ]
    found = list[Any]()
    while True:
        names = {part.name for part in found}
        more = [
            part
            for part in functions
            if part not in found
            and any(
                (isinstance(node, ast.For) and _trains(node))
                or (isinstance(node, ast.Call) and last_word(node) in names)
                for node in ast.walk(part)
            )
        ]
        if not more:
            return found
        found += more


def _taken_again(source: Source, holder: Any, trainers: set[str]) -> list[ast.AST]:
    """What trains on a loader that a pass, or a function within it, has trained on before."""
    parts = [part for row in holder.body for part in ast.walk(row)]
    again, before = list[ast.AST](), list[tuple[str, ast.AST]]()
    for part in parts:
        is_walk = isinstance(part, ast.For) and _has_loader(source, part.iter) and _trains(part)
        is_call = isinstance(part, ast.Call) and last_word(part) in {"map", *trainers}
        if not (is_walk or is_call):
            continue
        given: Any = [part.iter] if isinstance(part, ast.For) else _given(part)
        loaders = [one for one in given if _has_loader(source, one)]
        if is_call and last_word(part) == "map" and not loaders:
            continue
        key = ", ".join(map(ast.unparse, loaders or given))
        turns = [turn for turn in loops_around(source, part) if turn in parts]
        if (
            any(key == other and not _is_either(source, part, one) for other, one in before)
            or last_word(part) == getattr(holder, "name", None)
            or not all(_is_of_parts(turn) or is_epochs(source, turn) for turn in turns)
        ):
            again.append(part)
        before.append((key, part))
    return again


def _given(call: Any) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _is_either(source: Source, one: ast.AST, other: ast.AST) -> bool:
    """Whether a condition lets one of two parts run, and not both."""
    here = dict(source.branches(one))
    return any(here.get(test, holds) is not holds for test, holds in source.branches(other))


def _is_of_parts(loop: Any) -> bool:
    """Whether a loop is over names of parts of the data, of which one is to train on."""
    names = getattr(getattr(loop, "iter", None), "elts", [])
    words = [str(getattr(name, "value", "")) for name in names]
    return sum(word.startswith("train") for word in words) == 1


def _walks(source: Source, loop: Any) -> list[ast.AST]:
    """The loops over a loader within a loop."""
    return [
        part
        for row in loop.body
        for part in ast.walk(row)
        if isinstance(part, ast.For) and _has_loader(source, part.iter)
    ]


def _has_loader(source: Source, part: ast.AST) -> bool:
    words = {last_word(word) for word in ast.walk(part)}
    return any(
        "loader" in word.lower()
        or "DataLoader" in (last_word(bound.value) for bound in source.everywhere(word))
        for word in words
    )


def _lower(part: ast.AST) -> str:
    return ast.unparse(part).lower()


def ends(loop: ast.AST) -> list[ast.expr] | None:
    """The ends of the range that a loop walks through, a progress bar around it or not; None for
    another walk."""
    walk = loop.iter if isinstance(loop, ast.For) else None
    while isinstance(walk, ast.Call) and walk.args:
        if last_word(walk) in ("range", "trange"):
            return walk.args
        walk = walk.args[0] if last_word(walk) in ("tqdm", "list") else None
    return None


def span_of(source: Source, loop: ast.AST) -> range | None:
    """The whole numbers that a loop walks through; None where they are not read."""
    found = [value_of(source, end) for end in ends(loop) or ()]
    is_whole = 0 < len(found) <= 3 and all(isinstance(end, int) for end in found)
    return range(*found) if is_whole and 0 not in found[2:] else None


RUN_ONCE = {
    *("run", "fire", "launch", "notebook_launcher", "process", "spawn", "start_processes"),
    *("thread", "main"),
}
"""Calls, in lower case, that run a function which they are given once, or once in each process of
one training."""


def is_repeated(source: Source, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether the text may run `node` more than once: in a loop, or in a function that is taken
    twice or by a string, handed to what may call it often, decorated by what may, or a method of
    objects that may be several."""
    path = [*source.path(node)]
    last = source.function(path[-1])
    functions = {*map(source.function, path)} - {None} - seen
    return (
        (last is not None and bool(source.uses_of(last)))
        or any(source.is_wrapped(part) or loops_around(source, part) for part in path)
        or any(_is_handed(source, use) for use in path[1:])
        or any(_is_quoted(source, part) for part in functions)
        or any(_is_remade(source, part, seen | functions) for part in functions)
    )


def _is_quoted(source: Source, function: Any) -> bool:
    """Whether a string takes a function by its name, and not as what runs it the only time."""
    holders = [source.parents[part] for part in source.quoted[source.called(function).lstrip(".")]]
    takers = [last_word(part) for part in holders if not isinstance(part, ast.Expr)]
    takers = [taker for taker in takers if taker not in ("print", "info")]
    return bool(takers) and (takers != ["run"] or bool(source.uses_of(function)))


def _is_remade(source: Source, method: ast.AST, seen: frozenset[ast.AST]) -> bool:
    """Whether a method's class may make several objects, or hands its one to what may run it
    often."""
    kinds = [source.parents[method]]
    made = list[ast.AST]()
    for kind in kinds:
        uses = source.uses[kind.name] if isinstance(kind, ast.ClassDef) else []
        for use in uses:
            parent = source.parents[use]
            if isinstance(parent, ast.ClassDef) and use in parent.bases and parent not in kinds:
                kinds.append(parent)
            elif isinstance(parent, ast.Call) and parent.func is use:
                made.append(parent)
            elif _is_handed(source, use, _TAKERS):
                return True
    places = [source.statement(call) for call in made]
    targets = [
        part
        for place in places
        if isinstance(place, ast.Assign | ast.AnnAssign)
        for part in ast.walk(place)
        if isinstance(getattr(part, "ctx", None), ast.Store)
    ]
    named = [
        use
        for name in {*map(last_word, targets)} - {""}
        for use in source.uses[name]
        if isinstance(use, ast.Attribute) or any(part.place in places for part in source.bound(use))
    ]
    calls = [use for use in named if getattr(source.parents[use], "func", None) is use]
    if getattr(method, "name", "") == "__call__":
        others, is_called_again = set[str](), len(calls) > 1
        made += calls
    else:
        others, is_called_again = _TAKERS | source.own, False
    return (
        is_called_again
        or len(made) - len({*calls} & {*made}) > 1
        or any(is_repeated(source, part, seen) for part in made)
        or any(_is_handed(source, part, others) for part in (*made, *named))
    )


_TAKERS = {
    *("fit", "validate", "test", "predict", "print", "isinstance", "issubclass", "super", "watch"),
    *("summary", "modelsummary", "lightningcli", "compile", "type", "len", "save", "id", "repr"),
}
"""Calls, in lower case, that run what they are given once at most, or train nothing."""


def _is_handed(source: Source, use: ast.AST, others: Set[str] = frozenset()) -> bool:
    """Whether a function or object goes by another name, or to a call that may run it several
    times, as a search for settings does."""
    parent = source.parents[use]
    if isinstance(parent, ast.keyword):
        parent = source.parents[parent]
    if not isinstance(parent, ast.Call) or parent.func is use:
        if isinstance(use, ast.Call) and isinstance(source.parents.get(parent), ast.Assign):
            return isinstance(parent, ast.Dict | ast.List | ast.Set)
        is_kept = isinstance(parent, ast.Dict | ast.List | ast.Set | ast.Tuple | ast.NamedExpr)
        return is_kept or (isinstance(parent, ast.Assign) and not isinstance(use, ast.Call))
    name = last_word(parent).lower()
    return name not in RUN_ONCE | others or "tune" in _lower(parent.func)
