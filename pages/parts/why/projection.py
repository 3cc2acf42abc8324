"""What the page Why draws: ξ_k, margins, the spectrum and the predicted best k; from cached
calls of the library, so that what a slider touches finds rows, bases and separators ready."""

import dataclasses
import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, jobs, local, memory, navigation
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import EPSILONS, Settings
from pages.parts.curves import grid
from pillar_core import geometry as geo
from pillar_core import plots
from pillar_core.fingerprint import fingerprint
from pillar_core.numerics import number_words
from pillar_core.plots import intervals
from pillar_core.splits import Transform, has_units
from pillar_core.studies import geometry
from pillar_core.types import Form

ROWS_PER_CLASS = 1_100
"""Rows of a class that separators are trained on: pairs of 2,200."""
_PREVIEW_ROWS, _PREVIEW_CLASSES, _POINTS = 300, 3, 48
_WHICH = {"pairs": "pairs of classes", "one_versus_rest": "each class against the rest"}
_MANY_CLASSES = 20


@memory.cache(
    max_entries=4, show_spinner="Picking rows of every class …", by=core.split_key, is_free=True
)
def rows(settings: Settings) -> geo.Rows:
    """The private rows that separators are trained on, and all public rows."""
    return geo.thinned(geo.rows_of(core.split(settings)), ROWS_PER_CLASS)


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

    @property
    def space(self) -> Transform:
        """What rows are turned into before directions are found in them."""
        return rows(self.settings).space(standardise=self.standardise)


def present_k(settings: Settings, rank: int) -> int:
    """The sidebar's k, or the rule's, within the public directions."""
    return min(rank, settings.k or core.rule_k(settings) or rank)


@memory.cache(max_entries=8, by=core.split_key)
def collapse(settings: Settings) -> tuple[float | None, str]:
    """(the ratio of spreads within and between classes, which rows it is of): public rows where
    they have labels, else private ones."""
    parts = core.split(settings)
    private = rows(settings)
    x, y, kind = (
        (private.x, private.y, "private")
        if parts.public_y is None
        else (parts.public_x, parts.public_y, "public")
    )
    space = private.space(standardise=has_units(parts.public_x, parts.features.text_block))
    return geo.collapse_ratio(space(x), y), kind


def _basis_key(separation: Separation, kind: str, n_public: int | None = None) -> str:
    spent = (
        (separation.settings.epsilon, separation.settings.delta)
        if kind == geo.BasisKind.DP_PCA
        else None
    )
    return fingerprint(
        core.split_key(separation.settings), separation.standardise, kind, n_public, spent
    )


@memory.cache(max_entries=24, show_spinner="Finding directions …", by=_basis_key)
def basis(separation: Separation, kind: str, n_public: int | None = None) -> geo.Basis:
    """One basis; dp_pca is released at the settings' ε and δ."""
    settings = separation.settings
    noise = None
    if kind == geo.BasisKind.DP_PCA:
        noise = (
            pc.noise_multiplier(settings.epsilon, delta=settings.delta)
            if math.isfinite(settings.epsilon)
            else 1e-9
        )
    return geo.basis_of(
        rows(settings),
        kind=kind,
        space=separation.space,
        n_public=n_public,
        noise_multiplier=noise,
        seed=settings.seed,
    )


def separators(separation: Separation) -> tuple[geo.Separators, bool]:
    """(separators, whether they are all): those that a job made, else a preview of a few, trained
    on few rows."""
    complete = geometry.cached_separators(separation.payload, rows(separation.settings))
    return (_preview(separation), False) if complete is None else (complete, True)


@memory.cache(
    max_entries=8, show_spinner="Separating a few classes …", by=lambda separation: separation.key
)
def _preview(separation: Separation) -> geo.Separators:
    few = geo.thinned(rows(separation.settings), _PREVIEW_ROWS)
    present = sorted(set(few.y.tolist()))[:_PREVIEW_CLASSES]
    every = geo.pairs_of(few.classes, None if separation.which == "pairs" else geo.ONE_VERSUS_REST)
    return geo.separators(
        few, [pair for pair in every if {*pair} <= {*present, geo.REST}], space=separation.space
    )


@memory.cache(
    show_spinner="Separating two classes …",
    by=lambda separation, pair: (separation.key, pair),
)
def _separator(separation: Separation, pair: geo.Pair) -> geo.Separators:
    return geo.separators(rows(separation.settings), [pair], space=separation.space)


@memory.cache(
    show_spinner="Predicting …",
    by=lambda settings, epsilons: (core.split_key(settings), epsilons, settings.delta),
)
def predicted_curves(settings: Settings, epsilons: tuple[float, ...]) -> pd.DataFrame:
    """The predicted curve of each ε, in the learners' own preprocessing."""
    parts = core.split(settings)
    separation = Separation(
        settings, standardise=has_units(parts.public_x, parts.features.text_block)
    )
    ks = [k for k in _ladder(basis(separation, geo.BasisKind.PUBLIC_PCA).rank)[::2] if k >= 2]
    moments = geo.class_moments(_coordinates(separation))
    return geo.predicted(
        moments, ks or [1], epsilons, n_private=parts.facts.n_private, delta=settings.delta
    )


@memory.cache(max_entries=4, by=lambda separation: separation.key)
def _coordinates(separation: Separation) -> geo.Coordinates:
    return geo.coordinates(
        rows(separation.settings),
        basis(separation, geo.BasisKind.PUBLIC_PCA),
        space=separation.space,
    )


def _ladder(rank: int) -> list[int]:
    """Values of k for smooth curves, evenly spread on a logarithmic scale."""
    return sorted(
        {round(math.exp(math.log(rank) * step / (_POINTS - 1))) for step in range(_POINTS)}
    )


def _xi_table(separation: Separation, kinds: list[str], n_public: int | None) -> pd.DataFrame:
    """Columns basis, k, mean, low, high, pairs."""
    hyperplanes = separators(separation)[0]
    classes = rows(separation.settings).classes
    tables = []
    for kind in kinds:
        directions = basis(separation, kind, n_public if kind == geo.BasisKind.PUBLIC_PCA else None)
        values = geo.averaged(
            geo.xi_table(hyperplanes, directions, _ladder(directions.rank), classes=classes)
        )
        tables.append(values.assign(basis=kind))
    return pd.concat(tables, ignore_index=True)


def _gain(settings: Settings) -> None:
    """What projecting gained on real sets, with these rows' place among them, before anything is
    trained."""
    table = geometry.projection_gains()
    facts = core.facts(settings)
    ratio = None
    if math.isfinite(settings.epsilon):
        ratio = geometry.noise_ratio(
            n_private=facts.n_private,
            d=facts.d,
            classes=facts.n_classes,
            epsilon=settings.epsilon,
            delta=settings.delta,
        )
    draw_figure(
        plots.projection_gains,
        table,
        FigureInfo("projection_gains", settings, seeds=5),
        spearman=table.attrs["spearman"],
        present=ratio,
    )
    st.caption(
        "The noise is that of one Gaussian release in all d directions, √d/μ, the rows of a class"
        " are n/C: public facts alone. It leaves out what the first k public directions lose, so"
        " public rows of another kind gain less. A tenth of each set was public."
    )


def _xi(settings: Settings) -> None:
    kinds = local.choices(
        "bases",
        {str(kind): plots.BASES[kind][2] for kind in geo.BasisKind},
        ["public_pca", "random"],
        label="Directions from",
        help=(
            "Public directions are free. Private ones without noise leak; the noised ones are a"
            " release at the sidebar's ε."
        ),
    )
    offered = dict(
        list(_WHICH.items())[len(core.features(settings).classes) > geo.MOST_PAIRED :]
    )  # too many classes have no pairs
    which = str(
        local.choice(
            "which",
            offered,
            next(iter(offered)),
            label="Separators of",
            help=(
                "PILLAR separates pairs of classes; the earlier paper separates each class from the"
                " rest."
            ),
        )
    )
    separation = Separation(settings, which, _standardise())
    n_public = _public_rows(settings)
    table = _with_pinned(_xi_table(separation, kinds, n_public), separation)
    is_complete = separators(separation)[1]
    subject = "" if is_complete else "Preview: a few classes, few rows. "
    noised = [badges.PRIVATE] if "dp_pca" in kinds else []
    draw_figure(
        plots.xi_against_k,
        table,
        FigureInfo("xi", settings, [badges.NON_PRIVATE, *noised]),
        k=present_k(settings, int(table["k"].max())),
        subject=subject,
    )
    if not is_complete:
        total = sum(
            len(task["pairs"])
            for task in geometry.separator_tasks(separation.payload, rows(settings))
        )
        work = jobs.Work(
            f"Separate all {_WHICH[which]}",
            cost="Spends no ε: a non-private diagnostic.",
            total=total,
        )
        jobs.panel([{"kind": "separators", **separation.payload}], work)
    if "dp_pca" in kinds:
        st.caption(
            "The noised directions are one release of the second moment at ε ="
            f" {settings.epsilon:g}, δ = {number_words(settings.delta)}, with rows clipped to"
            " length one: an experiment, its noise is known."
        )


def _margins(settings: Settings) -> None:
    """Margins of two classes, before and after the projection on the sidebar's k."""
    private = rows(settings)
    separation = Separation(settings, standardise=_standardise())
    names = {label: private.classes[label] for label in sorted(set(private.y.tolist()))}
    nearest = geo.nearest_pair(private)
    columns = st.columns(2)
    first = int(
        local.select(
            "margin-class",
            names,
            nearest[0],
            place=columns[0],
            label="Class",
            help=(
                "Its side of the separator is the right one. At first you see the two classes whose"
                " means lie nearest."
            ),
        )
    )
    rest = {label: name for label, name in names.items() if label != first}
    usual = nearest[0] if first == nearest[1] else nearest[1]
    second = int(
        local.select(
            "margin-against",
            rest,
            usual,
            place=columns[1],
            label="Against",
        )
    )
    directions = basis(separation, geo.BasisKind.PUBLIC_PCA)
    k = present_k(settings, directions.rank)
    table = geo.pair_margins(
        private, _separator(separation, (first, second)), directions, k, space=separation.space
    )
    draw_figure(
        plots.margin_histogram,
        table,
        FigureInfo("margin_histogram", settings, [badges.NON_PRIVATE]),
        k=k,
        d=private.x.shape[1],
        classes=(names[first], names[second]),
    )
    _to_theorems(table, names[first], separation, (first, second), k, settings)


def _to_theorems(
    table: pd.DataFrame,
    name: str,
    separation: Separation,
    pair: tuple[int, int],
    k: int,
    settings: Settings,
) -> None:
    """The pair's γ, its compatibility χ, ξ and Δ, and a link to Theorem 1 at these values."""
    directions = basis(separation, geo.BasisKind.PUBLIC_PCA)
    whole = table["whole"].where(table["class"] == name, -table["whole"]).to_numpy()
    gamma = geo.margin_at(whole, 0.01)
    missed = geo.xi_of(_separator(separation, pair).weights, directions.vectors)[0, k - 1]
    gap = geo.spectrum(directions)["gap"].iloc[k - 1]
    before, after = (
        geo.compatibility(table[column].to_numpy(), max(gamma, 0.0))
        for column in ("whole", "projected")
    )
    st.caption(
        f"99 % of these rows reach the margin γ = {gamma:.3g}. Compatibility χ at this γ:"
        f" {before:.3f} with all features, {after:.3f} in k = {k} directions."
    )
    theorem = "pillar_theorem_1"
    values = {"gamma": gamma, "xi": missed, "gap": gap, "k": k, "epsilon": settings.epsilon}
    words = [f"{theorem}.{symbol}:{codec.code(float(value))}" for symbol, value in values.items()]
    controls = ";".join(["theory-view:theorems", f"theorem:{theorem}", *words])
    label = f"{navigation.title('playgrounds')}: Theorem 1 at this γ, ξ, Δ, k and ε"
    navigation.link("playgrounds", label, changes={"controls": controls})


def _spectrum(settings: Settings) -> None:
    separation = Separation(settings, standardise=_standardise())
    directions = basis(separation, geo.BasisKind.PUBLIC_PCA, _public_rows(settings))
    table = geo.spectrum(directions)
    k = min(settings.k, directions.rank) or None
    draw_figure(
        plots.spectrum_and_gaps,
        table,
        FigureInfo("spectrum_and_gaps", settings, [badges.PUBLIC]),
        k=k,
        rows=directions.n_rows,
    )


def _best(settings: Settings) -> None:
    epsilons = tuple(
        sorted({*(epsilon for epsilon in EPSILONS if math.isfinite(epsilon)), settings.epsilon})
    )
    predicted = predicted_curves(settings, epsilons)
    curve = grid.read(settings)
    method = grid.method_of(settings)
    runs = curve.table[(curve.table["method"] == method) & curve.table["accuracy"].notna()]
    at_budget = predicted[predicted["epsilon"] == settings.epsilon]
    seeds = settings.seeds if len(runs) else None
    is_drawn = settings.epsilon in set(runs["epsilon"])
    info = FigureInfo(
        "predicted_accuracy",
        settings,
        [badges.NON_PRIVATE, badges.THEORY],
        seeds if is_drawn else None,
        is_accuracy=True,
    )
    draw_figure(
        plots.predicted_accuracy,
        at_budget,
        info,
        runs[runs["epsilon"] == settings.epsilon],
        k=settings.k or None,
    )
    measured = intervals.by_budget(runs, method).get(settings.epsilon, pd.DataFrame())
    model = geo.best_k(at_budget)
    st.caption(
        intervals.compare_best_k(
            measured,
            ruled=core.rule_k(settings),
            predicted=int(model["k"].iloc[0]) if len(model) else None,
        )
    )
    st.caption(
        "Why they differ: the rule reads public facts alone, and the model takes each class for a"
        " Gaussian with independent directions. On four real sets the model's height was 3 to 13"
        " points off, mostly too high, and its k lost at most 2.8 points: read its k, not its"
        " height."
    )
    counts = core.class_counts(settings).query("part == 'private' and rows > 0")["rows"]
    if len(counts) > _MANY_CLASSES and counts.max() > 2 * counts.min():
        st.caption(
            ":orange[Many classes of unequal size]: a rougher guide. On such a set (GTSRB, 43"
            " classes) the predicted k lost up to 3 points of accuracy, and the curve was off by 3"
            " to 10. Measure before you trust it."
        )
    if len(runs) and not is_drawn:
        budgets = ", ".join(f"{epsilon:g}" for epsilon in sorted(set(runs["epsilon"])))
        st.caption(
            f"Measured curves exist at ε = {budgets}; choose one of those in the sidebar to see"
            " them on the prediction."
        )
    measured_best = geo.best_k(runs) if len(runs) else None
    best = geo.best_k(predicted)
    draw_figure(
        plots.best_k_against_epsilon,
        best,
        FigureInfo("best_k", settings, [badges.NON_PRIVATE, badges.THEORY], seeds),
        measured_best,
    )
    grid.panel(curve, settings)


def _standardise() -> bool:
    return bool(local.linked_value("standardise", False))


def _public_rows(settings: Settings) -> int | None:
    """A choice of how many public rows find the directions, from few to all; None for all."""
    total = core.split(settings).facts.n_public
    offered = [n for n in (20, 50, 100, 200, 500, 1000, 2000, 5000) if n < total]
    left, right = st.columns([1.6, 1], vertical_alignment="bottom")
    with right:
        local.toggle(
            "standardise",
            label="Standardise features",
            help=(
                "Divide each feature by its public standard deviation first, as the learners do."
                " Margins and gaps then change units."
            ),
        )
    chosen = local.slider(
        "n_public",
        [*offered, total],
        total,
        place=left,
        label="Public rows used",
        help=(
            "Few public rows find poor directions, and never more than their number less one. One"
            " eigendecomposition for each."
        ),
        form="{:,}",
    )
    return None if chosen == total else int(chosen)


def _with_pinned(table: pd.DataFrame, separation: Separation) -> pd.DataFrame:
    """ξ of the pinned A on its own public directions, where A looks at other rows."""
    settings = separation.settings
    pinned = codec.pins(settings).get("A")
    if pinned is None or all(
        getattr(pinned, name) == getattr(settings, name) for name in ("data", "backbone", "public")
    ):
        return table
    pinned_table = _xi_table(dataclasses.replace(separation, settings=pinned), ["public_pca"], None)
    return pd.concat([table, pinned_table.assign(basis="pinned")], ignore_index=True)


VIEWS = {"gain": _gain, "xi": _xi, "margins": _margins, "spectrum": _spectrum, "best": _best}
"""What draws each option of the page's control."""
