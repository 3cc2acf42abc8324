"""The statements of training that are known: a loop over batches with one noisy step each, or one call of fit."""

import ast
from collections.abc import Iterator, Mapping

from pillar_core.studies.check.flat import bound, flow
from pillar_core.studies.check.rows import Rows
from pillar_core.studies.check.source import CALLS, Script, argument, bare, named, names_in, root

_Reasons = Iterator[tuple[int, str]]


def peeled(script: Script, given: ast.expr) -> ast.expr:
    """What a loop goes over, without what counts or shows its rounds."""
    is_around = isinstance(given, ast.Call) and given.args and script.called(given) in ("enumerate", "tqdm")
    return peeled(script, given.args[0]) if isinstance(given, ast.Call) and is_around else given


def loops(script: Script, kinds: Mapping[str, str]) -> list[ast.For]:
    """The loops over the batches of the loader that the set-up bound."""
    found = [node for node in flow(script.module) if isinstance(node, ast.For)]
    return [node for node in found if kinds.get(bare(peeled(script, node.iter))) == "loader"]


def rounds(script: Script, loop: ast.For) -> list[ast.expr] | None:
    """The ends of the range that a loop runs over."""
    given = peeled(script, loop.iter)
    is_range = isinstance(given, ast.Call) and script.called(given) in ("range", "trange") and 0 < len(given.args) < 3
    return given.args if is_range and isinstance(given, ast.Call) and not any(isinstance(one, ast.Starred) for one in given.args) else None


def training(script: Script, kinds: Mapping[str, str]) -> _Reasons:
    """What of Opacus's training is not one loop over the loader's batches, in at most one over a range, with one noisy step a batch."""
    found = loops(script, kinds)
    backward, steps = script.by_name["backward"], list[ast.Call]()
    for call in script.by_name["step"]:
        if (kind := kinds.get(root(call.func), "")) == "optimizer":
            steps.append(call)
        elif kind != "scheduler":
            yield call.lineno, f"{ast.unparse(call):.40} is not the step of the optimiser that is set up"
    for call in script.fits:
        yield call.lineno, f"what {ast.unparse(call):.40} computes of rows is not followed"
    looped = [node for name, kind in kinds.items() if kind == "loader" for node in script.uses[name] if _is_gone_over(script, node)]
    outside = [*looped[len(found) :], *backward[1:], *steps[1:]] if found else [*looped, *backward, *steps]
    for part in outside:
        yield part.lineno, "more than one loop over the loader's batches, with one backward and one step a batch, is not followed"
    if not found or outside:
        return
    for name in (name for name, kind in kinds.items() if kind == "scheduler"):
        made = script.values[name]
        if isinstance(made, ast.Call) and not all(map(Rows(script).are_fixed, (*made.args[1:], *made.keywords))):
            yield made.lineno, f"{ast.unparse(made):.40} may follow what the rows are"
    loop, outer = found[0], script.around[found[0]]
    if not steps:
        yield loop.lineno, "no step of the optimiser that is set up is taken in this loop"
    is_plain = outer is script.module or (
        isinstance(outer, ast.For) and loop in outer.body and script.around[outer] is script.module and rounds(script, outer) is not None
    )
    if not is_plain or loop.orelse:
        yield loop.lineno, "this loop stands in more than one plain loop over a range"
    places = [loop.body.index(around) for call in (*backward, *steps) if (around := script.around[call]) in loop.body]
    ending = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Assert, ast.While)
    for inner in ast.walk(outer if isinstance(outer, ast.For) else loop):
        if isinstance(inner, ending):
            yield inner.lineno, f"{type(inner).__name__.lower()} may end or join steps by what the private rows are"
    for call in (one for one in ast.walk(outer if isinstance(outer, ast.For) else loop) if isinstance(one, ast.Call)):
        if not _is_quiet(call.func):
            yield call.lineno, f"what {ast.unparse(call):.40} changes for later steps is not known"
    for call in script.by_name["step"]:
        around = script.around[call]
        if call.args or call.keywords:
            yield call.lineno, "a step that is given something may run the model again, or follow the private rows"
        if not isinstance(around, ast.Expr) or script.around[around] not in (loop, outer):
            yield call.lineno, f"{ast.unparse(call):.40} is not taken in each round"
    if len(places) < len(backward) + len(steps) or places != sorted(places):
        yield loop.lineno, "backward, then step, are not taken once for each batch"
    yield from _Batch(script, kinds, loop).reasons()


def _is_gone_over(script: Script, node: ast.expr) -> bool:
    around = script.around[node]
    is_shown = isinstance(around, ast.Call) and script.called(around) in ("enumerate", "tqdm")
    return is_shown or (isinstance(around, ast.For) and around.iter is node)


class _Batch:
    """The statements of a loop over batches: the model sees each batch once, as it came, and a known loss of that is what is stepped on."""

    def __init__(self, script: Script, kinds: Mapping[str, str], loop: ast.For) -> None:
        self._script, self._kinds, self._loop = script, kinds, loop
        self._rows = names_in(loop.target)
        self._targets, self._outputs, self._losses = set(self._rows), set[str](), set[str]()

    def reasons(self) -> _Reasons:
        for statement in self._loop.body:
            if not self._is_known(statement):
                yield statement.lineno, f"“{ast.unparse(statement).splitlines()[0]:.60}” is not a known part of a step"
        seen = [node for node in ast.walk(self._loop) if isinstance(node, ast.Call) and self._is_model(node)]
        for call in seen[1:]:
            yield call.lineno, "the model is called more than once for a batch"

    def _is_known(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=loss, attr="backward"), args=[], keywords=[])):
                return self._is_loss(loss)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))) if self._kinds.get(name) in (
                "optimizer",
                "scheduler",
            ):
                return True  # uses of these names are known
            case ast.Assign(targets=[ast.Name() | ast.Tuple()], value=value):
                names, is_rows = set(bound(statement)), self._is_rows(value)
                is_output, is_loss = self._is_output(value), self._is_loss(value)
                sorts = (self._rows, is_rows), (self._targets, self._is_target(value)), (self._outputs, is_output), (self._losses, is_loss)
                for kept, holds in sorts:
                    kept -= names
                    kept |= names if holds else set()
                return is_rows or is_output or is_loss or self._is_beside(statement)
        return self._is_beside(statement)

    def _is_model(self, call: ast.Call) -> bool:
        return self._kinds.get(bare(call.func)) == "model"

    def _is_rows(self, given: ast.expr) -> bool:
        """The batch in another place, type or shape."""
        return self._is_moved(given, self._rows, [*CALLS["words"]["moves"], *CALLS["words"]["shapes"]])

    def _is_target(self, given: ast.expr) -> bool:
        """Labels in their own shape: several of one row would be several rows of the loss."""
        return self._is_moved(given, self._targets, CALLS["words"]["moves"])

    def _is_moved(self, given: ast.expr, names: set[str], methods: list[str]) -> bool:
        match given:
            case ast.Name(id=name):
                return name in names
            case ast.Tuple(elts=parts):
                return all(self._is_moved(part, names, methods) for part in parts)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant()):
                return name in names
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in methods:
                return self._is_moved(inner, names, methods)
        return False

    def _is_output(self, given: ast.expr) -> bool:
        match given:
            case ast.Name(id=name):
                return name in self._outputs
            case ast.Call() if self._is_model(given):
                return all(self._is_rows(one) for one in (*given.args, *(keyword.value for keyword in given.keywords)))
        return False

    def _is_loss(self, given: ast.expr) -> bool:
        match given:
            case ast.Name(id=name):
                is_elsewhere = not (self._script.bound[name] or name in self._kinds)
                is_usual = _reduction(self._script.set_ups[0], "loss_reduction") == "mean" and not is_ghost(self._script.set_ups[0])
                return name in self._losses or (is_elsewhere and is_usual)
            case ast.Call(func=function, args=[output, target], keywords=[]):
                return self._is_output(output) and self._is_target(target) and self._is_criterion(function, given)
        return False

    def _is_criterion(self, function: ast.expr, call: ast.Call) -> bool:
        """Whether it is a loss whose rows are put together as the engine takes them to be: else its gradients hang on the batch's size."""
        asked = _reduction(self._script.set_ups[0], "loss_reduction")
        if is_ghost(self._script.set_ups[0]) and self._kinds.get(bare(function)) != "criterion":
            return False  # it clips in the backward pass of the loss that it returns, and nowhere else
        if isinstance(function, ast.Name) and not self._script.bound[function.id]:
            return function.id in ("criterion", "loss_fn") and asked == "mean"  # a part of a script, which does not say more
        made = function if isinstance(function, ast.Call) else self._script.meant(function) if isinstance(function, ast.Name) else None
        if isinstance(function, ast.Name) and self._kinds.get(function.id) == "criterion":
            made = self._script.made(argument(self._script.set_ups[0], "criterion"))
        if made is None:
            return self._script.called(call) in CALLS["words"]["losses"] and asked == "mean"
        keywords = {keyword.arg for keyword in made.keywords} if isinstance(made, ast.Call) else set()
        is_plain = isinstance(made, ast.Call) and not made.args and keywords <= {"reduction", "label_smoothing"}  # weights are shared out
        is_known = isinstance(made, ast.Call) and self._script.called(made) in CALLS["words"]["losses"]
        return is_plain and is_known and isinstance(made, ast.Call) and _reduction(made, "reduction") == asked != ""

    def _is_beside(self, statement: ast.stmt) -> bool:
        """Whether it only counts, shows or keeps numbers: nothing is changed in place, no function of this text is called."""
        parts = list(ast.walk(statement))
        statements = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.Pass)
        if any(isinstance(part, ast.stmt) and not isinstance(part, statements) for part in parts):
            return False
        if any(isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load) for part in parts):
            return False
        names = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        is_own = names & (self._rows | self._outputs | self._losses | set(self._kinds))
        return not is_own and all(self._is_harmless(part) for part in parts if isinstance(part, ast.Call | ast.Lambda | ast.NamedExpr))

    def _is_harmless(self, part: ast.AST) -> bool:
        match part:
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in CALLS["words"]["plain_calls"] and not self._script.bound[name]:
                return True
            case ast.Call(func=ast.Attribute(attr=method), keywords=keywords):
                is_changing = method.endswith("_") or method == "backward" or any(keyword.arg in ("out", None) for keyword in keywords)
                return not is_changing
        return False


def _is_quiet(function: ast.expr) -> bool:
    """Whether it is no function of a library that may change what later steps draw or do."""
    if isinstance(function, ast.Call):
        return _is_quiet(function.func)
    words = CALLS["words"]
    return root(function) not in words["free_roots"] or named(function) in (*words["beside_steps"], *words["losses"])


def is_ghost(call: ast.Call) -> bool:
    """Whether Opacus may clip without the gradients of single rows."""
    mode = argument(call, "grad_sample_mode")
    return mode is not None and not (isinstance(mode, ast.Constant) and mode.value != "ghost")


def _reduction(call: ast.Call, name: str) -> str:
    """How a loss puts its rows together, as a keyword says; mean without it, "" for what is no such word."""
    given = argument(call, name)
    word = given.value if isinstance(given, ast.Constant) else "mean" if given is None else ""
    return word if word in ("mean", "sum") else ""


def fits(script: Script, kinds: Mapping[str, str]) -> _Reasons:
    """What of another library's training is not at most one call of fit, by itself, on whole arrays, of what adds the noise."""
    call, library = script.set_ups[0], script.library_of(script.set_ups[0])
    compiled = {root(one.func) for one in script.by_name["compile"]}
    if not CALLS[script.called(call)].get("set_up"):
        for other in script.calls:
            if other is not call and named(other.func) not in CALLS["words"]["beside"] and not named(other.func).startswith("DEFINE_"):
                yield other.lineno, f"what {ast.unparse(other.func):.40} trains, beside a statement of another run, is not known"
    if library == "fastdp":
        for other in (one for name in ("step", "backward", "fit") for one in script.by_name[name]):
            yield other.lineno, "a loop of fastDP is not followed"
    for other in script.by_name["compile"]:
        given = argument(other, "optimizer", 0)
        if library == "tensorflow_privacy" and given is not call and kinds.get(bare(given)) != "compiled":
            yield other.lineno, "compile does not take the optimiser that adds the noise"
        loss = script.meant(given) if isinstance(given := argument(other, "loss", 1), ast.Name) else given
        if not isinstance(loss, ast.Constant | ast.Call | None):
            yield other.lineno, f"{ast.unparse(loss):.40} may couple the losses of several rows"
    rows = Rows(script)
    for other in script.fits:
        if not all(rows.are_loaded(given) for given in (*other.args[:2], argument(other, "x"), argument(other, "y")) if given is not None):
            yield other.lineno, "what the rows of fit were worked out from is not known"
        keywords = {keyword.arg for keyword in other.keywords}
        is_plain = len(other.args) <= 2 and keywords <= {*CALLS["fit"]["fields"], *CALLS["fit"]["others"]}
        if id(script.around.get(other)) not in script.place_of or len(script.fits) > 1 or not is_plain:
            yield other.lineno, "fit is not called once, with x, y, epochs and batch_size alone"
        if library == "jax_privacy" and not any(made in script.by_name["make_private"] for made in script.assigned[root(other.func)][-1:]):
            yield other.lineno, "fit is not that of the model that make_private returns"
        if library == "tensorflow_privacy" and compiled and root(other.func) not in compiled:
            yield other.lineno, "fit is not that of the model that compile is called of"
