"""One run of noisy steps checked: what is certified under both relations, what the usual formulas
say of it, and what to change."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from pillar_core import accounting, checks
from pillar_core.accounting.gaussian_runs import batches, gaussian_run, sampler_cost
from pillar_core.errors import PillarError, SettingError, UnsupportedError
from pillar_core.grouping import slices
from pillar_core.ledger import compose
from pillar_core.numerics import number_words, round_up
from pillar_core.studies.check.constants import Value
from pillar_core.studies.check.fields import ALTERNATIVES, FIELDS, LIMITS
from pillar_core.studies.check.formulas import (
    RELATIONS,
    SAMPLERS,
    Reported,
    noise_for,
    reported_by,
    solve_noise,
)
from pillar_core.studies.check.reading import Reading, Schedule
from pillar_core.studies.check.script import read_script
from pillar_core.types import EpsilonBounds, Form, Values

CONDITIONS = (
    "Each row's gradient hangs on that row alone (no layer or loss couples rows), is clipped by"
    " itself, and enters a batch at most once.",
    "A batch's noisy sum is all that changes the model, one step a batch, with the loader,"
    " optimiser and loss that the set-up returned. No training on these rows is left out of the"
    " length.",
    "The noise is secret, and new in each step. σ and the clip norm are the same in every step, or"
    " change as counted.",
    "Nothing else was taken from these rows: no scaling, first weights, class weights or number of"
    " classes, step size, end of training or choice of the model.",
    "The number of rows is public, and nothing but the model is shown: its training loss and"
    " accuracy carry no noise.",
)
READ = (
    "Numbers were read in the text of a script, which was never run. That the script is a run with"
    " those counted, under the conditions listed, is yours to confirm."
)
_ASKED = {
    "n": "how many training rows there are (n)",
    "batch_size": "the batch size that one noisy step sums over (batch_size)",
    "steps": "how long it trains (steps or epochs)",
    "noise_multiplier": "the noise (noise_multiplier σ, or a target epsilon)",
    "delta": "the δ of the guarantee (delta)",
}
"""Words for a number of which neither it nor its alternative is known."""


INSTEAD = {
    "poisson": "Draw each row by its own coin in each step (Opacus: poisson_sampling=True;"
    " JAX-Privacy: poisson_sampling_in_fit=True)",
    "random_allocation": "Let each row draw one step of every pass by itself",
}
"""Samplers that cost less, and how to get them."""
GROUPED = "Which microbatches the other rows form does not hang on the row that is replaced."
GROUPS = 64
"""Values of a σ that changes that are composed apart."""


@dataclasses.dataclass(frozen=True)
class RunCheck:
    """What is certified of a run with the numbers `counted`, the solved noise among them, that
    meets the `conditions`.

    `epsilon` and `known` (what is proven) are by relation; no ε where none is proven or a number
    lacks.
    """

    counted: Values
    epsilon: Mapping[str, EpsilonBounds | None]
    known: Mapping[str, str]
    reported: tuple[Reported, ...]
    problems: tuple[str, ...]
    advice: tuple[str, ...]
    conditions: tuple[str, ...] = CONDITIONS


def check_run(
    *,
    n: int | None = None,
    batch_size: int | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    noise_multiplier: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    l2_clip_norm: float | None = None,
    sampler: str | None = None,
    script: str | None = None,
    command: str | None = None,
) -> RunCheck:
    """What is certified of a training run with clipped, noised sums, what libraries say of it, and
    what to change.

    Numbers that are None come from `script`, the text of a Python script or notebook, and from
    `command`, the line that starts it: both are read and never run. Without them, batches are
    Poisson samples. What none of them says is asked for in `problems`.

    Guarantee: each ε is an upper bound for the relation named, of a run with the numbers in
    `counted` that meets the `conditions`. A script is a source of numbers and no evidence: that it
    is such a run is the caller's claim. Raises SettingError: a number outside its range, both steps
    and epochs, or both noise_multiplier and epsilon.

    >>> run = {"n": 60_000, "batch_size": 600, "steps": 1_000, "noise_multiplier": 1.1}
    >>> check = pc.check_run(**run, delta=1e-5, l2_clip_norm=1.0)
    >>> round(check.epsilon["add_or_remove_one"].upper, 2)
    1.52
    """
    if None not in (steps, epochs) or None not in (noise_multiplier, epsilon):
        raise SettingError("give steps or epochs, and noise_multiplier or epsilon, not both.")
    numbers = n, batch_size, epochs, steps, noise_multiplier, epsilon, delta, l2_clip_norm
    if sampler is not None:
        checks.one_of(SAMPLERS, sampler=sampler)
    numbers_given = dict(zip(FIELDS, numbers, strict=True))
    checks.within(**{name: (value, LIMITS[name]) for name, value in numbers_given.items()})
    reading = read_script(script or "", command or "")
    values, problems = _merge_numbers(numbers_given, reading)
    if reading.schedule and noise_multiplier is not None:
        problems.append(f"{reading.schedule.words}: your σ was counted in every step instead.")
        reading = dataclasses.replace(reading, schedule=None)
    drawn_by, of_script = sampler_of(reading, sampler), sampler_of(reading)
    is_drawn = sampler is not None or "sampler" not in reading.hidden
    counted = values | ({"sampler": drawn_by} if is_drawn else {})
    if not reading.refused and reading.library and drawn_by != of_script:
        problems.append(
            f"The script's batches are {of_script}, you said {drawn_by}: yours was counted."
        )
    asked = [] if is_drawn else ["Say how batches are drawn (sampler)."]
    if missing := reading.refused or [*_missing(values, reading), *asked]:
        return _refused_check(counted, (*missing, *problems))
    try:
        with np.errstate(all="ignore"):
            check = _certify_run(values, drawn_by, reading, problems)
    except PillarError:
        raise
    except (ArithmeticError, ValueError):
        return _refused_check(
            counted,
            ("These numbers lie beyond what can be computed: check σ, δ and steps.", *problems),
        )
    is_read = bool(reading.library) and any(check.epsilon.values())
    return dataclasses.replace(check, problems=(READ, *check.problems)) if is_read else check


def _merge_numbers(said_by_caller: Mapping[str, Value], reading: Reading) -> tuple[Form, list[str]]:
    """Values by field, the caller's before the script's, and what does not fit. The noise that a
    script takes or solves stays its own."""
    values: Form = {name: value for name, value in said_by_caller.items() if value is not None}
    problems = list(reading.unread)
    if "epsilon" in values and {"noise_multiplier", "epsilon"} & set(reading.values):
        problems.append(
            f"Your ε = {values.pop('epsilon'):g} was not counted: the script says its noise itself."
        )
    for name in FIELDS:
        value = reading.values.get(name)
        if name == "batch_size" and isinstance(value, int | float):
            value *= _batches_a_step(reading)
        if value is not None and not _is_answered(name, values):
            values[name] = value
        elif value is not None and values.get(name, value) != value:
            problems.append(
                f"The script says {name} = {value}, you said {values[name]}: yours was counted."
            )
    if reading.library == "fastdp" and "delta" not in values and "n" in values:
        values["delta"] = 1 / (2 * values["n"])
        problems.append(f"No δ is said: fastDP takes 1/(2n) = {number_words(values['delta'], 3)}.")
    share = reading.values.get("share")
    if isinstance(share, float) and "n" in values:
        values.setdefault("batch_size", _round_up(share * values["n"]))
    for name in {"epochs", "steps"} & values.keys():
        if said_by_caller[name] is None:
            values[name] *= reading.trainings
            looped = reading.values.get("passes" if name == "epochs" else "turns")
            if isinstance(looped, int) and looped > values[name]:
                problems.append(f"The script's loop has {looped:,} {name}, and they were counted.")
                values[name] = looped
    return values, problems


def _batches_a_step(reading: Reading) -> int:
    """Batches that one noisy step sums over."""
    count = reading.values.get("gradient_accumulation_steps", 1)
    return max(1, math.ceil(count)) if isinstance(count, int | float) else 1


def _is_answered(name: str, values: Values) -> bool:
    """Whether a number, or another that stands for it, is known."""
    return name in values or ALTERNATIVES.get(name) in values


def sampler_of(reading: Reading, sampler: str | None = None) -> str:
    """What draws the batches: as asked, else as the script's library does."""
    if sampler is not None or not reading.library:
        return sampler or "poisson"
    if "sampler" in reading.values:
        return str(reading.values["sampler"])
    draws_itself = {
        "opacus": reading.values.get("poisson_sampling", True),
        "jax_privacy": reading.values.get("poisson_sampling", False),
    }
    is_known = "poisson_sampling" not in reading.hidden  # else the worst that it can be
    return (
        "poisson" if is_known and draws_itself.get(reading.library, False) is True else "shuffled"
    )


def _missing(values: Values, reading: Reading) -> list[str]:
    implied = {"delta"} if reading.library == "fastdp" and "delta" not in reading.hidden else set()
    names = [name for name in _ASKED if not _is_answered(name, values) and name not in implied]
    options = {name for name in names if {name, ALTERNATIVES.get(name)} & reading.options}
    missing = list[str]()
    if len(options) > 1 or "command" in reading.options:
        given = f": its options say {', '.join(sorted(options))}" if options else ""
        missing.append(f"Say how you start it (command){given}.")
        names = [name for name in names if name not in options]
    missing += [f"Say {_ASKED[name]}." for name in names]
    if "l2_clip_norm" in reading.hidden and "l2_clip_norm" not in values:
        missing.append("Give the clip norm (l2_clip_norm), or say that there is one.")
    if "gradient_accumulation_steps" in reading.hidden:
        missing.append(
            "How many batches one noisy step sums over is not read: write it into the script as a"
            " number."
        )
    if missing:
        return missing
    if values["batch_size"] > values["n"]:
        return [
            f"A batch of {values['batch_size']:,} rows cannot come from n = {values['n']:,}: which"
            " is wrong?"
        ]
    share, longest = _share(values, reading), reading.values.get("epochs")
    if isinstance(longest, int | float) and _steps(values, share) < _steps(
        {"epochs": longest}, share
    ):
        return [f"The script trains for {longest:g} epochs, and you said less: which is wrong?"]
    schedule = reading.schedule
    if schedule and not schedule.is_by_step and "epochs" not in values:
        return [
            f"{schedule.words}: σ changes by passes, whose steps may be fewer than you think. Say"
            " epochs, or the least σ of any step (noise_multiplier)."
        ]
    if schedule and _periods(values, share, schedule) > len(schedule.sigmas):
        return [
            f"{schedule.words}: σ is read for {len(schedule.sigmas):,}"
            f" {'steps' if schedule.is_by_step else 'passes'}, and training is longer. Say the"
            " least σ of any step (noise_multiplier)."
        ]
    return []


def _periods(values: Values, share: float, schedule: Schedule) -> int:
    """Passes or steps of a schedule that training walks through."""
    return _steps(values, share) if schedule.is_by_step else math.ceil(values["epochs"])


def _share(values: Values, reading: Reading) -> float:
    """The share of rows that a batch draws."""
    n, batch_size = values["n"], values["batch_size"]
    share: float = batch_size / n
    if reading.library == "opacus":  # it draws and counts with 1 / len(data_loader)
        may_drop = reading.values.get("drop_last") is True or "drop_last" in reading.hidden
        share = 1 / (n // batch_size if may_drop else -(-n // batch_size))
    return share


def _round_up(value: float) -> int:
    """The next whole number, but for what the division of numbers adds."""
    return math.ceil(value * (1 - 1e-12))


def _steps(values: Values, share: float) -> int:
    return int(values.get("steps") or max(1, _round_up(values["epochs"] / share)))


def _solve_target(
    values: Values, sampler: str, reading: Reading, problems: list[str]
) -> float | None:
    """The noise for the target ε: for a script's, with its own batch, δ and length."""
    target_run = dict(values)
    if "epsilon" in reading.values:
        target_run |= {
            name: reading.values[name]
            for name in ("n", "batch_size", "delta")
            if name in reading.values
        }
        if "batch_size" in reading.values:
            target_run["batch_size"] *= _batches_a_step(reading)
        if reading.library == "fastdp":
            target_run["delta"] = reading.values.get("delta", 1 / (2 * target_run["n"]))
        length = {name: reading.values.get(name) for name in ("steps", "epochs")}
        if any(length.values()):
            target_run |= length
    share = _share(target_run, reading)
    steps = _steps(target_run, share)
    if reading.library == "opacus" and not target_run.get("steps"):
        steps = max(
            1, int(target_run["epochs"] / share)
        )  # as it does: of some lengths one less than run
    return solve_noise(target_run, share, steps, sampler, reading, problems)


def _refused_check(counted: Values, problems: tuple[str, ...]) -> RunCheck:
    reason = "Nothing is certified: see the problems."
    return RunCheck(
        counted, dict.fromkeys(RELATIONS), dict.fromkeys(RELATIONS, reason), (), problems, ()
    )


def _certify_run(values: Form, sampler: str, reading: Reading, problems: list[str]) -> RunCheck:
    share = _share(values, reading)
    steps = _steps(values, share)
    passes = values["epochs"] if "epochs" in values else steps * share
    is_grouped = _has_microbatches(reading, values)
    noise = values.get("noise_multiplier")
    if noise is None:
        noise = _solve_target(values, sampler, reading, problems)
    sigmas, each = list[float](), 1
    if reading.schedule and noise is not None:
        each = 1 if reading.schedule.is_by_step else _round_up(1 / share)
        scale = noise if reading.schedule.is_share else 1.0
        periods = _periods(values, share, reading.schedule)
        sigmas = [scale * sigma for sigma in reading.schedule.sigmas[:periods]]
        noise = min(sigmas)
        problems.append(
            f"{reading.schedule.words}: σ goes from {sigmas[0]:.4g} to {sigmas[-1]:.4g}, and was"
            " composed so."
        )
    counted = {
        **values,
        "steps": steps,
        "sampling_probability": share,
        "noise_multiplier": noise,
        "sampler": sampler,
    }
    refusal = _refusal(values, sampler, reading)
    if refusal or noise is None:
        return _refused_check(counted, (*([refusal] if refusal else []), *problems))
    run = _run(counted, sampler)
    costs, known = dict[str, EpsilonBounds | None](), dict[str, str]()
    for relation in RELATIONS:
        factor = _factor(reading, values, sampler, relation)
        try:
            if sigmas and sampler == "poisson":
                costs[relation] = _scheduled_epsilon(
                    [sigma / factor for sigma in sigmas], each, relation, run
                )
                known[relation] = "Each pass or step composed at its own σ."
            else:  # σ may go up and down: the least counts in every step
                cost = sampler_cost(sampler, noise / factor, relation=relation, **run)
                costs[relation], known[relation] = cost.epsilon, cost.known
        except UnsupportedError as reason:
            costs[relation], known[relation] = None, str(reason)
    reported = () if sigmas else reported_by(reading, counted, costs[RELATIONS[0]])
    problems += _problems(counted, passes, is_grouped, reading)
    return RunCheck(
        counted,
        costs,
        known,
        reported,
        tuple(problems),
        _advice(counted, costs, reported, 2.0 if is_grouped else 1.0),
        (*CONDITIONS, GROUPED) if is_grouped else CONDITIONS,
    )


def _factor(reading: Reading, values: Values, sampler: str, relation: str) -> float:
    """What a row moves a sum by, over what the relation's accounting takes it to be.

    Guarantee: a microbatch's mean is clipped to norm C. Where the other rows' groups stay as they
    are, a row that is replaced moves one mean, within the ball: by 2C, which “replace one” counts.
    A row more moves a mean by up to 2C where that relation counts C. In a Poisson sample the row
    may be absent, present, or replaced: its mean without the row at −C, with it at +C costs 2C
    already.
    """
    if not _has_microbatches(reading, values):
        return 1.0
    is_in_place = sampler in ("shuffled", "random_allocation", "fixed_size")
    return 1.0 if is_in_place and relation == RELATIONS[1] else 2.0


def _scheduled_epsilon(
    sigmas: list[float], steps: int, relation: str, run: Values
) -> EpsilonBounds:
    """ε of Poisson samples, `steps` at each of `sigmas`; neighbours in size count as the least of
    them, so that few events are composed."""
    together, ordered = -(-len(sigmas) // GROUPS), sorted(sigmas)
    groups = [ordered[part] for part in slices(len(ordered), together)]
    share = run["sampling_probability"]
    event = compose(
        *(
            gaussian_run(group[0], sampling_probability=share, steps=steps * len(group))
            for group in groups
        )
    )
    return accounting.epsilon(event, delta=run["delta"], relation=relation)


def _run(counted: Values, sampler: str) -> Values:
    """Batch share, steps and δ as `sampler` walks them: in whole passes where a row enters each
    pass once."""
    share, steps = counted["sampling_probability"], counted["steps"]
    if "epochs" in counted and sampler in ("shuffled", "random_allocation"):
        steps = math.ceil(counted["epochs"]) * batches(share)
    return {"sampling_probability": share, "steps": steps, "delta": counted["delta"]}


def _refusal(values: Values, sampler: str, reading: Reading) -> str:
    if sampler == "weighted":
        is_dropped = reading.library == "opacus" and reading.values.get("poisson_sampling", True)
        dropped = (
            " Opacus drops the weights and draws Poisson samples at 1 / (number of batches), which"
            " may be far more rows than asked."
        )
        return (
            "A row's chance to be drawn hangs on its weight, the likeliest row's is not known, and"
            " weights made from labels are private themselves: no bound is proven."
            f"{dropped if is_dropped else ''}"
        )
    if sampler == "poisson" and reading.library == "jax_privacy" and _batches_a_step(reading) > 1:
        return (
            "Each accumulated batch is a Poisson sample of its own, so that one row may enter a sum"
            " several times: no bound is proven."
        )
    clip = values.get("l2_clip_norm", 1.0)
    if 0 < clip < math.inf:
        return ""
    return (
        f"l2_clip_norm = {clip:g}: without a clip, one row moves a sum by any amount, and noise of"
        " σ clip norms is no number."
    )


def _has_microbatches(reading: Reading, values: Values) -> bool:
    """Whether means of several rows are clipped together: adding a row then moves a sum by two clip
    norms."""
    groups = reading.values.get("num_microbatches")
    if reading.hidden & {"num_microbatches", "used_microbatching"}:
        return True  # the worst that it can be
    split = {values["batch_size"], values["batch_size"] / _batches_a_step(reading)}
    return reading.values.get("used_microbatching") is True or (
        groups is not None and groups not in split
    )


def _problems(counted: Values, passes: float, is_grouped: bool, reading: Reading) -> list[str]:
    n, delta, steps = counted["n"], counted["delta"], counted["steps"]
    clipping, whole_passes = str(reading.values.get("clipping", "")), math.ceil(passes)
    whole = math.ceil(n / counted["batch_size"]) * whole_passes
    problems = {
        f"δ = {number_words(delta)} is at least 1/n: publishing a random row outright would be"
        f" allowed. Take {number_words(0.1 / n, 1)} or less.": delta * n >= 1,
        f"δ·n = {delta * n:.2g}: δ should be far below 1/n, {number_words(0.01 / n, 1)} for"
        " example.": 0.1 < delta * n < 1,
        "Microbatches: gradients are clipped together, so that one row more moves a sum by two clip"
        " norms; counted at half the noise, but for a row replaced in its place.": is_grouped,
        "No noise: ε is infinite, whatever is clipped.": counted["noise_multiplier"] == 0,
        f"Batches are shuffled, not sampled: each row enters {whole_passes:,} sums, and no"
        " amplification is proven for that.": counted["sampler"] == "shuffled",
        "n is no multiple of the batch: a loop over incomplete batches takes"
        f" {whole:,} steps; {steps:,} were counted.": "epochs" in counted
        and n % counted["batch_size"]
        and whole != steps,
        "Clipping per layer: the layers' clip norms must add up, as squares, to max_grad_norm"
        " squared.": "layer" in clipping,
        "Automatic clipping scales every gradient to one norm: max_grad_norm then changes nothing"
        " but the step size.": clipping == "automatic",
        "fastDP's engine counts the optimizer steps it saw: fewer steps than planned are reported"
        " as less than the target ε.": reading.library == "fastdp",
    }
    return [words for words, is_so in problems.items() if is_so]


def _advice(
    counted: Values,
    costs: Mapping[str, EpsilonBounds | None],
    reported: tuple[Reported, ...],
    factor: float,
) -> tuple[str, ...]:
    certified, reached = costs[RELATIONS[0]], [figure.epsilon for figure in reported]
    claimed, loosest = min(reached, default=0.0), max(reached, default=0.0)
    sampler, noise, advice = counted["sampler"], counted["noise_multiplier"], list[str]()
    run, upper = _run(counted, sampler), math.nan if certified is None else certified.upper
    if sampler in ("shuffled", "fixed_size") and reported and 0 < upper < math.inf:
        for way, words in INSTEAD.items():
            cost = sampler_cost(way, noise / factor, relation=RELATIONS[0], **_run(counted, way))
            if cost.epsilon.upper < 0.99 * upper:
                advice.append(
                    f"{words}: ε ≤ {round_up(cost.epsilon.upper)} then, at the same noise."
                )
        if 0 < claimed < upper:
            enough = factor * (noise_for(claimed, sampler, run) or math.inf)
            advice.append(
                f"Or keep the batches: σ = {enough:.4g} certifies the ε = {claimed:.4g} that is"
                " claimed of them."
            )
    if sampler == "poisson" and 1.03 * upper < loosest < math.inf:
        tight = accounting.noise_multiplier(loosest, **run)
        advice.append(
            f"σ = {tight:.4g} is enough for ε = {loosest:.4g} by a tight accountant:"
            f" {100 * (1 - tight / noise):.0f} % less noise."
        )
    if upper > 10:
        advice.append(
            f"ε = {round_up(upper, 3)} promises little: more noise, fewer steps or more rows bring"
            " it down; a model hardly feels noise this small."
        )
    return tuple(advice)
