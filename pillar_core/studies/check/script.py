"""A training script, read as a syntax tree and never run: what its text fixes of known calls, as a
source of numbers and no more.

`calls.toml` knows the calls of Opacus, TensorFlow Privacy, fastDP (private-transformers too) and
JAX-Privacy. A number counts where the text fixes it (`values`). The rest is asked for. What else a
script does is its owner's word.
"""

import ast
import functools
import math
import re
from collections.abc import Sequence
from typing import Any

from pillar_core.errors import DataError, SettingError
from pillar_core.studies.check import values
from pillar_core.studies.check.bindings import FILE, read_source
from pillar_core.studies.check.changes import read_changes
from pillar_core.studies.check.command import Command, read_command
from pillar_core.studies.check.constants import Value
from pillar_core.studies.check.fields import ALTERNATIVES, LIMITS
from pillar_core.studies.check.names import paths_of
from pillar_core.studies.check.reading import CALLS, NOISE, Draft, Reading, first_line
from pillar_core.studies.check.source import Source, arguments, last_word
from pillar_core.studies.check.turns import is_epochs, is_repeated, long_walks

_FIELDS = {
    keyword: keyword if field == "same" else field
    for field, keywords in FILE["keywords"].items()
    for keyword in keywords
}
_LEFT_OUT = {"noise_multiplier", "epsilon", "delta", "epochs", "steps"}
"""Numbers that a library works out from others where they are None."""
_SEARCHES = ("hyperparameter_search", "lr_find", "scale_batch_size")
"""Methods that train an unknown number of times."""
_LIBRARY = re.compile("opacus|privacy|fastdp|private_transformers|dp_accounting")
_OPTIMISER = re.compile(
    "(Vectorized)?DP(Sparse)?(Keras)?(SGD|Adam|Adagrad|RMSProp|GradientDescent)(Gaussian)?(Optimizer)?"
)
"""Optimisers of TensorFlow Privacy whose noise is drawn anew in each step."""


@functools.lru_cache(maxsize=8)
def read_script(text: str, command: str = "") -> Reading:
    """The privacy settings that a Python script or notebook names, started by a command line.
    Nothing of it is run, imported or looked up."""
    if not text.strip():
        return Reading()
    try:
        return _read(text, read_command(command) if command.strip() else None)
    except DataError as refusal:
        why = str(refusal)
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        why = (
            "The script cannot be read as Python: paste the part that sets up privacy, or give the"
            " numbers."
        )
    return Reading(unread=(why,), hidden=frozenset({"sampler"}))


def _read(text: str, command: Command | None) -> Reading:
    source = read_source(text, command)
    if words := _refusals(source):
        return Reading(refused=words)
    calls = [
        (known, call)
        for call, name in source.calls.items()
        if (known := _known_name(source, name, call)) in CALLS
    ]
    set_ups = [call for name, call in calls if "set_up" in CALLS[name]]
    idle = [call for call in set_ups if values.is_idle(source, call)]
    if command and len(idle) < len(set_ups):
        calls = [(name, call) for name, call in calls if call not in idle]
        set_ups = [call for call in set_ups if call not in idle]
    library, loaders = _library(source, calls), _loaders(source, set_ups)
    calls = [
        (name, call)
        for name, call in calls
        if (name != "DataLoader" or call in loaders)
        and (name != "fit" or library == "tensorflow_privacy")
    ]
    draft = Draft(source, library, calls, set_ups)
    for name, call in calls:
        if "last" not in CALLS[name]:
            _read_call(draft, name, call)
    _read_length(draft)
    for name, call in calls:
        if "last" in CALLS[name]:
            _read_call(draft, name, call)
    for read in (_read_constants, _read_options, _read_branches, _hide_target, _read_seeds):
        read(draft)
    read_changes(draft, _read_results(draft))
    if library == "jax_privacy" and not set_ups:
        drawn = {"CyclicPoissonSampling": "poisson", "BallsInBinsSampling": "random_allocation"}
        samplers = {drawn[name] for name in source.calls.values() if name in drawn}
        draft.values |= {"sampler": samplers.pop()} if len(samplers) == 1 else {}
        draft.hidden |= {"sampler"} - draft.values.keys()
    if library == "opacus" and "PrivacyEngine" not in dict(calls):
        draft.hidden.add("accountant")  # the engine is made elsewhere
    if library == "tensorflow_privacy" and not set_ups:
        draft.values.setdefault("used_microbatching", True)  # the library's default
    return draft.reading()


def _refusals(source: Source) -> Sequence[str]:
    """Why no ε is proven of what a script names, with its line."""
    for node in source.nodes:
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, ast.keyword) and node.arg == "clipping":
            name = getattr(node.value, "value", None)
        if isinstance(name, str) and name in FILE["refused"]:
            return (f"{source.place(node)}, {name}: {FILE['refused'][name]}",)
    return ()


def _library(source: Source, calls: Sequence[tuple[str, ast.Call]]) -> str:
    """Whose set-up a script calls; what only counts ε decides where there is none."""
    known = [(CALLS[name], call) for name, call in calls if "library" in CALLS[name]]
    first = [rule for rule, _ in known if "last" not in rule] or [rule for rule, _ in known]
    libraries = sorted({rule["library"] for rule in first})
    if len(libraries) == 1:
        return str(*libraries)
    places: list[ast.AST] = [call for _, call in known]
    places += [
        node
        for node in source.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        and _LIBRARY.search(ast.unparse(node).lower())
    ]
    words = (
        f"{source.place(places[0])}, {first_line(places[0]):.40}: privacy" if places else "Privacy"
    )
    raise DataError(
        f"{words} is set up by {' and '.join(libraries) or 'no call that is known here'}. Please"
        " give all numbers."
    )


def _is_solved(draft: Draft, expression: ast.AST | None, *, is_last: bool) -> bool:
    """Whether a name stands for the noise that a call in the text solves for a target; also the
    parameter of a plan that it is solved for (`is_last`)."""
    solvers = [call for name, call in draft.calls if "solves" in CALLS[name]]
    if not isinstance(expression, ast.Name):
        return expression in solvers
    bindings = draft.source.bound(expression)
    if not bindings:
        return is_last and bindings == [] and bool(solvers)
    return all(
        _is_solved(draft, part.value, is_last=is_last)
        or (is_last and isinstance(part.place, ast.Name) and part.value is None)
        for part in bindings
    )


def _loaders(source: Source, set_ups: Sequence[ast.Call]) -> Sequence[Any]:
    """What the set-ups take as loaders, and all that is assigned to the names of those or of what
    they return; every loader of the text, where that is none."""
    taken: list[Any] = [arguments(call).get("data_loader") for call in set_ups]
    names = {*map(last_word, taken), *(last_word(_returned(source, call, -1)) for call in set_ups)}
    taken += [part.value for name in names for part in source.everywhere(name)]
    every = [call for call, name in source.calls.items() if name == "DataLoader"]
    return every if any(taken) and not set(every) & set(taken) else taken


def _returned(source: Source, call: ast.Call, place: int) -> ast.expr | None:
    """The target that takes one of the things that a set-up returns."""
    statement = source.parents[call]
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        return statement.targets[0].elts[place]
    return None


def _read_results(draft: Draft) -> set[str]:
    """Tells where another optimiser or loader trains than a set-up returned, and where batches are
    added up before a step; the names of what draws noise."""
    source = draft.source
    engines = {
        name
        for names in source.names.values()
        for name, bindings in names.items()
        if any("Engine" in last_word(part.value) for part in bindings)
    }
    for keyword, place, why, hidden in (
        ("optimizer", 1, "It draws no noise", NOISE),
        ("data_loader", -1, "It draws no Poisson samples", {"sampler"}),
    ):
        taken = {call: arguments(call).get(keyword) for call in draft.set_ups}
        for call, old in taken.items():
            new = _returned(source, call, place)
            engines |= {last_word(old), last_word(new)} if place == 1 else set()
            later = {last_word(other) for again, other in taken.items() if again is not call}
            stale = [] if last_word(new) in later else _stale(source, call, old, new)
            for part in stale[:1]:
                words = f", {first_line(part):.40}: this is not what the set-up returned. {why}."
                draft.tell(part, words, *hidden)
    for call, name in source.calls.items() if draft.library == "opacus" else ():
        tests = [part.test for part in source.around(call) if isinstance(part, ast.If)]
        is_rest = any(isinstance(part, ast.Mod) for test in tests for part in ast.walk(test))
        is_step = name == "step" and ast.unparse(call.func).rpartition(".")[0] in engines
        if name == "signal_skip_step" or (is_rest and is_step):
            words = ": several batches may make one step."
            draft.tell(call, words, "gradient_accumulation_steps")
    return engines - {""}


def _stale(source: Source, call: ast.Call, old: Any, new: Any) -> list[ast.AST]:
    """Where what was given to a set-up trains, or what it returned is bound anew."""
    parts, end = list[ast.AST](), call.end_lineno or 0
    is_returned = new is not None or not isinstance(source.parents[call], ast.Expr)
    if isinstance(old, ast.Name) and old.id != last_word(new) and (new or not is_returned):
        for use in source.uses[old.id]:
            is_same = isinstance(use, ast.Name) and source.bound(use) == source.bound(old)
            is_later = source.function(use) is not source.function(old) or use.lineno > end
            taker, word = source.parents[use], last_word(source.parents[use])
            is_handed = isinstance(taker, ast.Call | ast.For) and word not in ("len", "print")
            is_step = isinstance(taker, ast.Attribute) and word == "step"
            parts += [use] if is_same and is_later and (is_handed or is_step) else []
    for part in source.bound(new) if isinstance(new, ast.Name) else ():
        words = map(last_word, ast.walk(part.value or part.place))
        parts += [part.place] if part.place.lineno > end and new.id not in words else []
    return parts


def _read_call(draft: Draft, name: str, call: ast.Call) -> None:
    """Takes the arguments of a known call into the draft."""
    source, rule = draft.source, CALLS[name]
    fields = {keyword: _FIELDS.get(keyword, "") for keyword in rule["takes"]}
    for keyword, expression in _arguments(call, [*fields][: rule.get("positional", 0)]):
        written, text = (
            f", {name}: {keyword or ast.unparse(expression):.40}",
            ast.unparse(expression),
        )
        field, value = fields.get(keyword, ""), values.value_of(source, expression)
        is_last, is_said = "last" in rule, field in draft.values or field in draft.hidden
        is_said |= field == "steps" and "epochs" in draft.values
        if not keyword:  # it may stand for any other argument
            draft.hidden |= {*fields.values(), "sampler"}
        if keyword not in fields:
            if "open" not in rule:
                draft.hidden |= {"epochs"} if keyword == "steps_per_epoch" else set()
                words = "is not known here: please see that it changes none of the numbers."
                draft.tell(call, f"{written} {words}")
        elif field == "share":
            _read_share(draft, expression, value)
        elif (
            not field
            or (is_last and is_said and (value is None or field == "delta"))
            or (field == "noise_multiplier" and _is_solved(draft, expression, is_last=is_last))
        ):
            continue
        elif source.command and field in _LEFT_OUT and values.is_none(source, expression):
            if ALTERNATIVES.get(field) not in draft.values:
                words = "the command says nothing of it, and it is taken for None"
                draft.tell(call, f"{written}: {words}.")
        elif (
            field == "sampler"
            or not isinstance(value, bool | int | float | str)
            or draft.values.get(field, value) != value
        ):
            if not source.command and values.is_optional(source, expression):
                draft.options.add(field)
            is_any = field == "l2_clip_norm"  # σ is in units of it
            draft.hidden |= set() if is_any else {field}
            if "Distributed" in text:  # it is one process's part of a batch
                draft.hidden.add("batch_size")
            draft.tell(
                call,
                f"{written} = {text:.40} is not one number in the text"
                f"{': any that is finite will do' if is_any else ''}.",
            )
        elif problem := _impossible(field, value, draft.library):
            draft.tell(call, f"{written} cannot be: {problem}.", field, *NOISE)
        else:
            draft.values[field] = value


def _read_share(draft: Draft, expression: ast.expr, value: Any) -> None:
    """Takes a batch's share of the rows: as batch and rows, where it is written as their
    quotient."""
    bindings = draft.source.bound(expression) if isinstance(expression, ast.Name) else ()
    for part in [expression, *(part.value for part in bindings)]:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            batch, rows = (values.value_of(draft.source, end) for end in (part.left, part.right))
            if isinstance(batch, int) and batch > 1:
                draft.values.setdefault("batch_size", batch)
                if isinstance(rows, int):
                    draft.values.setdefault("n", rows)
    if isinstance(value, float) and 0 < value <= 1:
        draft.values["share"] = value


def _read_length(draft: Draft) -> None:
    """How long training lasts: by loops over passes; asked for where it may be more than is
    said."""
    source, set_ups = draft.source, draft.set_ups
    is_planned = {"epochs", "steps"} & draft.values.keys()
    spans = {node: values.span_of(source, node) for node in source.nodes if is_epochs(source, node)}
    lengths = [len(span) for span in spans.values() if span is not None]
    unread = [loop for loop in spans if is_repeated(source, loop)]
    unread += [loop for loop, span in spans.items() if span is None and not is_planned]
    unread += long_walks(source)
    for loop in unread[:1]:
        draft.tell(loop, ": how often this loop runs is not read.", "epochs", "steps")
    if spans and len(lengths) == len(spans) and not unread:
        draft.values["passes" if is_planned else "epochs"] = sum(lengths)
    if draft.library == "jax_privacy" and not set_ups:
        draft.values["turns"] = sum(
            len(values.span_of(source, node) or ())
            for node in source.nodes
            if isinstance(node, ast.For)
            and re.search("step|iter", " ".join(map(ast.unparse, (node.target, node.iter))).lower())
        )
    lengths_said = {"epochs", "train_steps", "num_steps"}
    if (
        len(set_ups) > 1
        and all(lengths_said & arguments(call).keys() for call in set_ups)
        and not any(is_repeated(source, call) for call in set_ups)
    ):
        draft.trainings = len(set_ups)
        draft.told.append(
            f"Privacy is set up {len(set_ups)} times, and the ε of all trainings add up: they were"
            " counted together."
        )
        set_ups = []
    fits = [call for call, name in source.calls.items() if _trains(source, name, call)]
    for begun, what in ((set_ups, "Privacy is set up"), (fits, "Training starts")):
        again = [call for call in begun[:1] if is_repeated(source, call)]
        again += [call for call in begun if source.calls[call] in _SEARCHES]
        for call in [*begun[1:], *again][:1]:
            words = (
                f": {what} more than once, and the ε of all trainings add up. Say how long they"
                " take together."
            )
            draft.tell(call, words, "epochs", "steps")


def _trains(source: Source, name: str, call: ast.Call) -> bool:
    """Whether a call that is none of the text's own trains: a bare `fit`, one of epochs, or what
    trains of a Trainer, made where it is called or bound before."""
    owner, names = getattr(call.func, "value", None), ("fit", "train", *_SEARCHES)
    paths = paths_of(source, owner) if owner and name in names else ()
    is_trainer = any(path.endswith(("Trainer", "Tuner")) for path in paths)
    is_fit = name == "fit" and (owner is None or "epochs" in arguments(call))
    return (is_fit or is_trainer) and call.func not in source.taken


def _read_constants(draft: Draft) -> None:
    """Numbers that no call says, from a constant or option of that name."""
    source, said = draft.source, draft.values.keys() | draft.hidden
    for field, names in FILE["constants"].items():
        found = {
            values.agreed(source, word, bindings)
            for word, bindings in source.bindings()
            if word.lower() in names and bindings
        }
        is_elsewhere = (field == "epochs" and "steps" in draft.values) or (
            field == "batch_size" and "DataLoader" in source.calls.values()
        )
        value = found.pop() if len(found) == 1 else None
        if isinstance(value, int | float) and field not in said and not is_elsewhere:
            draft.values[field] = value


def _hide_target(draft: Draft) -> None:
    """Hides a target ε of which it is not known what the noise is solved for."""
    read, hidden = draft.values.keys(), draft.hidden
    is_either = read >= NOISE and draft.library == "opacus"
    if is_either or "noise_multiplier" in hidden:  # which of both it is hangs on what is run
        hidden |= NOISE
    if "epsilon" not in read:
        return
    if draft.library in ("opacus", "fastdp"):  # their set-up says how long training lasts
        if not {"epochs", "steps"} & (read - hidden):
            hidden.add("epsilon")
        elif draft.values.get("passes", 0) <= draft.values.get("epochs", math.inf):
            draft.told.append("Training is taken to be as long as its noise is planned for.")
    if "delta" in hidden:
        draft.told.append("The δ that you say counts as the one that the noise is solved for.")


def _read_seeds(draft: Draft) -> None:
    """Tells of the first seed that the noise may be drawn with."""
    calls = draft.source.calls
    given: list[ast.AST] = [
        word
        for call in draft.set_ups
        for word in call.keywords
        if word.arg in ("seed", "noise_generator") and ast.unparse(word.value) != "None"
    ]
    secure = [arguments(call).get("secure_mode") for call in calls]
    if not any(part and values.value_of(draft.source, part) is True for part in secure):
        given += [call for call, name in calls.items() if name in FILE["seeds"]["calls"]]
    for place in given[:1]:
        draft.tell(
            place,
            f", {ast.unparse(place):.40}: a seed that is known. If it draws the noise, the noise"
            " is no secret, and no ε holds against who knows it.",
        )


def _read_branches(draft: Draft) -> None:
    """Refuses a command that trains without the set-ups; tells of options that decide whether
    privacy is set up."""
    source = draft.source
    for call in draft.set_ups:
        for part, holds in source.branches(call):
            truth = values.truth(source, part.test)
            words = f": privacy is set up only where {ast.unparse(part.test):.60} is {holds}"
            if truth is (not holds) and source.command:
                draft.refused.append(f"{source.place(call)}{words}, and by the command it is not.")
                return
            if truth is (not holds):
                draft.tell(call, f"{words}, and by the defaults it is not.")
                draft.options.add("command")
            elif truth is None and values.is_optional(source, part.test):
                if not source.doubtful:
                    draft.tell(call, f"{words}. Please see that it is.")
                    continue
                meant = ", ".join(sorted(source.doubtful))
                draft.refused.append(
                    f"{source.place(call)}{words}, and {meant} of the command may decide it: write"
                    " options out."
                )


def _read_options(draft: Draft) -> None:
    """Tells what was read of the command, and what it gives that is not read."""
    source, command = draft.source, draft.source.command
    for node in source.nodes:
        for name, why in FILE["elsewhere"].items():
            if isinstance(node, ast.Import | ast.ImportFrom) and name in ast.unparse(node):
                draft.tell(node, f", {name}: {why} Give the numbers.")
    if command is None:
        if source.options:
            draft.told.append("Options count at their defaults: give the command otherwise.")
        return
    if (command.processes or 1) > 1:
        draft.told.append(f"{command.processes} processes: a batch is to be that of all together.")
    if source.read:
        draft.told.append(f"From the command: {', '.join(sorted(source.read))}.")
    unknown = {name for name, _ in command.options} - {"", *source.known_options}
    if unknown := source.doubtful if source.parsers else unknown:
        words = ", ".join(sorted(unknown))
        draft.told.append(
            f"{words}: no option in the script's text, or a shortened one. Nothing was read of it."
        )


def _known_name(source: Source, name: str, call: ast.Call) -> str:
    """The name under which a call is known; "" for a function of the text's own."""
    bindings = source.bound(call.func) if isinstance(call.func, ast.Name) else ()
    if any(isinstance(part.place, ast.FunctionDef | ast.ClassDef) for part in bindings):
        return ""
    if name == "PrivacyEngine" and "sample_size" in arguments(call):
        return "FastPrivacyEngine"
    if _OPTIMISER.fullmatch(name):
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


def _impossible(field: str, value: Value, library: str) -> str:
    """Why no run can have this value; "" where one can."""
    if known := FILE["words"].get(library, {}).get(field):
        return "" if value in known else f"{library} has {', '.join(known)}"
    try:
        if field in LIMITS:
            LIMITS[field].check(value)
    except SettingError as refusal:
        return str(refusal).rstrip(".")
    return ""
