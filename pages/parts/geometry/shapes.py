"""The geometry page's calls of the library, cached: what a slider touches finds rows, bases and separators ready."""

import dataclasses
import math

import pandas as pd

import pillar_core as pc
from pages.frame import core, memory
from pages.frame.settings import Settings
from pillar_core import geometry as geo
from pillar_core.fingerprint import fingerprint
from pillar_core.splits import has_units
from pillar_core.studies import geometry
from pillar_core.types import Form

ROWS_PER_CLASS = 1_100
"""Rows of a class that separators are trained on: pairs of 2,200."""
_PREVIEW_ROWS, _PREVIEW_CLASSES, _POINTS = 300, 3, 48


@dataclasses.dataclass(frozen=True)
class Separation:
    """The settings, the space, and which separators ("pairs" or "one_versus_rest")."""

    settings: Settings
    which: str = "pairs"
    standardise: bool = False

    @property
    def payload(self) -> Form:
        """The job's specification without its kind."""
        return geometry.payload(
            self.settings.data,
            backbone=core.backbone(self.settings),
            seed=self.settings.seed,
            standardise=self.standardise,
            classes=None if self.which == "pairs" else geo.ONE_VERSUS_REST,
            rows_per_class=ROWS_PER_CLASS,
            **core.public_axis(self.settings),
        )

    @property
    def key(self) -> str:
        """The content hash of all of it."""
        return fingerprint(core.split_key(self.settings), self.which, self.standardise)


@memory.of_rows(max_entries=4, show_spinner="Picking rows of every class …", by=core.split_key, is_free=True)
def rows(settings: Settings) -> geo.Rows:
    """The private rows that separators are trained on, and all public rows."""
    return geo.thinned(geo.rows_of(core.split(settings)), ROWS_PER_CLASS)


def basis(separation: Separation, kind: str, n_public: int | None = None) -> geo.Basis:
    """One basis; dp_pca is released at the settings' ε and δ."""
    settings, noise = separation.settings, None
    if kind == geo.BasisKind.DP_PCA:
        noise = pc.noise_multiplier(settings.epsilon, delta=settings.delta) if math.isfinite(settings.epsilon) else 1e-9
    key = fingerprint(core.split_key(settings), separation.standardise, kind, n_public, noise)
    return _basis(key, separation, kind, n_public, noise)


def present_k(settings: Settings, rank: int) -> int:
    """The sidebar's k, or the rule's, within the public directions."""
    return min(rank, settings.chosen_k or core.rule_k(settings) or rank)


@memory.of_rows(max_entries=8, by=core.split_key)
def collapse(settings: Settings) -> tuple[float | None, str]:
    """(the ratio of spreads within and between classes, which rows it is of): public rows where they have labels, else private ones."""
    parts, private = core.split(settings), rows(settings)
    x, y, kind = (private.x, private.y, "private") if parts.public_y is None else (parts.public_x, parts.public_y, "public")
    space = private.space(standardise=has_units(parts.public_x, parts.features.text_block))
    return geo.collapse_ratio(space(x), y), kind


def separators(separation: Separation) -> tuple[geo.Separators, bool]:
    """(separators, whether they are all): from the cache, else a preview of a few, trained on few rows."""
    try:
        return _complete(separation.key, separation), True
    except _MissingError:
        return _preview(separation.key, separation), False


def count(separation: Separation) -> int:
    """How many separators there are to train."""
    return sum(len(task["pairs"]) for task in geometry.separator_tasks(separation.payload, rows(separation.settings)))


def xi(separation: Separation, kinds: list[str], n_public: int | None) -> tuple[pd.DataFrame, bool]:
    """(columns basis, k, mean, low, high, pairs; whether all separators are there)."""
    hyperplanes, is_complete = separators(separation)
    tables = []
    for kind in kinds:
        directions = basis(separation, kind, n_public if kind == geo.BasisKind.PUBLIC_PCA else None)
        values = geo.averaged(geo.xi_table(hyperplanes, directions, ladder(directions.rank), classes=rows(separation.settings).classes))
        tables.append(values.assign(basis=kind))
    return pd.concat(tables, ignore_index=True), is_complete


def pair_margins(separation: Separation, pair: geo.Pair, k: int) -> pd.DataFrame:
    """Margins of two classes before the projection and after it, by the separator of these two alone."""
    rows_, directions = rows(separation.settings), basis(separation, geo.BasisKind.PUBLIC_PCA)
    hyperplane = _separator(f"{separation.key}-{pair}", separation, pair)
    return geo.pair_margins(rows_, hyperplane, directions, k, space=rows_.space(standardise=separation.standardise))


def predicted_curves(settings: Settings, epsilons: tuple[float, ...]) -> pd.DataFrame:
    """The predicted curve of each ε, in the learners' own preprocessing."""
    parts = core.split(settings)
    key = fingerprint(core.split_key(settings), epsilons, settings.delta)
    standardise = has_units(parts.public_x, parts.features.text_block)
    return _predict(key, Separation(settings, standardise=standardise), epsilons, parts.facts.n_private)


def ladder(rank: int) -> list[int]:
    """Values of k for smooth curves, evenly spread on a logarithmic scale."""
    return sorted({round(math.exp(math.log(rank) * step / (_POINTS - 1))) for step in range(_POINTS)})


class _MissingError(Exception):
    """Separators are not in the cache; keeps st.cache from remembering that."""


@memory.of_rows(max_entries=24, show_spinner="Finding directions …")
def _basis(key: str, _separation: Separation, _kind: str, _n_public: int | None, _noise: float | None) -> geo.Basis:
    rows_ = rows(_separation.settings)
    space = rows_.space(standardise=_separation.standardise)
    return geo.basis_of(rows_, kind=_kind, space=space, n_public=_n_public, noise_multiplier=_noise, seed=_separation.settings.seed)


@memory.of_rows(max_entries=8, is_free=True)
def _complete(key: str, _separation: Separation) -> geo.Separators:
    hyperplanes = geometry.cached_separators(_separation.payload, rows(_separation.settings))
    if hyperplanes is None:
        raise _MissingError
    return hyperplanes


@memory.of_rows(max_entries=8, show_spinner="Separating a few classes …")
def _preview(key: str, _separation: Separation) -> geo.Separators:
    few = geo.thinned(rows(_separation.settings), _PREVIEW_ROWS)
    present = sorted(set(few.y.tolist()))[:_PREVIEW_CLASSES]
    every = geo.pairs_of(few.classes, None if _separation.which == "pairs" else geo.ONE_VERSUS_REST)
    pairs = [pair for pair in every if all(label in (*present, geo.REST) for label in pair)]
    return geo.separators(few, pairs, space=rows(_separation.settings).space(standardise=_separation.standardise))


@memory.of_rows(max_entries=32, show_spinner="Separating two classes …")
def _separator(key: str, _separation: Separation, _pair: geo.Pair) -> geo.Separators:
    rows_ = rows(_separation.settings)
    return geo.separators(rows_, [_pair], space=rows_.space(standardise=_separation.standardise))


@memory.of_rows(max_entries=4)
def _coordinates(key: str, _separation: Separation) -> geo.Coordinates:
    rows_ = rows(_separation.settings)
    return geo.coordinates(rows_, basis(_separation, geo.BasisKind.PUBLIC_PCA), space=rows_.space(standardise=_separation.standardise))


@memory.cache(max_entries=32, show_spinner="Predicting …")
def _predict(key: str, _separation: Separation, _epsilons: tuple[float, ...], _n_private: int) -> pd.DataFrame:
    rank = basis(_separation, geo.BasisKind.PUBLIC_PCA).rank
    moments = geo.class_moments(_coordinates(_separation.key, _separation))
    ks = [k for k in ladder(rank)[::2] if k >= 2] or [rank]
    return geo.predicted(moments, ks, _epsilons, n_private=_n_private, delta=_separation.settings.delta)
