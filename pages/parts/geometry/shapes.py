"""The geometry page's calls of the library, cached: what a slider touches finds rows, bases and separators ready."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import core
from pages.frame.settings import Settings
from pillar_core import geometry as geo
from pillar_core.fingerprint import fingerprint
from pillar_core.studies import geometry

ROWS_PER_CLASS = 1_100
"""Rows of a class that separators are trained on: pairs of 2,200."""
_PREVIEW_ROWS, _PREVIEW_CLASSES, _POINTS = 300, 3, 48
_WHERE = ("data", "backbone", "public", "public_fraction", "seed")


@dataclasses.dataclass(frozen=True)
class View:
    """What is looked at: settings, space, and which separators ("pairs" or "one_versus_rest")."""

    settings: Settings
    which: str = "pairs"
    standardise: bool = False

    @property
    def payload(self) -> dict[str, Any]:
        """The job's specification without its kind."""
        return geometry.payload(
            self.settings.data,
            backbone=core.backbone(self.settings),
            seed=self.settings.seed,
            standardise=self.standardise,
            classes=None if self.which == "pairs" else geo.ONE_VERSUS_REST,
            rows_per_class=ROWS_PER_CLASS,
            **core.split_arguments(self.settings),
        )

    @property
    def key(self) -> str:
        """The content hash of all of it."""
        return fingerprint(core.key(self.settings, _WHERE), self.which, self.standardise)


def rows(settings: Settings) -> geo.Rows:
    """The private rows that separators are trained on, and all public rows."""
    return _rows(core.key(settings, _WHERE), settings)


def basis(view: View, kind: str, n_public: int | None = None) -> geo.Basis:
    """One basis; dp_pca is released at the settings' ε and δ."""
    noise = None
    if kind == geo.BasisKind.DP_PCA:
        noise = pc.noise_multiplier(view.settings.epsilon, delta=view.settings.delta) if math.isfinite(view.settings.epsilon) else 1e-9
    return _basis(fingerprint(core.key(view.settings, _WHERE), view.standardise, kind, n_public, noise), view, kind, n_public, noise)


def separators(view: View) -> tuple[geo.Separators, bool]:
    """(separators, whether they are all): from the cache, else a preview of a few, trained on few rows."""
    try:
        return _complete(view.key, view), True
    except _MissingError:
        return _preview(view.key, view), False


def count(view: View) -> int:
    """How many separators there are to train."""
    return sum(len(task["pairs"]) for task in geometry.separator_tasks(view.payload, rows(view.settings)))


def xi(view: View, kinds: list[str], n_public: int | None) -> tuple[pd.DataFrame, bool]:
    """(columns basis, k, mean, low, high, pairs; whether all separators are there)."""
    found, is_complete = separators(view)
    tables = []
    for kind in kinds:
        own = basis(view, kind, n_public if kind == geo.BasisKind.PUBLIC_PCA else None)
        values = geo.averaged(geo.xi_table(found, own, ladder(own.rank), classes=rows(view.settings).classes))
        tables.append(values.assign(basis=kind))
    return pd.concat(tables, ignore_index=True), is_complete


def margins(view: View, quantile: float) -> tuple[pd.DataFrame, bool]:
    """(margins of separators trained anew at each k, True), or (those of the projected preview, False)."""
    own = basis(view, geo.BasisKind.PUBLIC_PCA)
    found = geometry.cached_margins(view.payload, own.rank)
    if found is not None:
        return found[found["quantile"] == quantile], True
    separator, _ = separators(view)
    return geo.projected_margins(_coordinates(view.key, view), separator, own, geometry.margin_ks(own.rank), quantile=quantile), False


def predicted(settings: Settings, epsilons: tuple[float, ...]) -> pd.DataFrame:
    """The predicted curve of each ε, in the learners' own preprocessing: standardised and centred by public rows."""
    facts = core.split(settings).facts
    key = fingerprint(core.key(settings, _WHERE), epsilons, settings.delta)
    return _predicted(key, View(settings, standardise=True), epsilons, facts.n_private)


def ladder(rank: int) -> list[int]:
    """Values of k for smooth curves, evenly spread on a logarithmic scale."""
    return sorted({round(math.exp(math.log(rank) * step / (_POINTS - 1))) for step in range(_POINTS)})


class _MissingError(Exception):
    """Separators are not in the cache; keeps st.cache from remembering that."""


@st.cache_resource(max_entries=4, show_spinner="Picking rows of every class …")
def _rows(key: str, _settings: Settings) -> geo.Rows:
    return geo.thinned(geo.rows_of(core.split(_settings)), ROWS_PER_CLASS)


@st.cache_resource(max_entries=24, show_spinner="Finding directions …")
def _basis(key: str, _view: View, _kind: str, _n_public: int | None, _noise: float | None) -> geo.Basis:
    own = rows(_view.settings)
    space = own.space(standardise=_view.standardise)
    return geo.basis_of(own, kind=_kind, space=space, n_public=_n_public, noise_multiplier=_noise, seed=_view.settings.seed)


@st.cache_resource(max_entries=8, show_spinner=False)
def _complete(key: str, _view: View) -> geo.Separators:
    found = geometry.cached_separators(_view.payload, rows(_view.settings))
    if found is None:
        raise _MissingError
    return found


@st.cache_resource(max_entries=8, show_spinner="Separating a few classes …")
def _preview(key: str, _view: View) -> geo.Separators:
    few = geo.thinned(rows(_view.settings), _PREVIEW_ROWS)
    present = sorted(set(few.y.tolist()))[:_PREVIEW_CLASSES]
    every = geo.pairs_of(few.classes, None if _view.which == "pairs" else geo.ONE_VERSUS_REST)
    pairs = [pair for pair in every if all(label in (*present, geo.REST) for label in pair)]
    return geo.separators(few, pairs, space=rows(_view.settings).space(standardise=_view.standardise))


@st.cache_resource(max_entries=4, show_spinner=False)
def _coordinates(key: str, _view: View) -> geo.Coordinates:
    own = rows(_view.settings)
    return geo.coordinates(own, basis(_view, geo.BasisKind.PUBLIC_PCA), space=own.space(standardise=_view.standardise))


@st.cache_data(max_entries=32, show_spinner="Predicting …")
def _predicted(key: str, _view: View, _epsilons: tuple[float, ...], _n_private: int) -> pd.DataFrame:
    own = basis(_view, geo.BasisKind.PUBLIC_PCA)
    moments = geo.class_moments(_coordinates(_view.key, _view))
    ks = [k for k in ladder(own.rank)[::2] if k >= 2] or [own.rank]
    return geo.predicted(moments, ks, _epsilons, n_private=_n_private, delta=_view.settings.delta)
