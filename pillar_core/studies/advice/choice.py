"""The paid choice: private rows say which public set to take, within ε, and the learner is trained
with the rest of it.

One Gaussian release of the private rows' class sums, around a centre that public rows fix, with
`SHARE` of μ². All else is read off it: the class signal that each set's directions keep, and that
of all features, which decides whether no public set is taken, and whether a table lies elsewhere
than the private rows (`screening.elsewhere`), which then loses to none.

Guarantee: (ε, δ) for choice and training together, the same whatever is chosen. A row enters one
column of the sums with norm at most 1, so they are one Gaussian of √SHARE·μ (a replaced row 2, a
person with m rows m). Each set's training is solved before the choice and refused unless all its
releases are Gaussians of at most √(1 − SHARE)·μ together, so that one Gaussian of that μ dominates
it whichever it is (Dong, Roth & Su 2022, Corollary 3.3, Theorem 3.2): curves that cross could not
be charged by the one that was chosen. Public size. Exact. The backbone costs nothing: it is a
function of labelled public rows, the budget and the numbers of private rows and classes, which
neighbours share, as `blind` leaves nothing else. So the argument holds for each backbone, and for
the one that is taken. Source: ours; rule and shares measured in docs/public_data.md.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import accounting, checks, splits, texts
from pillar_core import ledger as events
from pillar_core.arrays import Array
from pillar_core.backbones.cards import fit_of, identity_of
from pillar_core.data import load, raw, uploads
from pillar_core.data.encoding import misfits, refuse_misfits
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import Ledger, compose, describe
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.metrics import FIGURES
from pillar_core.numerics import round_up
from pillar_core.rng import Streams
from pillar_core.runs.loading import load_features
from pillar_core.runs.run import RunPlan, run_many, solve
from pillar_core.runs.splitting import (
    beside,
    is_known,
    load_named_features,
    match_private,
    named,
    public_features,
    unmapped,
)
from pillar_core.runs.splitting import split as split_of
from pillar_core.screening import class_signal
from pillar_core.screening.elsewhere import column_elsewhere
from pillar_core.splits.basis import has_units, moments
from pillar_core.studies.advice import prediction
from pillar_core.studies.advice.prediction import NONE, OWN, Predicted, Prediction, kind_of, predict
from pillar_core.studies.advice.simulation import (
    blind,
    can_play,
    metric_of,
    plays,
    with_own_classes,
)
from pillar_core.studies.compare.learners import obstacle
from pillar_core.studies.tuning import guarantee_of, refuse_more_than
from pillar_core.types import (
    Dataset,
    FeatureSet,
    Guarantee,
    NeighboringRelation,
    PrivacyBudget,
    RunRecord,
    SemiPrivateSplit,
    is_of_text,
)

STRANGE = "pillar_kalman"
"""The learner for public rows that turn out unlike the private ones: it believes no label of
theirs."""
SHARE = 0.2
"""Of μ² that the choice spends."""
ROOM = 1e-9
"""What μ is lowered by, so that no rounding passes ε."""
CLEAR = 20.0
"""Standard deviations of noise that the signal of all features must reach before no public set is
taken: below, projecting was ahead."""
NEAR = 0.15
"""Share of that signal which a set like the private rows keeps: 0.33 to 0.73 where measured, and
0.05 at most from elsewhere."""
CHOSEN_WITHIN = (
    "the public set, and whether its labels are believed, was chosen on private rows by one noisy"
    " sum that ε counts, the learner otherwise from public rows alone"
)


@dataclasses.dataclass(frozen=True)
class Choice(Predicted):
    """What was chosen and trained, on `split`. `public`: a candidate's name, "own" or "none";
    `expected`: what was predicted of it."""

    public: str
    backbone: str | None
    method: str
    settings: Mapping[str, Any]
    record: RunRecord
    split: SemiPrivateSplit
    expected: Prediction
    reasons: tuple[str, ...]

    @property
    def guarantee(self) -> Guarantee:
        """What choice and training promise together."""
        return self.record.guarantee

    @property
    def sentence(self) -> str:
        """The choice in one sentence."""
        upper = round_up(self.guarantee.epsilon.upper)
        public = {NONE: "no public rows", OWN: "the public rows at hand"}.get(
            self.public, f"*{uploads.title_of(self.public)}* as public data"
        )
        return (
            f"Use {public}, {METHODS[self.method].title}; {self.expected.words}. ε ≤ {upper} covers"
            " the choice and this training."
        )


def choose(
    private: Any,
    candidates: Mapping[str, Any] | Sequence[str],
    *,
    epsilon: float,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    backbones: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metric: str | None = None,
    seed: int | None = 0,
) -> Choice:
    """The public set that suits the private rows, asked of these within (ε, δ), and the model that
    was trained with it.

    private: what `load_features` takes, or a split, whose public rows are then a candidate by the
    name "own". candidates: public sets by name, or a list of sets
    (their names say which), of registered names or of files. No public rows, "none", are always
    one. backbones: what all images may go through, or all texts of tables; of several, the one is
    taken whose learners do best when they are played on labelled public rows, which costs no ε; the
    first unless it is clear. methods: learners to take from, by default those that free advice
    prefers. metric: as in `advise`. seed: as in `run`; None draws secret noise.

    Guarantee: see the module; `Choice.guarantee`.
    Raises DataError: private rows without labels, or candidates none of which fits. BudgetError,
    SettingError: a budget, relation or name that cannot be, or weights that are not here.
    UnsupportedError: ε = ∞, backbones for other rows than they take, or a learner that is no full
    Gaussian run.

    >>> digits = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> choice = pc.choose(digits, {}, epsilon=2.0)
    >>> choice.public, choice.guarantee.epsilon.upper <= 2.0
    ('own', True)
    """
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))
    if math.isinf(epsilon):
        raise UnsupportedError("without noise nothing is paid; lower ε.")
    total = accounting.mu_of(epsilon, delta) * (1 - ROOM)
    rest = total * math.sqrt(1 - SHARE)
    after = dataclasses.replace(budget, epsilon=accounting.epsilon_of_mu(rest * (1 - ROOM), delta))
    checks.one_of(FIGURES, metric=metric or FIGURES[0])
    names = list(dict.fromkeys(backbones or ()))
    if some := [name for name in names if fit_of(name) is not None]:
        raise UnsupportedError(
            f"a paid choice takes columns as given, and not through {' or '.join(some)}: signals"
            " of other columns are no comparable numbers. Leave these backbones out."
        )
    private, of_columns = _columns_as_given(private)
    backbone, rehearsal = (names[0] if names else None), list[str]()
    if len(names) > 1:
        for each in names:
            identity_of(each)
        if not all(map(texts.is_encoder, names)):
            candidates = {name: _images(data, name) for name, data in named(candidates).items()}
            if not isinstance(private, SemiPrivateSplit):
                private = _images(private, "the private rows")
        reached = {
            name: _played(_sides(private, candidates, name)[0], after, methods, seed or 0, metric)
            for name in names
        }
        backbone, *rehearsal = _best_backbone(reached)
    sides, refused = _sides(private, candidates, backbone)
    alone = sides[NONE]
    wanted, metric = metric, metric or metric_of(*sides.values())
    firsts = {
        name: _learner(name, blind(rows), after, methods, seed or 0, metric, wanted)
        for name, rows in sides.items()
    }
    trainings = {
        name: _training(firsts[name].method, rows, after, seed, wanted)
        for name, rows in sides.items()
    }
    unbelieved = {
        name: dataclasses.replace(rows, public_y=None, memo=Memo())
        for name, rows in sides.items()
        if name != OWN and kind_of(rows) == "labelled" and STRANGE in (methods or [STRANGE])
    }
    strange = {
        name: _training(STRANGE, rows, after, seed, None) for name, rows in unbelieved.items()
    }
    for plan in (*trainings.values(), *strange.values()):
        refuse_more_than(rest * (1 - ROOM), plan, budget.relation)
    factor = 2.0 if budget.relation is NeighboringRelation.REPLACE_ONE else 1.0
    most = alone.rows_per_person or 1
    noise_multiplier = _noise_of_choice(total, factor * most)
    identity = fingerprint(
        "choice", noise_multiplier, [rows.fingerprint for rows in sides.values()]
    )
    name, is_near, why = _choose_set(sides, noise_multiplier, Streams(seed, identity))
    trained_as = trainings[name] if is_near else strange.get(name, trainings[name])
    side = sides[name] if is_near else unbelieved.get(name, sides[name])
    record = run_many([trained_as], side)[0]
    asked = events.of_person(events.gaussian(noise_multiplier), most)
    trained = events.gaussian(factor / rest)
    assumptions = (*record.guarantee.assumptions, CHOSEN_WITHIN)
    guarantee = guarantee_of(
        compose(asked, trained),
        delta,
        "auto",
        assumptions,
        alone.rows_per_person,
        budget.relation,
    )
    of_backbone = f"the backbone {backbone} and " * bool(rehearsal)
    named_choice = (
        f"the public set {uploads.title_of(name)!r} was chosen on private rows, {of_backbone}the"
        f" learner {METHODS[record.method].title} from"
        f" {'public rows' if trained_as is trainings[name] else 'the same sum'} alone; the"
        f" choice is charged as {describe(asked)[0]}, all releases of"
        f" the training together as {describe(trained)[0]}"
    )
    record = dataclasses.replace(
        record, guarantee=dataclasses.replace(guarantee, paid_choice=named_choice)
    )
    first = firsts[name]
    # what holds for rows like the private ones does not hold for these
    if not is_near and kind_of(sides[name]) in ("labelled", "unlabelled"):
        first = predict(name, STRANGE, blind(sides[name]), after, seed or 0, metric, "foreign")
    price = (
        f"paid: {SHARE:.0%} of μ² of the total ε = {epsilon:g} went into the choice among"
        f" {len(sides)}, the rest into training"
    )
    left_out = (
        f"{uploads.title_of(candidate)} is left out: {reason}"
        for candidate, reason in refused.items()
    )
    reasons = (
        *misfits(alone.features.notes),
        *why,
        *of_columns,
        *rehearsal,
        *first.narrower,
        price,
        prediction.held_words(first.held),
        *left_out,
    )
    return Choice(
        name,
        backbone,
        record.method,
        record.settings,
        first.state(record),
        side,
        first,
        reasons,
    )


def _columns_as_given(private: Any) -> tuple[Any, tuple[str, ...]]:
    """The private rows without the map of columns that they were to go through, and what is then
    said."""
    features = private.features if isinstance(private, SemiPrivateSplit) else private
    if not isinstance(features, FeatureSet) or fit_of(features.backbone) is None:
        return private, ()
    said = (
        f"columns were taken as given, and not through {features.backbone}: a paid choice compares"
        " no maps of columns",
    )
    if isinstance(private, SemiPrivateSplit):
        return unmapped(private), said
    return dataclasses.replace(features.given or features, backbone="identity"), said


def _noise_of_choice(mu: float, moves: float) -> float:
    """The noise multiplier of the sums for `SHARE` of μ², where a person moves them by so much."""
    return moves / (mu * math.sqrt(SHARE))


def _sides(
    private: Any, candidates: Mapping[str, Any] | Sequence[str], backbone: str | None
) -> tuple[dict[str, SemiPrivateSplit], dict[str, str]]:
    """The same private rows beside each candidate and beside none, by name; and why other
    candidates do not fit."""
    sets = named(candidates)
    sides, refused = dict[str, SemiPrivateSplit](), dict[str, str]()
    if isinstance(private, SemiPrivateSplit):
        if private.settings.get("public") is not None:
            raise SettingError(
                "the split's public rows were brought from elsewhere: split without them, and name"
                " them as a candidate."
            )
        if backbone not in (None, private.features.backbone):
            private = _through(private, backbone)
        sides |= {OWN: private} if len(private.public_x) else {}
    else:
        private = split_of(_features(private, backbone))
    rows, alone = private.features, splits.beside(private, None)
    if reserved := sorted({OWN, NONE} & {*sets}):
        raise SettingError(
            f"{reserved[0]!r} stands for"
            f" {'a part of the private rows' if reserved[0] == OWN else 'no public rows'};"
            " rename it."
        )
    if rows.y_train is None:
        raise DataError(
            f"{rows.name!r} has no labels, which a choice needs; bring labels of the private rows."
        )
    for name, data in sets.items():
        # by what is public alone: a set that private rows rule out, because they are in it, ends
        # the choice
        try:
            is_ready = isinstance(data, FeatureSet) and not texts.is_encoder(backbone)
            public = data if is_ready else _features(data, backbone, rows)
            refuse_misfits(public.notes)
            blind(alone, match_private(public, rows)[0])
        except DataError as problem:
            refused[name] = str(problem)
        else:
            sides[name] = beside(private, public)
    if not sides:
        whys = [f"{uploads.title_of(name)}: {why}" for name, why in refused.items()]
        raise DataError(*(whys or ["name at least one public set to choose from."]))
    sides[NONE] = alone
    return sides, refused


def _played(
    rows_of: Mapping[str, SemiPrivateSplit],
    budget: PrivacyBudget,
    methods: Sequence[str] | None,
    seed: int,
    metric: str | None,
) -> dict[str, float]:
    """What learners reach on labelled public rows, by set: on rows drawn from the private set where
    there are any, else on each candidate in its classes. Guarantee: as `blind`."""
    sides = {name: blind(rows) for name, rows in rows_of.items()}
    played = {name: with_own_classes(rows) for name, rows in sides.items()}
    able = [name for name, rows in played.items() if can_play(rows)]
    played_on = [OWN] if OWN in able else able
    reached = {}
    for name in played_on:
        of = metric or metric_of(played[name])
        method = _learner(name, sides[name], budget, methods, seed, of, metric).method
        reached[name] = plays(method, played[name], budget, seed, wanted=metric)[of]
    return reached


def _best_backbone(reached: Mapping[str, Mapping[str, float]]) -> tuple[str, str]:
    """The backbone through which learners `_played` best, and why; the first stays unless another
    is above it by `MARGIN`, where no rows were drawn from the private set."""
    first = next(iter(reached))
    common = [name for name in reached[first] if all(name in of_set for of_set in reached.values())]
    if not common:
        return first, (
            "no candidate has labels enough to rehearse on, so the first backbone was taken:"
            f" {first}"
        )
    means = {
        backbone: float(np.mean([of_set[name] for name in common]))
        for backbone, of_set in reached.items()
    }
    shares = ", ".join(
        f"{backbone} {100 * means[backbone]:.0f} %"
        for backbone in sorted(means, key=lambda name: -means[name])
    )
    needed = 0.0 if common == [OWN] else prediction.MARGIN
    best = max(means, key=lambda name: means[name] - needed * (name != first))
    return best, (
        f"free: learners played on labelled public rows ({', '.join(common)}): {shares}; {best}"
        " was taken"
    )


def _images(source: Any, name: str) -> Dataset:
    """The images behind a source, which several backbones need."""
    if isinstance(source, str) and is_known(source):
        rows = uploads.load_rows(source)
    else:
        rows = load(source)
    images = rows.images if isinstance(rows, FeatureSet) else rows
    if images is None or not images.is_images or len(images.x_train) != len(rows.x_train):
        raise UnsupportedError(
            f"several backbones need images, and {name} holds none: pass data sets of images, or"
            " name one backbone."
        )
    labels = {name: getattr(rows, name) for name in ("y_train", "y_test", "classes", "persons")}
    return dataclasses.replace(images, **labels)


def _through(split: SemiPrivateSplit, backbone: str) -> SemiPrivateSplit:
    """The split with the same rows in each role, its images or texts through another backbone."""
    rows = split.features if texts.is_encoder(backbone) else _images(split.features, "the split")
    features = load_features(rows, backbone)
    public = np.setdiff1d(
        np.arange(len(features.x_train)), np.concatenate([split.private, split.validation])
    )
    if len(split.public_x) and not np.array_equal(split.features.x_train[public], split.public_x):
        raise UnsupportedError(
            "several backbones need to know which rows are public: split them without persons or"
            " imbalance."
        )
    public = public[: len(split.public_x)]
    return dataclasses.replace(
        split,
        features=features,
        public_x=features.x_train[public],
        text_embeddings=None,
        memo=Memo(),
    )


def _features(source: Any, backbone: str | None, private: FeatureSet | None = None) -> FeatureSet:
    if private is not None:
        return public_features(source, private, backbone)
    if isinstance(source, str) and is_known(source):
        return load_named_features(source, backbone)
    return load_features(source, backbone)


def _private_rows(split: SemiPrivateSplit) -> FeatureSet:
    """The private rows of a split, with their labels, as a set of their own."""
    features, rows = split.features, split.private
    labels = None if features.y_train is None else features.y_train[rows]
    return dataclasses.replace(
        features, x_train=features.x_train[rows], y_train=labels, persons=None, images=None
    )


def _learner(
    name: str,
    rows: SemiPrivateSplit,
    budget: PrivacyBudget,
    methods: Sequence[str] | None,
    seed: int,
    metric: str,
    wanted: str | None,
) -> Prediction:
    """The learner for one public set, from public rows alone."""
    kind = kind_of(rows)
    known = prediction.FITTED[metric][kind]["learners"]
    if methods is None and kind == "foreign":
        known = [STRANGE]
    predictions = [
        predict(name, method, rows, budget, seed, metric, wanted=wanted)
        for method in known
        if methods is None or method in methods
    ]
    if methods is None:
        return prediction.preferred_prediction(predictions, rows)
    if predictions:
        return max(predictions, key=lambda prediction: prediction.middle)
    able = [method for method in methods if not obstacle(METHODS[method], rows)]
    if not able:
        raise SettingError(
            f"none of the methods {', '.join(methods)} fits the public set {name!r}; name one that"
            " does."
        )
    return Prediction(name, able[0], (0.0, 1.0), 0.5, metric, n_classes=rows.facts.n_classes)


def _training(
    method: str,
    rows: SemiPrivateSplit,
    budget: PrivacyBudget,
    seed: int | None,
    wanted: str | None,
) -> RunPlan:
    spends = {} if METHODS[method].budget_setting is None else {"epsilon": budget.epsilon}
    asked = {"delta": budget.delta, "relation": str(budget.relation), "metric": wanted}
    return solve(method, rows, **spends, **asked, seed=seed)


def _choose_set(
    sides: Mapping[str, SemiPrivateSplit], noise_multiplier: float, streams: Streams
) -> tuple[str, bool, tuple[str, ...]]:
    """(the name of the choice, whether its rows look like the private ones, why), from one release
    of the private rows' class sums. What lies elsewhere loses to no public rows."""
    alone = sides[NONE]
    public = {name: rows.public_x for name, rows in sides.items() if name != NONE}
    centre, scale = _coordinates(public, alone.features)
    bases = {
        name: class_signal.Candidate.of(class_signal.unit(x[: class_signal.ROWS], centre, scale))
        for name, x in public.items()
    }
    noise = streams.secret("choice")
    private = _private_rows(alone)
    release = class_signal.release_class_sums(
        private,
        alone.facts.n_private,
        centre,
        scale=scale,
        noise_multiplier=noise_multiplier,
        noise=noise,
        ledger=Ledger(),
    )
    elsewhere = _elsewhere(release, sides, centre, scale)
    signals = {
        name: float(class_signal.signal(release, basis)[0])
        for name, basis in bases.items()
        if name not in elsewhere
    }
    said = tuple(elsewhere.values())
    if not signals:
        return NONE, False, said
    best = max(signals, key=lambda name: signals[name])
    apart = release.sums - release.sums.mean(axis=1, keepdims=True)
    places = len(centre) * (private.n_classes - 1)
    total_signal = float(np.square(apart).sum()) - places * release.noise_std**2
    clear = total_signal / (math.sqrt(2 * places) * release.noise_std**2)
    share = signals[best] * release.n**2 / private.n_classes / total_signal
    title = uploads.title_of(best)
    kept = f"{share:.0%}, the most" if share <= 1 else "the most, around a mean like theirs"
    name, is_near, why = best, True, f"of which {title} keeps {kept}"
    if clear < CLEAR:
        is_near = best == OWN
        why = f"too little to do without directions: {title} keeps the most"
    elif best != OWN and share < NEAR:
        name, is_near = NONE, False
        why = f"and {title}, the best set, keeps {share:.0%} of it: all features keep more"
    strength = (
        f"the signal of all features is {max(clear, 0.0):.1f} standard deviations of the release's"
        " noise"
    )
    return name, is_near, (*said, f"{strength}, {why}")


def _coordinates(public: Mapping[str, Array], rows: FeatureSet) -> tuple[Array, Array | None]:
    """The (d,) centre, and scale or None, that public rows give the class sums.

    Of columns with names they are the medians over the candidates, which one bad set among three
    cannot move; where the split has public rows of its own, theirs. Such columns are scaled where
    learners standardise them, so that each counts, whatever its unit.
    """
    if rows.names is None:
        return class_signal.public_centre(list(public.values())), None
    block = rows.text_block
    of_sets = [public[OWN]] if OWN in public else list(public.values())
    scales = any(has_units(x, block) for x in of_sets)
    found = [moments(x, standardise=scales, centre=True, block=block) for x in of_sets]
    means, spreads = zip(*found, strict=True)
    centre: Array = np.median(means, axis=0).astype(np.float32)
    return centre, np.median(spreads, axis=0).astype(np.float32) if scales else None


def _elsewhere(
    release: class_signal.ClassSums,
    sides: Mapping[str, SemiPrivateSplit],
    centre: Array,
    scale: Array | None,
) -> dict[str, str]:
    """Of the sets whose columns have names, those that lie elsewhere than the private rows: a
    sentence each.

    Not asked of the numbers of a text, which have no unit, of private rows that were drawn as
    public ones, and of made-up rows, which are like nobody's.
    """
    alone = sides[NONE]
    names = alone.features.names or ()
    judged = np.flatnonzero([not is_of_text(name) for name in names])
    said = {}
    for name, rows in sides.items():
        if name in (OWN, NONE) or rows.public_name == raw.MADE_UP_NAME or not len(judged):
            continue
        column = column_elsewhere(
            release,
            class_signal.unit(rows.public_x, centre, scale),
            rows.public_y,
            judged,
            n_sets=len(sides) - 1,
            rows_per_person=alone.rows_per_person or 1,
        )
        if column is not None:
            said[name] = (
                f"{uploads.title_of(name)} lies elsewhere than the private rows, furthest in the"
                f" column {names[column]!r}, so it was not taken: another unit, other persons or"
                " another share of classes would look so"
            )
    return said
