"""Screening by name, kept on disk: what a page or a job asks for is computed once and found again
after a reload.

`part` as a candidate is every tenth row of the private set, which then counts as public: ε does not
protect it. `own_half` is the set's own other half, a yardstick: its rows are private, so it is
refused where ε is spent. The private set is then what is left.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pillar_core import data, mode, screening, store
from pillar_core.backbones import is_ready
from pillar_core.backbones.devices import chosen_device
from pillar_core.data import uploads, visitors
from pillar_core.data.sets import embedded
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import splitting
from pillar_core.runs.loading import through_backbone
from pillar_core.runs.receipts import Account, Ranking
from pillar_core.runs.splitting import BACKBONE
from pillar_core.screening import class_signal
from pillar_core.screening.batches import MIXTURE, refuse_persons
from pillar_core.studies.screening.benefit import (
    candidate,
    measure_accuracies,
    reconstruction_errors,
    without_public,
)
from pillar_core.types import Dataset, FeatureSet, Form, Progress, Values, ignore_progress

R = TypeVar("R", Dataset, FeatureSet)
OWN_PART, OWN_HALF = "part", "own_half"
VERSION = 3
SEEDS = (0, 1, 2)
FEWEST = 50
PART_GIVEN = (
    " The split into private and public rows is treated as fixed: ε does not cover how it moves"
    " when a row is added."
)


@dataclasses.dataclass(frozen=True)
class Ask:
    """One question: `what` is ranking, angles, spectra, pairs, bound, training, accuracy or energy;
    the rest as in `screening`."""

    what: str
    private: str
    public: tuple[str, ...]
    model: str = "linear_head"
    k: int = 16
    n_examples: int = 200
    seed: int | None = 0
    score: str = "gsd"
    repeats: int = 3
    epsilon: float | None = None
    method: str = "gep"

    @classmethod
    def of(cls, payload: Values) -> Ask:
        """The question that `payload` wrote."""
        names = {field.name for field in dataclasses.fields(cls)}
        values: Form = {name: value for name, value in payload.items() if name in names}
        return cls(**values | {"public": tuple(values["public"])})

    @property
    def payload(self) -> Form:
        """As JSON."""
        return {"kind": "screening", **dataclasses.asdict(self), "public": list(self.public)}

    @property
    def settings(self) -> Form:
        """What most functions of `screening` take."""
        return {"model": self.model, "k": self.k, "n_examples": self.n_examples, "seed": self.seed}

    @property
    def is_paid(self) -> bool:
        """Whether the answer spends ε for good, with secret noise."""
        return self.seed is None and self.epsilon is not None and is_of_features(self)

    @property
    def key(self) -> str:
        """What the answer is kept under."""
        version = screening.SCORES[self.score].version if self.score in screening.SCORES else 1
        parts = dict.fromkeys(
            part.partition("~")[0]
            for name in (self.private, *self.public)
            for part in name.split("+")
        )
        every = (
            splitting.state(part) if part in data.DATASETS else data.state_of(part)
            for part in parts
        )
        states = [state for state in every if state]
        device = chosen_device("auto") if self.model.startswith("timm:") else "cpu"
        content = self.payload
        content |= {} if device == "cpu" else {"device": device}
        content |= {} if version == 1 else {"score_version": version}
        content |= {"states": states} if states else {}
        return fingerprint("screening", VERSION, content)


def stored_answer(ask: Ask) -> pd.DataFrame | None:
    """The answer from the store, or None. Raises StoreError: sets that are not here."""
    visitors.refuse_names(ask.payload)
    uploads.refuse_missing(ask.payload)
    entry = store.default().get_json("record", ask.key)
    if not isinstance(entry, dict) or "screening" not in entry:
        return None
    table = pd.DataFrame(entry["rows"], columns=entry["columns"])
    table = table.astype({name: float for name in ("low", "high") if name in table})
    table.attrs = entry["attrs"]
    return table


def answer(
    ask: Ask,
    progress: Progress = ignore_progress,
    *,
    sets: tuple[Any, dict[str, Any]] | None = None,
    key: str = "",
) -> pd.DataFrame:
    """The answer, from the store where it is there, else computed and stored, if no file changed
    meanwhile.

    sets: what `sets_of` or `feature_sets_of` gave, where it was called already, and `key`, the
    question's own from before that. Raises as the function that answers.
    """
    key = key or (ask.key if sets is None else "")
    stored = stored_answer(ask) if ask.key == key else None
    if stored is not None:
        return stored
    if ask.is_paid:
        mode.refuse("release")
        store.default().check_room()
    if is_of_features(ask):
        features, candidates = feature_sets_of(ask, progress) if sets is None else sets
        table = class_signal.ranking(
            features, candidates, epsilon=ask.epsilon, seed=ask.seed, aside=OWN_HALF
        )
        if ask.is_paid:
            Account(ask.private).keep(paid_ranking(ask.public, table))
    else:
        private, public = sets_of(ask) if sets is None else sets
        table = _computed(ask, private, public, progress)
    rows = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    if OWN_PART in ask.public and "guarantee" in table.attrs:
        table.attrs["guarantee"] += PART_GIVEN
    attrs = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in table.attrs.items()
    }
    if ask.key == key:
        store.default().remember_json(
            "record",
            key,
            {"screening": ask.what, "columns": list(table.columns), "rows": rows, "attrs": attrs},
        )
    return table


def paid_ranking(public: Sequence[str], table: pd.DataFrame) -> Ranking:
    """What an account keeps of a ranking by class sums with secret noise."""
    titles = (" + ".join(map(uploads.title_of, name.split("+"))) for name in public)
    return Ranking(
        tuple(titles), table.attrs["noise_multiplier"], OWN_PART in public, is_exact=True
    )


def sets_of(ask: Ask) -> tuple[Dataset, dict[str, Dataset]]:
    """(private set, candidates by name). Raises DataError: the own half where ε is spent. As
    `benefit.candidate`."""
    n = drawn_rows(ask)
    public = {name: images_of(name, n=n, seed=1) for name in ask.public if name not in _APART}
    return part_candidates(ask, images_of(ask.private, n=2 * n), public)


def feature_sets_of(
    ask: Ask, progress: Progress = ignore_progress
) -> tuple[FeatureSet, dict[str, FeatureSet]]:
    """(private set, candidates by name) through the default backbone; the private set's own parts
    are taken from its features.

    Raises as `sets_of` and `load_features`.
    """
    n = drawn_rows(ask)
    _refuse_private(ask)  # before anything goes through the backbone
    apart = [name for name in ask.public if name not in _APART]
    shares = [_share_of(progress, place, 1 + len(apart)) for place in range(1 + len(apart))]
    private = features_of(ask.private, n=2 * n, progress=shares[0])
    public = {
        name: features_of(name, n=n, seed=1, progress=share)
        for name, share in zip(apart, shares[1:], strict=True)
    }
    if private.names is not None:  # a table's columns are matched by name
        public = {name: splitting.match_private(rows, private)[0] for name, rows in public.items()}
    return part_candidates(ask, private, public)


def is_of_features(ask: Ask) -> bool:
    """Whether the answer compares features, through the default backbone, and no gradients of a
    model."""
    return ask.what == "ranking" and screening.SCORES[ask.score].is_of_features


def drawn_rows(ask: Ask) -> int:
    """How many rows of a drawn set a question draws, train and test together."""
    return math.ceil(
        FEWEST + 1.5 * ask.n_examples
    )  # images of a drawn set for each row that is compared: a fifth of them are test rows


def _every(step: int, data: R) -> tuple[R, R]:
    """(the other rows with the test rows, every so manieth row, or all rows of every so manieth
    person)."""
    owners = np.arange(len(data.x_train)) if data.persons is None else data.persons.of
    is_taken = owners % step == step - 1
    left, taken = (
        dataclasses.replace(
            data,
            x_train=data.x_train[rows],
            y_train=None if data.y_train is None else data.y_train[rows],
            persons=data.persons and data.persons.at(rows),
        )
        for rows in (~is_taken, is_taken)
    )
    others = taken.persons and dataclasses.replace(taken.persons, named=None)  # apart from the rest
    return left, dataclasses.replace(taken, x_test=None, y_test=None, persons=others)


_APART: dict[str, int] = {OWN_PART: 10, OWN_HALF: 2}


def part_candidates(ask: Ask, private: R, public: dict[str, R]) -> tuple[R, dict[str, R]]:
    """The private set without what of it is a candidate, and all candidates in the question's
    order."""
    _refuse_private(ask)
    for name, step in _APART.items():
        if name in ask.public:
            private, public[name] = _every(step, private)
    return private, {name: public[name] for name in ask.public}


def _refuse_private(ask: Ask) -> None:
    if OWN_HALF in ask.public and ask.epsilon is not None and ask.what == "ranking":
        raise DataError(
            "the private set's own half holds private rows: it is a yardstick for a diagnostic and"
            " no candidate under ε."
        )
    parts = [
        part
        for name in ask.public
        for part in name.split("+")
        if part not in data.DATASETS or not data.DATASETS[part].synthetic
    ]
    own = [
        part for part in parts if embedded.whole_of(part) == embedded.whole_of(ask.private)
    ]  # drawn ones are drawn anew
    if own and ask.epsilon is not None:
        raise DataError(
            f"the candidate {own[0]!r} holds rows of the private set itself, which ε would not"
            " protect then: leave it out."
        )


def images_of(name: str, *, n: int | None = None, seed: int = 0) -> Dataset:
    """A set of images by name: what a user brought, or as `benefit.candidate`; several joined by
    `+` make a mixture of equal shares.

    Raises DataError: rows that are no images. StoreError: rows that are not here. As
    `benefit.candidate`.
    """
    if "+" in name and not Path(name).exists():
        parts = [images_of(part, n=n, seed=seed) for part in name.split("+")]
        return screening.mixture(parts, name=name, seed=seed)
    images = uploads.load(name) if uploads.is_name(name) else candidate(name, n=n, seed=seed)
    if not isinstance(images, Dataset) or not images.is_images:
        what = "texts" if images.texts else "numbers"
        raise DataError(
            f"{images.name!r} holds {what}; this score compares images (npz with uint8 x_train,"
            " folder or zip): use class_signal."
        )
    return images


def _share_of(progress: Progress, place: int, of: int) -> Progress:
    """Progress of one set among several, as that of them all."""

    def report(done: int, total: int, message: str = "", /) -> None:
        progress(place * total + done, of * total, message)

    return report


def features_of(
    name: str, *, n: int | None = None, seed: int = 0, progress: Progress = ignore_progress
) -> FeatureSet:
    """Images by name through the default backbone, texts or a table; a mixture has equal shares of
    its parts' features, and no labels.

    Raises as `images_of` and `load_features`.
    """
    parts = [
        features_at_hand(part)
        or through_backbone(images_to_extract(part, n=n, seed=seed), BACKBONE, progress=progress)
        for part in name.split("+")
    ]
    if len(parts) == 1:
        return parts[0]
    refuse_persons(parts)
    least = min(len(part.x_train) for part in parts)
    rows = np.concatenate([part.x_train[:least] for part in parts])
    known = {MIXTURE: True}
    return dataclasses.replace(
        parts[0],
        x_train=rows,
        y_train=None,
        x_test=None,
        y_test=None,
        name=name,
        images=None,
        known=known,
    )


def features_at_hand(name: str) -> FeatureSet | None:
    """The features of texts, brought or registered, or of a table that was brought; None for
    images."""
    if name in data.DATASETS and data.DATASETS[name].kind == "texts":
        return splitting.load_named_features(name)
    card = uploads.card(name)
    rows = uploads.load(name) if card is not None and card.kind == uploads.FEATURES else None
    return rows if isinstance(rows, FeatureSet) else None


def images_to_extract(name: str, *, n: int | None = None, seed: int = 0) -> Dataset:
    """The images that go through the backbone: all where their features are at hand, else the train
    rows."""
    images = images_of(name, n=n, seed=seed)
    return (
        images
        if is_ready(images, backbone=BACKBONE)
        else dataclasses.replace(images, x_test=None, y_test=None)
    )


def rows_to_extract(ask: Ask) -> int:
    """Images that a ranking of features has to take through the backbone first."""
    n = drawn_rows(ask)
    if features_at_hand(ask.private) is not None:
        return 0
    parts = dict.fromkeys(
        part for name in ask.public for part in name.split("+") if part not in _APART
    )
    images = [
        images_to_extract(ask.private, n=2 * n),
        *(images_to_extract(part, n=n, seed=1) for part in parts),
    ]
    return sum(
        len(data_set.x_train) for data_set in images if not is_ready(data_set, backbone=BACKBONE)
    )


def overlap(private: str, public: str) -> int:
    """How many images of a candidate are, bit by bit, private rows: for whoever holds both sets,
    and never beside a private score."""
    first, second = images_of(private).x_train, images_of(public, seed=1).x_train
    if first.shape[1:] != second.shape[1:]:
        return 0
    return len(
        np.unique(
            data.duplicates(first.reshape(len(first), -1), second.reshape(len(second), -1))[:, 1]
        )
    )


def _computed(
    ask: Ask, private: Dataset, public: dict[str, Dataset], progress: Progress
) -> pd.DataFrame:
    """The answer to a question that reads images or their gradients."""
    settings, model = ask.settings, ask.model
    match ask.what:
        case "ranking":
            how: Values = {"scores": (ask.score,), "repeats": ask.repeats, "epsilon": ask.epsilon}
            table = screening.screen(private, public, progress=progress, **how, **settings)
            if ask.epsilon is None and screening.SCORES[ask.score].is_subspace_distance:
                # rows for the check that a set and itself lie at 0
                few = settings | {"n_examples": max(ask.k, min(ask.n_examples, 100))}
                table.attrs["self_distance"] = screening.gsd(private, private, **few)
        case "angles":
            table = screening.angles(private, public, **settings)
        case "spectra":
            del settings["k"]
            table = screening.spectra(private, public, **settings)
        case "bound":
            table = screening.reconstruction(private, public, **settings)
        case "pairs":
            table = screening.pairwise({ask.private: private, **public}, **settings)
        case "training":
            table = screening.over_training(private, public, progress=progress, **settings)
            table.attrs["order_kept"] = screening.order_kept(table)
        case "accuracy":
            epsilon = 2.0 if ask.epsilon is None else ask.epsilon
            shared: Values = {"epsilon": epsilon, "model": model, "seeds": SEEDS}
            table = measure_accuracies(
                private, public, method=ask.method, progress=progress, **shared
            )
            table.attrs["baseline"] = without_public(private, **shared)
        case "energy":
            labelled = {name: data for name, data in public.items() if data.y_train is not None}
            epsilon = 3.0 if ask.epsilon is None else ask.epsilon
            table = reconstruction_errors(
                private, labelled, k=ask.k, epsilon=epsilon, model=model, seed=settings["seed"]
            )
    return table
