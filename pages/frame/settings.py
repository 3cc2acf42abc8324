"""The settings that a link carries: one frozen record of primitives, to and from the query string.

A link leaves out what is as its version's table of defaults says, so that it is short and keeps its
view when defaults change. What arrives from a URL is hostile until checked: a value that is out of
range is moved to the nearest allowed one, one that cannot be read falls back to the default, and
each such step leaves a message. Nothing here raises.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import pillar_core as pc
from pillar_core import params, plots
from pillar_core.data import uploads, visitors
from pillar_core.errors import SettingError
from pillar_core.metrics import FIGURES
from pillar_core.params import Param
from pillar_core.registry import toml_tables
from pillar_core.studies.compare.views import COMPARE_VIEWS

VERSION = "2"
"""Of the links that are written; what they leave out, `links.toml` says."""
LEFT_OUT: Mapping[str, Mapping[str, str]] = toml_tables(Path(__file__).with_name("links.toml"))
RULE = 0
"""The value of k that stands for “let the rule choose”."""
PART, NONE = "part", "none"
PUBLIC_TITLES = {PART: "A part of the private data set", NONE: "No public rows"}
"""What values of `public` stand for that name no set."""
AUTO = "auto"
"""The value of `backbone` that takes images as pixels and numbers as they are."""
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, math.inf)
KS = (
    1,
    2,
    3,
    5,
    8,
    10,
    15,
    20,
    30,
    40,
    60,
    80,
    120,
    160,
    200,
    280,
    360,
    440,
    520,
    768,
    1028,
    1284,
    1540,
    2048,
)
BUDGETS = "budgets"
"""The view of Learners that lays every learner at every budget side by side; the others are
`COMPARE_VIEWS`."""
_LONGEST_SHOWN = 40
_LONGEST_NAME = 1000
_LONGEST_WORD = 2000
_UNSAFE = re.compile(r"[^A-Za-z0-9_.:;,+-]")
"""What no link carries of a control."""
_FORMER = {
    "runs": {name: name for name in ("view", "dataset", "method", "k", "epsilon")},
    "screen": dict(
        zip(
            "mnkesvpcx",
            ("model", "rows", "k", "epsilon", "score", "view", "private", "public", "mixtures"),
            strict=True,
        )
    ),
}
"""What links carried of two pages in parameters of their own, as of Learners in `learners`, and how
each control is called now."""

Value = str | int | float
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that decides what a page shows. Field order is the order in the URL and in a
    pinned setting."""

    data: str = params.declare(
        "fashion_mnist_2k",
        "The data set whose rows are private: ε protects its train rows.",
        label="Private data",
    )
    public: str = params.declare(
        "part",
        "Where public rows come from: a part of the same data set, or another one of equal width.",
        label="Public data",
    )
    public_fraction: float = params.declare(
        0.1,
        "Share of the train rows that is public (unprotected). PILLAR looks at no label of them.",
        label="Share that is public",
        low=0.01,
        high=0.9,
    )
    backbone: str = params.declare(
        "auto",
        "The frozen map from raw rows to features; it must not have seen the private rows.",
        label="Backbone",
    )
    method: str = params.declare(
        "pillar", "The learner that is trained when a slider is released.", label="Learner"
    )
    k: int = params.declare(
        0,
        (
            "How many public directions the private model may use. Auto, 0 in a link, lets a rule"
            " choose from n and ε."
        ),
        label="k, directions kept",
        low=0,
        high=100_000,
    )
    epsilon: float = params.declare(
        0.3,
        (
            "Privacy budget: what the model may reveal about any one row, at most. Smaller protects"
            " more. ▲: deployments that were published, each with its source under the pointer."
        ),
        label="ε, privacy budget",
        low=0.01,
    )
    delta: float = params.declare(
        1e-5,
        "One row makes any outcome at most e^ε times as likely, plus δ. Choose it below 1/n.",
        label="δ, slack in ε",
        low=1e-12,
        high=0.1,
        log=True,
    )
    seed: int = params.declare(
        0,
        "Names the random streams of the experiment: same seed, same split, same noise.",
        label="Seed",
        low=0,
        high=1_000_000,
    )
    seeds: int = params.declare(
        5,
        "Runs per point of a curve; the band is a 95 % interval over them.",
        label="Seeds per point",
        low=1,
        high=20,
    )
    accountant: str = params.declare(
        "auto",
        "How the privacy of all steps is added up; auto takes the tightest sound bound.",
        label="Accountant",
    )
    relation: str = params.declare(
        "add_or_remove_one",
        "Which two data sets must look alike: with and without one row, or with one row replaced.",
        label="Adjacency",
        choices=("add_or_remove_one", "replace_one"),
    )
    metric: str = params.declare(
        "auto",
        (
            "Learner, map, public set and ranges follow it; for accuracy, classes have shares as"
            " public labels have. By the classes: accuracy, or balanced accuracy where no public"
            " labels say that no class has more than 60 % of the rows."
        ),
        label="Which number do you want",
        choices=("auto", *FIGURES),
    )
    target: int = params.declare(
        75,
        "What to reach, when Answer looks for the smallest ε.",
        label="Value wanted, %",
        low=1,
        high=100,
        unit="%",
    )
    view: str = params.declare(
        "k",
        "What Curves draws below the result.",
        choices=("k", "epsilon", "plane", "costs", "noise", "classes", "rows", "odds", "why"),
    )
    compare: str = params.declare(
        "budgets", "What Learners varies: the budget, or one other thing."
    )
    controls: str = params.declare(
        "", "Controls of single pages that were moved: name:value;name:value."
    )
    a: str = params.declare("", "The settings pinned as A, B and C, to compare with.")
    hide: str = params.declare(
        "", "Names of settings that the sidebar leaves out, separated by commas."
    )
    lesson: int = params.declare(0, "The step of a lesson that the link opens.", low=0, high=99)

    @property
    def hidden(self) -> frozenset[str]:
        """Names of the settings that the sidebar leaves out."""
        return frozenset(part.strip() for part in self.hide.split(",") if part.strip())


PARAMS: dict[str, Param] = params.params_of(Settings)
PINS, _NEXT_PIN = "ABC", "!"
"""The letters of pinned settings, and what stands between their words in the parameter `a`."""
PINNED = tuple(
    name
    for name in PARAMS
    if name not in ("controls", "target", "view", "compare", "a", "hide", "lesson")
)


def choices(name: str) -> tuple[str, ...]:
    """The names that a setting allows, () where it is not a choice."""
    match name:
        case "data":
            return visitors.offered_values(name, pc.DATASETS)
        case "public":
            return (PART, NONE, *choices("data"))
        case "backbone":
            offered = visitors.offered_values(name, pc.BACKBONES)
            return (AUTO, *sorted(offered, key=lambda name: pc.BACKBONES[name].needs[:6]))
        case "method":
            return tuple(plots.in_order(pc.METHODS))
        case "compare":
            return (BUDGETS, *COMPARE_VIEWS)
        case "accountant":
            return tuple(name for name, item in pc.ACCOUNTANTS.items() if item.is_bound)
    return PARAMS[name].choices


def to_query(settings: Settings) -> dict[str, str]:
    """The query parameters of a link, version first, without the values that are the version's
    defaults."""
    values = {name: _text(getattr(settings, name)) for name in PARAMS}
    return {"v": VERSION} | {
        name: value for name, value in values.items() if LEFT_OUT[VERSION].get(name) != value
    }


def from_query(
    query: Mapping[str, str], *, chosen_names: Container[str] | None = ()
) -> tuple[Settings, list[str]]:
    """(settings, messages): whatever the query says that can be used, defaults for the rest, a
    message for each repair.

    chosen_names: names that you chose in this session, which may be files (None: all names).
    """
    notes: list[str] = []
    query = _with_former(query)
    version = query.get("v", "")
    if version and version not in LEFT_OUT:
        notes.append(
            f"This link was made for version {_quote(version)} of the settings, this app reads"
            f" version {VERSION}: values may differ."
        )
    unknown = [
        name
        for name in query
        if name not in PARAMS
        and name not in ("v", "learners", *_FORMER)
        and not name.startswith("embed")
    ]
    if unknown:
        notes.append(
            "Ignored in the link:"
            f" {', '.join(map(_quote, unknown[:5]))}{' …' if len(unknown) > 5 else ''}."
        )
    values_ = {**LEFT_OUT.get(version, {}), **query}
    values: dict[str, Any] = {
        name: _read(name, values_[name], notes, chosen_names) for name in PARAMS if name in values_
    }
    return Settings(**values), notes


def _with_former(query: Mapping[str, str]) -> Mapping[str, str]:
    parts = [
        (page, *part.partition(":")[::2])
        for page in _FORMER
        for part in query.get(page, "")[:_LONGEST_WORD].split(";")
    ]
    words = [
        f"{page}-{_FORMER[page][name]}:{value}"
        for page, name, value in parts
        if name in _FORMER[page]
    ]
    words += [f"compare-learners:{query['learners']}"] if query.get("learners") else []
    return {**query, "controls": ";".join([query.get("controls", ""), *words])} if words else query


def code(value: object) -> str:
    """A control's value as links write it; different options of a control have different codes."""
    return _UNSAFE.sub("", f"{value:.12g}" if isinstance(value, float) else str(value)).replace(
        ";", ""
    )


def parse_value(value: object, default: T) -> T:
    """What a link brought, in the type of the control's default; the default where it cannot be
    read."""
    if not isinstance(value, str) or isinstance(default, str):
        return cast(T, value)
    if isinstance(default, bool):
        return cast(T, value in ("True", "1"))
    try:
        return cast(Callable[[float], T], type(default))(float(value))
    except (ValueError, OverflowError):
        return default


def pin(settings: Settings) -> str:
    """The settings as one word for the parameter `a`: values in field order."""
    return "~".join(_text(getattr(settings, name)) for name in PINNED)


def unpin(word: str, *, chosen_names: Container[str] | None = None) -> Settings | None:
    """The settings that `pin` wrote, None for an empty or foreign word; `own` as in
    `from_query`."""
    parts = word.split("~")
    if len(parts) == len(PINNED) - 1:  # of a link before there was `metric`
        parts.append(AUTO)
    if not word or len(parts) != len(PINNED):
        return None
    settings, notes = from_query(dict(zip(PINNED, parts, strict=True)), chosen_names=chosen_names)
    named = uploads.names_in([settings.data, settings.public])
    return settings if not notes and all(map(uploads.is_here, named)) else None


def pins(settings: Settings) -> dict[str, Settings]:
    """The pinned settings by letter, A first."""
    read = {
        letter: unpin(word) for letter, word in zip(PINS, settings.a.split(_NEXT_PIN), strict=False)
    }
    return {letter: pinned for letter, pinned in read.items() if pinned is not None}


def with_pin(settings: Settings, letter: str, pinned: Settings | None) -> str:
    """The parameter `a` with this pin in the place of the letter's; None takes it out."""
    by_letter = pins(settings) | {letter: pinned}
    return _NEXT_PIN.join(
        "" if by_letter.get(name) is None else pin(cast(Settings, by_letter[name])) for name in PINS
    ).rstrip(_NEXT_PIN)


def check_value(name: str, value: Value) -> tuple[Value, str]:
    """(allowed value, message): the value itself with an empty message, or the nearest allowed one
    and why.

    Brought rows that are not here stay named: no other set's results stand in their place.
    """
    param = PARAMS[name]
    allowed = choices(name)
    if is_stored(name, value):
        return value, ""
    if not visitors.is_offered(name, value):
        return (
            cast(Value, param.default),
            (
                f"{name} = {_quote(value)} is not offered on this public server: {param.default} is"
                " used."
            ),
        )
    if allowed and value not in allowed and not is_of_family(name, value):
        near = difflib.get_close_matches(str(value)[:80], allowed, n=1, cutoff=0.6)
        chosen = near[0] if near else param.default
        names = ", ".join(allowed[:8]) + (" …" if len(allowed) > 8 else "")
        return (
            cast(Value, chosen),
            f"{name} was {_quote(value)}, which is none of {names}: {chosen} is used.",
        )
    try:
        return cast(Value, param.check(value)), ""
    except SettingError:
        nearest = _nearest(param, value)
        return (
            nearest,
            (
                f"{name} must be {param.range}; the link said {_quote(value)}: {_text(nearest)} is"
                " used."
            ),
        )


def is_stored(name: str, value: object) -> bool:
    """Whether `value` names rows that a user brought; whether they are on this machine shows on
    loading."""
    return name in ("data", "public") and uploads.is_name(value)


def is_of_family(name: str, value: object) -> bool:
    """Whether `value` names a data set or backbone that is built from its name, such as
    `timm:resnet50?input_size=160`."""
    families: dict[str, Container[str]] = {
        "data": pc.DATASETS,
        "public": pc.DATASETS,
        "backbone": pc.BACKBONES,
    }
    text = str(value)
    return (
        name in families and ":" in text and len(text) <= _LONGEST_NAME and text in families[name]
    )


def _linkable(name: str, notes: list[str]) -> str:
    """What of a backbone's name a link may say, with a message about the rest."""
    base, mark, _ = name[:_LONGEST_NAME].partition("weights=")
    base_name = base.rstrip("?&") if mark and pc.BACKBONES.is_linkable(base.rstrip("?&")) else AUTO
    notes.append(
        f"The backbone {_quote(name)} names a file, a program or an address, which only you can"
        f" choose: {base_name} is used. If you trust it, name it on My data → Rows."
    )
    return base_name


def _read(name: str, text: str, notes: list[str], chosen_names: Container[str] | None) -> Value:
    param = PARAMS[name]
    try:
        value: Value = text if param.kind is str else param.kind(float(text))
    except (ValueError, OverflowError):
        notes.append(
            f"{name} must be {param.range}; the link said {_quote(text)}:"
            f" {_text(cast(Value, param.default))} is used."
        )
        return cast(Value, param.default)
    is_foreign = (
        name == "backbone"
        and chosen_names is not None
        and value not in chosen_names
        and not pc.BACKBONES.is_linkable(str(value))
    )
    if is_foreign and visitors.is_offered(
        name, value
    ):  # what is off needs no reason of its own: `check_value` says it
        return _linkable(str(value), notes)
    if name == "a" and any(
        word and unpin(word, chosen_names=chosen_names) is None for word in text.split(_NEXT_PIN)
    ):
        notes.append("The pinned settings in the link could not be read: nothing is pinned.")
        return ""
    if name == "controls":
        return _UNSAFE.sub("", str(value)[:_LONGEST_WORD])
    if name == "hide":
        return ",".join(sorted(part for part in str(value)[:400].split(",") if part in PARAMS))
    value, note = check_value(name, value)
    if note:
        notes.append(note)
    return value


def _nearest(param: Param, value: Value) -> Value:
    if isinstance(value, str) or math.isnan(value):
        return cast(Value, param.default)
    return param.kind(min(max(value, param.low), param.high))  # type: ignore[no-any-return]  # kind is one of int and float here


def _text(value: Value) -> str:
    if isinstance(value, float):
        return "inf" if math.isinf(value) else f"{value:.12g}"
    return str(value)


def _quote(value: object) -> str:
    text = "".join(filter(str.isprintable, str(value)))
    return f"“{text[:_LONGEST_SHOWN]}{'…' if len(text) > _LONGEST_SHOWN else ''}”"
