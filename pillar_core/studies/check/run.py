"""One run of noisy steps checked: what is certified under both relations, what the usual formulas say of it, and what to change."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from pillar_core import accounting
from pillar_core.accounting.samplers import sampler_cost
from pillar_core.errors import PillarError, SettingError, UnsupportedError
from pillar_core.params import Param
from pillar_core.studies.check.formulas import MOST_NOISE, RELATIONS, Reported, noise_for, reported_by, solved_noise
from pillar_core.studies.check.script import Reading, Value, read_script
from pillar_core.types import EpsilonBounds

WEIGHTED = (
    "A row's chance to be drawn hangs on its weight, the likeliest row's is not known, and weights made from labels are private "
    "themselves: no bound is proven."
)
CONFIRM = (
    "This ε is of a run with the numbers below; that the script is that run is yours to confirm, for it is read as text, never run. "
    "Not seen: rows that were filled, scaled, cut in several or drawn twice by what other rows are; a learning rate, first weights or a "
    "number of classes taken from rows; masked labels (−100), losses and layers that couple rows; imported code; what is printed, saved or "
    "chosen besides the model."
)
FIELDS = {
    field.name: field
    for field in (
        Param("n", int, 50_000, "Training rows.", low=1),
        Param("batch_size", int, 500, "Rows that one noisy step sums over, on average; all that are accumulated for it.", low=1),
        Param("epochs", float, 20.0, "Passes over the data.", low=0, low_open=True, high=1e6),
        Param("steps", int, 2_000, "Noisy steps.", low=1, high=10**7),
        Param(
            "noise_multiplier",
            float,
            1.0,
            "σ: noise standard deviation over the clip norm, before any division by the batch.",
            low=0,
            high=MOST_NOISE,
        ),
        Param("epsilon", float, 3.0, "The ε that the library solves σ for.", low=0, low_open=True, high=1e6),
        Param("delta", float, 1e-6, "Chance that ε may fail; far below 1/n.", low=1e-30, high=1, high_open=True),
        Param("l2_clip_norm", float, 1.0, "Largest norm of one row's gradient. ε hangs on there being one, not on its size.", low=0),
    )
}
"""The numbers of a run, with the values that a form starts from."""
ALTERNATIVES = {"steps": "epochs", "epochs": "steps", "noise_multiplier": "epsilon", "epsilon": "noise_multiplier"}
_LIMITS = {name: dataclasses.replace(field, none_means="not known") for name, field in FIELDS.items()}
_Sampler = Literal["poisson", "shuffled", "fixed_size", "random_allocation", "weighted"]


@dataclasses.dataclass(frozen=True)
class RunCheck:
    """What is certified of a run. `epsilon` and `known` (what is proven) are by relation; no ε where none is proven or a number lacks.

    `counted` are the numbers that were counted, the solved noise among them.
    """

    counted: Mapping[str, Any]
    epsilon: Mapping[str, EpsilonBounds | None]
    known: Mapping[str, str]
    reported: tuple[Reported, ...]
    problems: tuple[str, ...]
    advice: tuple[str, ...]


def check_run(
    *,
    n: Annotated[int | None, _LIMITS["n"]],
    batch_size: Annotated[int | None, _LIMITS["batch_size"]],
    steps: Annotated[int | None, _LIMITS["steps"]] = None,
    epochs: Annotated[float | None, _LIMITS["epochs"]] = None,
    noise_multiplier: Annotated[float | None, _LIMITS["noise_multiplier"]] = None,
    epsilon: Annotated[float | None, _LIMITS["epsilon"]] = None,
    delta: Annotated[float | None, _LIMITS["delta"]],
    l2_clip_norm: Annotated[float | None, _LIMITS["l2_clip_norm"]] = None,
    sampler: _Sampler | None = None,
    script: str | None = None,
) -> RunCheck:
    """What is certified of a training run with clipped, noised sums, what libraries say of it, and what to change.

    Numbers that are None come from `script`, the text of a Python script or configuration, which is read and never run; without either,
    batches are Poisson samples. What neither says is asked for in `problems`; so is everything where the script does what is of no known
    form: the answer is then of a run with the caller's numbers.

    Guarantee: each ε is an upper bound for the relation named, of a run with the numbers in `counted`, n public, gradients clipped row by
    row, each from that row alone, and secret noise. Whether a script is that run is not certified: reading finds what it can.

    Raises:
        SettingError: a number outside its range, both steps and epochs, or both noise_multiplier and epsilon.
    """
    if None not in (steps, epochs) or None not in (noise_multiplier, epsilon):
        raise SettingError("give steps or epochs, and noise_multiplier or epsilon, not both.")
    given = {
        "n": n,
        "batch_size": batch_size,
        "steps": steps,
        "epochs": epochs,
        "noise_multiplier": noise_multiplier,
        "epsilon": epsilon,
        "delta": delta,
        "l2_clip_norm": l2_clip_norm,
    }
    reading = read_script(script) if script and script.strip() else Reading()
    refused = [f"The script's value cannot be: {refusal}" for _, refusal in _unusable(reading)]
    if reading.unfollowed or refused:
        reading = dataclasses.replace(reading, unfollowed=(*reading.unfollowed, *refused))
        reading, values, problems, missing = Reading(), *_told(given, sampler, reading)
    else:
        values, problems = _merged(given, reading)
        missing = _missing(values, reading)
    drawn, own = sampler_of(reading, sampler), sampler_of(reading)
    if reading.library and drawn != own:
        problems.append(f"The script's batches are {own}, you said {drawn}: yours was counted.")
    if missing:
        return _nothing(values | {"sampler": drawn}, (*missing, *problems))
    try:
        with np.errstate(all="ignore"):
            found = _checked(values, drawn, reading, problems)
    except PillarError:
        raise
    except (ArithmeticError, ValueError):
        return _nothing(values | {"sampler": drawn}, ("These numbers lie beyond what can be computed: check σ, δ and steps.", *problems))
    is_read = bool(reading.library) and any(found.epsilon.values())
    return dataclasses.replace(found, problems=(CONFIRM, *found.problems)) if is_read else found


def _told(given: Mapping[str, Value], sampler: str | None, reading: Reading) -> tuple[dict[str, Any], list[str], list[str]]:
    """The caller's values alone, where the script may do something else, what does not fit, and what the caller has to say."""
    values = {name: value for name, value in given.items() if value is not None}
    missing = _missing(values, Reading())
    if sampler is None:
        missing.append("Please say how batches are drawn (sampler).")
    found = [f"{line} The script cannot be followed there, and its numbers are not counted." for line in reading.unfollowed]
    if not missing:
        found.insert(0, "The script is not followed: this ε is of a run with the numbers that you said, whatever the script does.")
    return values, found, missing


def _merged(given: Mapping[str, Value], reading: Reading) -> tuple[dict[str, Any], list[str]]:
    """Values by field, the caller's before the script's, and what does not fit. The noise that a script takes or solves stays its own."""
    values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    problems = [f"{words} Please say it yourself." for words in reading.unread]
    if "epsilon" in values and {"noise_multiplier", "epsilon"} & set(reading.values):
        problems.append(f"Your ε = {values.pop('epsilon'):g} was not counted: the script says its noise itself.")
    for name in _LIMITS:
        value = reading.values.get(name)
        if value is None or _is_answered(name, values):
            own = value * _accumulated(reading) if name == "batch_size" and isinstance(value, int) else value
            if own is not None and name in values and values[name] != own:
                problems.append(f"The script says {name} = {own}, you said {values[name]}: yours was counted.")
            continue
        values[name] = value
    if reading.library == "fastdp" and "delta" not in values and "n" in values:
        values["delta"] = 1 / (2 * values["n"])
        problems.append(f"No δ is said: fastDP takes 1/(2n) = {values['delta']:.3g}.")
    if given["batch_size"] is None and "batch_size" in values:
        values["batch_size"] *= _accumulated(reading)
    return values, problems


def _accumulated(reading: Reading) -> int:
    """Batches that one noisy step sums over."""
    said = reading.values.get("gradient_accumulation_steps", 1)
    return max(1, math.ceil(said)) if isinstance(said, int | float) else 1


def _is_answered(name: str, values: Mapping[str, Any]) -> bool:
    """Whether a number, or another that stands for it, is known."""
    return name in values or ALTERNATIVES.get(name) in values


def offered(reading: Reading) -> dict[str, Value]:
    """The numbers that a script names and that a run can have, whether or not they count by themselves."""
    refused = {name for name, _ in _unusable(reading)}
    return {name: value for name, value in reading.values.items() if name in _LIMITS and name not in refused}


def _unusable(reading: Reading) -> Iterator[tuple[str, SettingError]]:
    """Numbers of a script that no run can have, with the reason."""
    for name, value in reading.values.items():
        limit = _LIMITS.get(name.removeprefix("planned_"))
        try:
            if limit is not None:
                limit.check(value)
        except SettingError as refusal:
            yield name, refusal


def sampler_of(reading: Reading, asked: str | None = None) -> str:
    """What draws the batches: as asked, else as the script's library does."""
    if asked is not None or not reading.library:
        return asked or "poisson"
    if "sampler" in reading.values:
        return str(reading.values["sampler"])
    draws_itself = {"opacus": reading.values.get("poisson_sampling", True), "jax_privacy": reading.values.get("poisson_sampling", False)}
    is_known = "poisson_sampling" not in reading.hidden  # else the worst that it can be
    return "poisson" if is_known and draws_itself.get(reading.library, False) is True else "shuffled"


def _missing(values: Mapping[str, Any], reading: Reading) -> list[str]:
    asked = {
        "n": "how many training rows there are (n)",
        "batch_size": "the batch size that one noisy step sums over (batch_size)",
        "steps": "how long it trains (steps or epochs)",
        "noise_multiplier": "the noise (noise_multiplier σ, or a target epsilon)",
        "delta": "the δ of the guarantee (delta)",
    }
    missing = [f"Please say {words}." for name, words in asked.items() if not _is_answered(name, values)]
    if "l2_clip_norm" in reading.hidden and "l2_clip_norm" not in values:
        missing.append("Please say the clip norm (l2_clip_norm), or that there is one.")
    if "gradient_accumulation_steps" in reading.hidden:
        missing.append("How many batches one noisy step sums over is not read: write it into the script as a number.")
    if missing:
        return missing
    if values["batch_size"] > values["n"]:
        return [f"A batch of {values['batch_size']:,} rows cannot come from n = {values['n']:,}: please say which is wrong."]
    share, longest = _share(values, reading), reading.values.get("epochs")
    if isinstance(longest, int | float) and _steps(values, share) < _steps({"epochs": longest}, share):
        return [f"The script trains for {longest:g} epochs, and you said less: please say which is wrong."]
    return []


def _share(values: Mapping[str, Any], reading: Reading) -> float:
    """The share of rows that a batch draws."""
    share: float = values["batch_size"] / values["n"]
    if reading.library == "opacus":  # it draws and counts with 1 / len(data_loader)
        may_drop = reading.values.get("drop_last") is True or "drop_last" in reading.hidden
        share = 1 / (values["n"] // values["batch_size"] if may_drop else math.ceil(1 / share))
    return share


def _steps(values: Mapping[str, Any], share: float) -> int:
    return int(values.get("steps") or math.ceil(round(values["epochs"] / share, 6)))


def _solved(values: Mapping[str, Any], sampler: str, reading: Reading, problems: list[str]) -> float | None:
    """The noise for the target ε: for a script's, with its own batch, δ and length."""
    own = dict(values)
    if "epsilon" in reading.values:
        own |= {name: reading.values[name] for name in ("n", "batch_size", "delta") if name in reading.values}
        if "batch_size" in reading.values:
            own["batch_size"] *= _accumulated(reading)
        if reading.library == "fastdp":
            own["delta"] = reading.values.get("delta", 1 / (2 * own["n"]))
        said = {name: reading.values.get(f"planned_{name}", reading.values.get(name)) for name in ("steps", "epochs")}
        if any(said.values()):
            own |= said
    share = _share(own, reading)
    return solved_noise(own, share, _steps(own, share), sampler, reading, problems)


def _nothing(counted: Mapping[str, Any], problems: tuple[str, ...]) -> RunCheck:
    reason = "Nothing is certified: see the problems."
    return RunCheck(counted, dict.fromkeys(RELATIONS), dict.fromkeys(RELATIONS, reason), (), problems, ())


def _checked(values: dict[str, Any], sampler: str, reading: Reading, problems: list[str]) -> RunCheck:
    share = _share(values, reading)
    steps = _steps(values, share)
    passes = values["epochs"] if "epochs" in values else steps * share
    factor = 2.0 if _has_microbatches(reading, values) else 1.0
    noise = values["noise_multiplier"] if "noise_multiplier" in values else _solved(values, sampler, reading, problems)
    counted = {**values, "steps": steps, "sampling_probability": share, "noise_multiplier": noise, "sampler": sampler}
    refusal = _refusal(values, sampler, reading)
    if refusal or noise is None:
        return _nothing(counted, (*([refusal] if refusal else []), *problems))
    run = _run(counted, sampler)
    costs, known = dict[str, EpsilonBounds | None](), dict[str, str]()
    for relation in RELATIONS:
        try:
            cost = sampler_cost(sampler, noise / factor, relation=relation, **run)
            costs[relation], known[relation] = cost.epsilon, cost.known
        except UnsupportedError as reason:
            costs[relation], known[relation] = None, str(reason)
    reported = reported_by(reading, counted, costs[RELATIONS[0]])
    problems += _problems(counted, passes, factor, reading)
    return RunCheck(counted, costs, known, reported, tuple(problems), _advice(counted, costs, reported, factor))


def _run(counted: Mapping[str, Any], sampler: str) -> dict[str, Any]:
    """Batch share, steps and δ as `sampler` walks them: in whole passes where a row enters each pass once."""
    share, steps = counted["sampling_probability"], counted["steps"]
    if "epochs" in counted and sampler in ("shuffled", "random_allocation"):
        steps = math.ceil(counted["epochs"]) * math.floor(1 / share + 1e-9)
    return {"sampling_probability": share, "steps": steps, "delta": counted["delta"]}


def _refusal(values: Mapping[str, Any], sampler: str, reading: Reading) -> str:
    if sampler == "weighted":
        dropped = " Opacus drops the weights and draws Poisson samples at 1 / (number of batches), which may be far more rows than asked."
        return WEIGHTED + (dropped if reading.library == "opacus" and reading.values.get("poisson_sampling", True) else "")
    if sampler == "poisson" and reading.library == "jax_privacy" and _accumulated(reading) > 1:
        return "Each accumulated batch is a Poisson sample of its own, so that one row may enter a sum several times: no bound is proven."
    clip = values.get("l2_clip_norm", 1.0)
    if not 0 < clip < math.inf:
        return f"l2_clip_norm = {clip:g}: without a clip, one row moves a sum by any amount, and noise of σ clip norms is no number."
    return ""


def _has_microbatches(reading: Reading, values: Mapping[str, Any]) -> bool:
    """Whether means of several rows are clipped together: adding a row then moves a sum by two clip norms."""
    groups = reading.values.get("num_microbatches")
    if reading.hidden & {"num_microbatches", "used_microbatching"}:
        return True  # the worst that it can be
    split = {values["batch_size"], values["batch_size"] / _accumulated(reading)}
    return reading.values.get("used_microbatching") is True or (groups is not None and groups not in split)


def _problems(counted: Mapping[str, Any], passes: float, factor: float, reading: Reading) -> list[str]:
    found, n, delta = [], counted["n"], counted["delta"]
    if delta * n >= 1:
        found.append(f"δ = {delta:g} is at least 1/n: publishing a random row outright would be allowed. Take {0.1 / n:.1g} or less.")
    elif delta * n > 0.1:
        found.append(f"δ·n = {delta * n:.2g}: δ should be far below 1/n, {0.01 / n:.1g} for example.")
    if factor > 1:
        found.append(
            "Microbatches: gradients are clipped together, so that one row moves a sum by two clip norms; counted at half the noise."
        )
    if counted["noise_multiplier"] == 0:
        found.append("No noise: ε is infinite, whatever is clipped.")
    if counted["sampler"] == "shuffled":
        found.append(
            f"Batches are shuffled, not sampled: each row enters {math.ceil(passes):,} sums, and no amplification is proven for that."
        )
    if "epochs" in counted and n % counted["batch_size"]:
        whole = math.ceil(n / counted["batch_size"]) * math.ceil(passes)
        found.append(
            f"n is no multiple of the batch: a loop over incomplete batches takes {whole:,} steps; {counted['steps']:,} were counted."
        )
    if reading.values.get("is_seeded"):
        found.append(
            "The script seeds its random numbers: whoever knows the seed can take the noise away. Its ε holds if the seed is secret."
        )
    if "layer" in str(reading.values.get("clipping", "")):
        found.append("Clipping per layer: the layers' clip norms must add up, as squares, to max_grad_norm squared.")
    if reading.values.get("clipping") == "automatic":
        found.append("Automatic clipping scales every gradient to one norm: max_grad_norm then changes nothing but the step size.")
    if reading.library == "fastdp":
        found.append("fastDP's engine counts the optimizer steps it saw: fewer steps than planned are reported as less than the target ε.")
    return found


def _advice(
    counted: Mapping[str, Any], costs: Mapping[str, EpsilonBounds | None], reported: tuple[Reported, ...], factor: float
) -> tuple[str, ...]:
    certified, claimed, sampler = costs[RELATIONS[0]], min(one.epsilon for one in reported), counted["sampler"]
    run = _run(counted, sampler)
    found = []
    if sampler in ("shuffled", "fixed_size") and certified is not None and 0 < certified.upper < math.inf:
        allocated = sampler_cost(
            "random_allocation", counted["noise_multiplier"] / factor, relation=RELATIONS[0], **_run(counted, "random_allocation")
        )
        found.append(
            "Draw each row by its own coin in each step (Opacus: poisson_sampling=True; JAX-Privacy: poisson_sampling_in_fit=True), or let "
            f"each row draw one step of every pass by itself: ε ≤ {allocated.epsilon.upper:.4g} then, at the same noise."
        )
        if 0 < claimed < certified.upper:
            noise = factor * (noise_for(claimed, sampler, run) or math.inf)
            found.append(f"Or keep the batches: σ = {noise:.4g} certifies the ε = {claimed:.4g} that is claimed of them.")
    loosest = max(one.epsilon for one in reported)
    if sampler == "poisson" and certified is not None and 1.03 * certified.upper < loosest < math.inf:
        tight = accounting.noise_multiplier(loosest, **run)
        found.append(
            f"A tight accountant needs σ = {tight:.4g} for ε = {loosest:.4g}: "
            f"{100 * (1 - tight / counted['noise_multiplier']):.0f} % less noise."
        )
    if certified is not None and certified.upper > 10:
        found.append(
            f"ε = {certified.upper:.3g} promises little: more noise, fewer steps or more rows bring it down; "
            "a model hardly feels noise this small."
        )
    return tuple(found)
