"""The library's calls that pages share, cached: a slider finds features, basis and noise ready.

Everything is cached by a fingerprint of the settings that it depends on. Large objects are shared
(never copied, never changed), bounded in number.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pandas as pd

import pillar_core as pc
from pages.frame import memory, session, shares
from pages.frame.settings import AUTO, NONE, PART, PUBLIC_TITLES, RULE, Settings
from pillar_core import mode, store, texts
from pillar_core.arrays import Array, Json
from pillar_core.backbones import is_ready
from pillar_core.backbones.names import address
from pillar_core.backbones.text import OPEN_CLIP, text_embeddings, zero_shot_accuracy
from pillar_core.data import encoding, uploads
from pillar_core.data.cards import number_of
from pillar_core.data.uploads import Upload
from pillar_core.errors import DataError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.metrics import by_class
from pillar_core.params import K, params_of
from pillar_core.runs import records, splitting, starter, sweep
from pillar_core.runs.run import run_spec, solve_spec
from pillar_core.studies.advice.simulation import UNBALANCED
from pillar_core.texts import minilm
from pillar_core.types import (
    Dataset,
    FeatureSet,
    Form,
    PublicFacts,
    PublicUse,
    RunRecord,
    RunSpec,
    SemiPrivateSplit,
    is_of_text,
)

NOT_EXTRACTED = "are not in the cache yet: open Rows and press Extract."
T = TypeVar("T")
_MAPPED = 2000
"""Public rows of a map, at most."""
_LOADED: set[str] = set()
"""The splits, by `key`, that some session of this process has loaded."""


def key(settings: Settings, fields: tuple[str, ...]) -> str:
    """The fingerprint of some of the settings, by name, and of the files that their rows lie in,
    where they do."""
    return fingerprint(
        {name: getattr(settings, name) for name in fields},
        *splitting.states(settings.data, settings.public),
    )


def raw(settings: Settings) -> Dataset | FeatureSet:
    """The rows of the private data set before any backbone; features where a user brought
    features."""
    return _raw(settings.data, splitting.state(settings.data))


def features(settings: Settings) -> FeatureSet:
    """The features of the private data set."""
    return _features(settings.data, backbone(settings), splitting.state(settings.data))


def candidate(name: str, settings: Settings) -> FeatureSet:
    """Another set's features through the private data's backbone; the settings' own public part by
    the name PART."""
    if name != PART:
        return _features(name, backbone(settings), splitting.state(name))
    part = splitting.unmapped(split(dataclasses.replace(settings, public=PART)))
    return FeatureSet(part.public_x, part.public_y, None, None, part.features.classes)


def split_key(settings: Settings) -> str:
    """The fingerprint of what decides which rows are private and which public."""
    return key(settings, ("data", "backbone", "public", "public_fraction", "seed"))


@memory.cache(
    max_entries=6,
    show_spinner="Setting public rows apart and finding their directions …",
    by=split_key,
    is_free=True,
)
def split(settings: Settings) -> SemiPrivateSplit:
    """Private, public and test rows."""
    data = features(settings)
    axis = public_axis(settings)
    if "public" in axis:
        axis = {"public": candidate(settings.public, settings)}
    parts = pc.split(data, **axis, seed=settings.seed)
    _LOADED.add(split_key(settings))
    return parts


def train_run(settings: Settings) -> RunRecord:
    """The same experiment with its classifier, trained now."""
    return run_spec(spec(settings), split(settings))


def run_key(settings: Settings) -> str:
    """The key under which the store holds the run."""
    if splitting.lies_in_files(settings.data):
        features(settings)  # whose content is in the key
    return sweep.run_key(spec(settings))


@memory.cache(show_spinner="Training a private model …", by=run_key, is_free=True)
def run(settings: Settings) -> RunRecord:
    """One experiment without its classifier, from the store, or trained now and stored."""
    record = find(settings)
    if record is not None:
        return record
    with shares.turn():
        return sweep.read_or_run(spec(settings), split(settings))


def find(settings: Settings) -> RunRecord | None:
    """The experiment as the store, or what ships, holds it: it waits neither for rows nor for
    torch."""
    return sweep.find(run_key(settings))


def of_run(make: Callable[..., T], *, show_spinner: str, max_entries: int = 8) -> Callable[..., T]:
    """What `make` finds out about a run from its specification, its split and named arguments, kept
    by the run's key and those."""

    @memory.cache(
        max_entries=max_entries,
        show_spinner=show_spinner,
        by=lambda settings, **named: (run_key(settings), *named.values()),
    )
    def read(settings: Settings, **named: Any) -> T:
        return make(spec(settings), split(settings), **named)

    return read


def spec(settings: Settings) -> RunSpec:
    """The specification of the settings' run; it has a k only where a private learner uses one and
    no rule chooses it."""
    return sweep.spec_of(grid(settings, seed=settings.seed))


def grid(settings: Settings, **changes: Json) -> Form:
    """The settings' run over their seeds as a grid, with other axes for some of its own."""
    own = {"method": settings.method, "epsilon": settings.epsilon, "seed": seeds(settings)}
    return {**axes(settings), **k_axis(settings), **own, **changes}


def k_axis(settings: Settings) -> Form:
    """k as an axis of a grid, where a private learner uses one and no rule chooses it."""
    has_choice = settings.k != RULE and pc.METHODS[settings.method].is_private
    return {"k": settings.k} if has_choice and has_k(settings.method) else {}


def find_runs(grids: Sequence[Form]) -> dict[str, tuple[RunSpec, Form | None]]:
    """Every run of some grids by cache key, with its record if it is stored; records that were read
    stay in memory."""
    wanted = [{name: value for name, value in grid.items() if value is not None} for grid in grids]
    contents = [
        splitting.content(str(grid["dataset"]), grid.get("backbone"))
        for grid in grids
        if splitting.lies_in_files(grid["dataset"])
    ]
    runs = _specs_by_key(
        fingerprint(wanted, contents, splitting.states(*(grid.get("public") for grid in grids))),
        grids,
    )
    for key_, (spec, record) in runs.items():
        if record is None:
            runs[key_] = spec, store.default().get_json("record", key_)
    return runs


def axes(settings: Settings) -> Form:
    """The axes of a sweep that name the data with its public rows, and say how privacy is
    counted and what is wanted."""
    return {**data_axes(settings), **public_axis(settings)}


def seeds(settings: Settings) -> list[int]:
    """The seeds of a sweep."""
    return list(range(settings.seed, settings.seed + settings.seeds))


def data_axes(settings: Settings) -> Form:
    """The axes of a sweep that name the data, but for public rows, and say how privacy is
    counted and what is wanted."""
    counted = {name: getattr(settings, name) for name in ("delta", "relation", "accountant")}
    counted |= {} if settings.metric == AUTO else {"metric": settings.metric}
    return {"dataset": settings.data, "backbone": backbone(settings), **counted}


def public_axis(settings: Settings) -> Form:
    """The axis that says which rows are public."""
    axes: dict[str, Form] = {PART: {"public_fraction": settings.public_fraction}, NONE: {}}
    return axes.get(settings.public, {"public": settings.public})


def has_k(method: str) -> bool:
    """Whether a learner projects to k directions."""
    return "k" in params_of(pc.METHODS[method].settings)


def words_of_rule(method: str) -> str:
    """What the learner does without a k, in words: "rule" unless the learner says otherwise."""
    param = params_of(pc.METHODS[method].settings).get("k")
    return "rule" if param is None or param.none_means == K.none_means else param.none_means


def rule_k(settings: Settings) -> int | None:
    """The k that the learner's rule chooses from public facts and the budget; None without a rule,
    or before any row was read."""
    if (
        words_of_rule(settings.method) != "rule"
        or not has_k(settings.method)
        or not pc.METHODS[settings.method].is_private
    ):
        return None
    ruled = dataclasses.replace(settings, k=RULE)
    with contextlib.suppress(PillarError):  # the page says why rows cannot be loaded
        if (record := find(ruled)) is not None:
            return int(record.settings["k"])
    return _rule_k(ruled) if split_key(settings) in _LOADED else None


def n_test(settings: Settings) -> int:
    """How many test rows there are; of a set that comes with the library, its card says it."""
    if ships(settings) and (count := number_of(pc.DATASETS[settings.data].n_test)) is not None:
        return count
    rows = features(settings).x_test
    return 0 if rows is None else len(rows)


def facts(settings: Settings) -> PublicFacts:
    """What is public about the rows. Nothing is loaded for it where a record of these settings
    says it."""
    record = find(settings)
    return split(settings).facts if record is None else record.facts


def largest_k(settings: Settings) -> int:
    """The most directions that the public rows span. Of a set that comes with the library none is
    loaded for it, where a record says that they are fewer than the features."""
    record = find(settings) if ships(settings) and split_key(settings) not in _LOADED else None
    if record is not None and record.facts.n_public <= record.facts.d:
        return record.facts.n_public - 1
    return len(spectrum(settings))


@memory.cache(max_entries=8, by=split_key, is_free=True)
def spectrum(settings: Settings) -> pd.DataFrame:
    """Eigenvalues of the public rows, in the learners' own preprocessing: columns component,
    eigenvalue. Public only."""
    values = _basis(settings).eigenvalues
    return pd.DataFrame({"component": range(1, len(values) + 1), "eigenvalue": values})


@memory.cache(max_entries=8, by=split_key, is_free=True)
def public_map(settings: Settings) -> pd.DataFrame:
    """Public rows in their first two directions: columns x, y, class, and text where texts became
    numbers. Public only."""
    parts = split(settings)
    rows = parts.public_x[:_MAPPED]
    places = _basis(settings).transform(2, normalise=False)(rows)
    names = parts.features.classes
    labels = (
        [""] * len(rows)
        if parts.public_y is None
        else [names[label] for label in parts.public_y[:_MAPPED]]
    )
    table = pd.DataFrame({"x": places[:, 0], "y": places[:, 1], "class": labels})
    said = encoding.beginnings(parts.public_texts[:_MAPPED])
    return table.assign(text=said) if said else table


def public_images(settings: Settings) -> Array | None:
    """The pictures of the rows of `public_map`, where there are any."""
    parts = split(settings)
    images = (
        parts.features if settings.public in PUBLIC_TITLES else candidate(settings.public, settings)
    ).images
    if images is None:
        return None
    return (
        images.x_train[:_MAPPED]
        if settings.public != PART
        else images.x_train[parts.carved[:_MAPPED]]
    )


def may_be_public(upload: Upload, settings: Settings) -> bool:
    """Whether an upload can be public data for the private set: images for images, numbers of equal
    width for numbers.

    Reads no row, so that the sidebar need not wait for the data.
    """
    kind, private = kind_of(settings.data), uploads.card(settings.data)
    if kind == "generator":  # some draw images, others rows
        return True
    if uploads.IMAGES in (upload.kind, kind):
        return upload.kind == kind
    if private is not None:
        return upload.shape == private.shape
    width = number_of(pc.DATASETS[settings.data].d) if kind == "tabular" else None
    return width is None or upload.shape == (width,)


def backbone(settings: Settings) -> str | None:
    """The backbone's name: the chosen one, else the library's default; None where rows are taken as
    they are."""
    return (
        splitting.default_backbone(settings.data)
        if settings.backbone == AUTO
        else settings.backbone
    )


def kind_of(name: str) -> str:
    """What a set holds, as its card says it: images, texts, tabular, …; reads no row."""
    card = uploads.card(name) or pc.DATASETS.find(name)
    return "" if card is None else card.kind


def holds_images(settings: Settings) -> bool:
    """Whether the private rows are images; reads none of them."""
    return kind_of(settings.data) == uploads.IMAGES


def holds_texts(settings: Settings) -> bool:
    """Whether the private rows were texts, alone or beside other columns; reads none of them."""
    card = uploads.card(settings.data)
    if card is not None:
        return card.is_text or any(map(is_of_text, card.names))
    return kind_of(settings.data) == "texts"


def encoders(settings: Settings) -> list[str]:
    """What can make numbers of the private rows' texts here; none where they were none."""
    if not holds_texts(settings):
        return []
    return [texts.NAME, *([minilm.NAME] if minilm.is_installed() and not mode.is_demo() else [])]


def is_synthetic(name: str) -> bool:
    """Whether the rows of a set are generated."""
    return name in pc.DATASETS and pc.DATASETS[name].synthetic


def recorded(settings: Settings) -> pd.DataFrame:
    """The cache's runs of private or public rows that are not on this machine, at the settings' δ,
    adjacency and public share where there are such, and of one setting for each learner, ε and k:
    columns of `records.all_runs`. Empty where the rows are here."""
    brought = uploads.names_in([settings.data, settings.public])
    card = pc.DATASETS.find(settings.data)
    is_here = all(map(uploads.is_here, brought)) and (card is None or card.is_here())
    return pd.DataFrame() if is_here else _recorded(settings)


def _run_of_page(settings: Settings) -> Hashable:
    """What stays while a page runs, though the sidebar moves learner, ε and k."""
    rows = split_key(settings), settings.delta, settings.relation
    return *rows, session.token(), session.began()


@memory.cache(max_entries=8, by=_run_of_page, is_free=True)
def _recorded(settings: Settings) -> pd.DataFrame:
    runs = records.all_runs()
    if runs.empty:
        return runs
    runs = runs[(runs["dataset"] == settings.data) & runs["accuracy"].notna()]
    for name in ("backbone", "delta", "relation", "public_fraction"):
        fits = runs[name] == getattr(settings, name) if name in runs else runs["key"] == ""
        runs = runs[fits] if fits.any() else runs
    most = runs.loc[runs["group"].map(runs["group"].value_counts()).sort_values().index[::-1]]
    chosen = most.groupby(["method", "epsilon", "k"], dropna=False)["group"].transform("first")
    return runs[runs["group"] == chosen.reindex(runs.index)]


def snap(settings: Settings, runs: pd.DataFrame) -> Settings:
    """The settings moved to the nearest learner, ε and k of which there are records."""
    method = settings.method if settings.method in set(runs["method"]) else runs["method"].mode()[0]
    runs = runs[runs["method"] == method]
    epsilon = nearest(settings.epsilon, runs["epsilon"])
    k = RULE
    if has_k(method) and len(ks := runs.loc[runs["epsilon"] == epsilon, "k"].dropna()):
        k = int(nearest(settings.k or ks.median(), ks))
    return dataclasses.replace(settings, method=method, epsilon=float(epsilon), k=k)


def nearest(value: float, offered: Iterable[float]) -> float:
    """The offered value whose ratio to `value` is nearest to 1; of ∞ the largest."""
    if math.isinf(value):
        return max(offered)
    return min(offered, key=lambda offer: abs(math.log(offer / value)))


def ships(settings: Settings) -> bool:
    """Whether the private rows come with the library."""
    return settings.data in pc.DATASETS and not pc.DATASETS[settings.data].needs_files


def test_counts(settings: Settings) -> list[int]:
    """Test rows of each class; none where there are no test labels. A non-private diagnostic."""
    counts = class_counts(settings)
    return [int(rows) for rows in counts.loc[counts["part"] == "test", "rows"]]


def majority(settings: Settings) -> float | None:
    """The share of test rows that always saying the largest class gets right; None without test
    labels, or where no row was read yet."""
    counts = test_counts(settings) if split_key(settings) in _LOADED else []
    return max(counts) / sum(counts) if sum(counts) else None


def metric(settings: Settings) -> str:
    """What curves over ε and costs of parts are said in: balanced accuracy where test rows of one
    class are more than 60 %."""
    counts = test_counts(settings)
    return "balanced_accuracy" if counts and max(counts) > UNBALANCED * sum(counts) else "accuracy"


def zero_shot(settings: Settings) -> float | None:
    """The test accuracy of class names alone; None without test labels or a text half of the
    backbone, or where no row was read yet."""
    name = backbone(settings) or ""
    if name.startswith(OPEN_CLIP) and split_key(settings) in _LOADED:
        # a visitor of a demo who has no share left sees the figure without it
        with contextlib.suppress(PillarError):
            return _zero_shot(settings.data, name, splitting.state(settings.data))
    return None


def measures(record: RunRecord, settings: Settings) -> dict[str, tuple[float, float, float]]:
    """What test rows say of a run by measure: value and ends of its interval; of two classes and of
    rare ones, too."""
    return by_class(record.metrics, test_counts(settings), split(settings).features.classes)


@memory.cache(max_entries=8, by=split_key, is_free=True)
def class_counts(settings: Settings) -> pd.DataFrame:
    """Rows by class and part: columns class, part, rows. A non-private diagnostic."""
    parts = split(settings)
    names, data = parts.features.classes, parts.features
    labels = {
        "private": None if data.y_train is None else data.y_train[parts.private],
        "public": parts.public_y,
        "test": data.y_test,
    }
    tables = []
    for part, of in labels.items():
        if of is not None:
            rows = pd.Series(of).value_counts().reindex(range(len(names)), fill_value=0)
            tables.append(pd.DataFrame({"class": names, "part": part, "rows": rows}))
    return pd.concat(tables, ignore_index=True)


@memory.cache(max_entries=1, is_free=True)
def start_records() -> tuple[pd.DataFrame, Form] | None:
    """The starter records behind Start's picture, and `starter.start_tests`; None where they are
    missing."""
    try:
        return starter.hero_table(), starter.start_tests()
    except PillarError:
        return None


@memory.cache(max_entries=3, show_spinner="Reading the data set …", is_free=True)
def _raw(name: str, state: str) -> Dataset | FeatureSet:
    return uploads.load_rows(name)


@memory.cache(max_entries=3, show_spinner="Reading features …", is_free=True)
def _features(data: str, name: str | None, state: str) -> FeatureSet:
    source = _raw(data, state)
    is_extracted = isinstance(source, Dataset) or texts.is_encoder(name)
    if name is not None and is_extracted and not is_ready(source, backbone=name):
        raise DataError(
            f"The features of {uploads.title_of(data)} through {pc.BACKBONES[name].title}"
            f" {NOT_EXTRACTED}"
        )
    return splitting.remember_features(source, data, name, state_=state)


@memory.cache(max_entries=8, show_spinner="Reading the class names …")
def _zero_shot(data: str, name: str, state: str) -> float | None:
    with contextlib.suppress(PillarError):
        rows, weights = _features(data, name, state), pc.BACKBONES[name].weights_file()
        return zero_shot_accuracy(
            rows,
            text_embeddings(rows.classes, f"{OPEN_CLIP}{address(name).model}", weights=weights),
        )
    return None


@memory.cache(is_free=True)
def _specs_by_key(
    fingerprint_: str, _grids: Sequence[Form]
) -> dict[str, tuple[RunSpec, Form | None]]:
    specs = [spec for grid in _grids for spec in sweep.specs_of(grid)]
    return {key: (spec, None) for key, spec in zip(sweep.run_keys(specs), specs, strict=True)}


@memory.cache(by=run_key, is_free=True)
def _rule_k(settings: Settings) -> int | None:
    with contextlib.suppress(PillarError):
        return int(solve_spec(spec(settings), split(settings)).settings.k)
    return None


def _basis(settings: Settings) -> Any:
    from pillar_core.splits import view_of

    return view_of(split(settings), PublicUse.UNLABELLED).basis(standardise=None, centre=None)
