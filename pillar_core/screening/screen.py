"""Rank public sets for a private one: every score of every candidate, with intervals, without
privacy or from one release."""

import functools
from collections.abc import Iterator, Mapping, Sequence

from pillar_core import checks, params
from pillar_core.data import uploads
from pillar_core.data.matching import shared_rows
from pillar_core.data.persons import refuse_shared
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError, SettingError
from pillar_core.rng import stream
from pillar_core.screening import class_signal
from pillar_core.screening.batches import preparation_notes, require_images
from pillar_core.screening.gsd import N_EXAMPLES, REPEATS, K, Side, require_one_width
from pillar_core.screening.models import model_of
from pillar_core.screening.ranking import Screening, with_noise, without_noise
from pillar_core.screening.release import LARGEST_PURE_K
from pillar_core.screening.scores import SCORES
from pillar_core.subspace import GRAM_PARAMETERS
from pillar_core.types import Dataset, FeatureSet, Progress, ignore_progress


def screen(
    private: Dataset | FeatureSet,
    public: Mapping[str, Dataset | FeatureSet],
    *,
    scores: Sequence[str] = ("gsd",),
    model: str = "probe",
    k: int = 16,
    n_examples: int = 2000,
    repeats: int = 3,
    epsilon: float | None = None,
    seed: int | None = 0,
    delta: float = 1e-5,
    allow_overlap: bool = False,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """One row per candidate and score, best first: public, score, value, low, high, rank,
    n_examples, provenance, epsilon_upper.

    value: mean over repeats (new rows, labels and network start each), smaller is closer; low and
    high: 95 % interval of it (Student's t over repeats), NaN with one repeat. `attrs` holds notes,
    the random-subspace null and the gradients' width.

    Without `epsilon` everything is a non-private diagnostic. With it, one release of the private
    rows' sketched gradients at (epsilon, delta), add/remove, ranks all candidates; value, low and
    high then come from it, its noise and new public rows. `n_examples` is then the expected number
    of private rows, each of which enters independently of the others.

    `class_signal`, asked for alone, compares features and private labels (feature sets, or data
    sets of numbers): all private rows, no model, k, sample or repeats; intervals are of the noise
    alone. See `screening.class_signal`.

    Guarantee: `epsilon_upper` bounds what the whole table reveals (public size, secret noise,
    sample and labels; a known seed is an experiment); `attrs["guarantee"]` says it in words.
    Raises SettingError, UnknownNameError: settings. DataError: sets that cannot be compared, too
    few rows, public rows that are private rows (unless allow_overlap), persons on both sides, the
    private set itself or no named classes under ε. UnsupportedError: ε for a score without a
    private form.

    >>> digits, shapes = pc.load_dataset("digits"), pc.load_dataset("drawn_digits")
    >>> table = pc.screen(digits, {"drawn": shapes}, k=4, n_examples=100, repeats=1)
    >>> table[["public", "score", "rank"]].to_dict("records")
    [{'public': 'drawn', 'score': 'gsd', 'rank': 1}]
    """
    checks.within(
        k=(k, K),
        n_examples=(n_examples, N_EXAMPLES),
        repeats=(repeats, REPEATS),
        seed=(seed, params.SEED),
        delta=(delta, params.DELTA),
    )
    refuse_shared(private, *public.values())
    if epsilon is not None and not allow_overlap:
        refuse_private(private, public)
    if class_signal.NAME in scores:
        if len(scores) > 1:
            raise SettingError(
                f"{class_signal.NAME} compares features and shares no release with other scores:"
                " ask for it alone."
            )
        has_labels = private.y_train is not None and not private.classes
        if epsilon is not None and isinstance(private, Dataset) and has_labels:
            raise DataError(
                f"{private.name!r} names no classes, and how many there are must not be read off"
                " private labels: pass classes."
            )
        features = class_signal.as_features(private)
        sets = {name: class_signal.as_features(data) for name, data in public.items()}
        if not allow_overlap and epsilon is None:
            refuse_overlap(features, sets)
        return class_signal.ranking(features, sets, epsilon=epsilon, delta=delta, seed=seed)
    rows = _as_dataset(private if epsilon is None else class_signal.first_of_each_person(private))
    candidates = {name: _as_dataset(data) for name, data in public.items()}
    chosen = model_of(model)
    names = tuple(SCORES[name].name for name in scores)
    if not candidates or not names:
        raise SettingError("screen needs at least one public set and one score.")
    require_one_width([rows, *candidates.values()], chosen)
    if not allow_overlap and epsilon is None:  # with ε it would be a membership test without noise
        refuse_overlap(rows, candidates)
    common = int(stream(None).integers(2**62)) if seed is None else seed
    task = Screening(
        rows,
        len(rows.x_train),
        candidates,
        names,
        chosen,
        k,
        n_examples,
        repeats,
        seed,
        common,
        progress or ignore_progress,
    )
    for name, data in {rows.name: rows, **candidates}.items():
        offer = min(len(data.x_train), n_examples)
        if offer < k:
            raise DataError(
                f"{uploads.title_of(name)!r} offers {offer} rows, fewer than k = {k}: lower k or"
                " bring more rows."
            )
    side_of = functools.partial(
        Side, model=chosen, n_examples=n_examples, seed=common, repeats=repeats
    )
    sides = {name: side_of(data) for name, data in candidates.items()}
    if epsilon is None:
        table = without_noise(task, side_of(rows), sides)
    else:
        if not chosen.takes_numbers:
            require_images(rows, chosen.name)
        table = with_noise(task, sides, epsilon, delta)
        table.attrs["guarantee"] += class_signal.ONE_EACH if private.persons else ""
    table.attrs["notes"] = (
        *preparation_notes([rows, *candidates.values()], chosen.input_size),
        *_notes(task, int(table.attrs["width"])),
    )
    return table


def _as_dataset(rows: Dataset | FeatureSet) -> Dataset:
    """Features as rows of numbers, of which the linear head takes gradients."""
    return (
        rows
        if isinstance(rows, Dataset)
        else Dataset(rows.name, rows.x_train, rows.y_train, classes=rows.classes)
    )


def refuse_overlap(
    private: Dataset | FeatureSet, public: Mapping[str, Dataset | FeatureSet]
) -> None:
    """Refuses public rows that are, bit by bit, private rows. Raises DataError: naming the set and
    the first rows."""
    for name, data in public.items():
        if data.x_train.shape[1:] != private.x_train.shape[1:]:
            continue
        x_private, x_public = (
            side.x_train.reshape(len(side.x_train), -1) for side in (private, data)
        )
        shared = shared_rows(x_private, x_public, are_texts=bool(private.texts))
        if shared is not None and not shared.is_chance:
            raise DataError(
                f"{shared} of the set {uploads.title_of(name)!r} are, bit by bit, private rows"
                f" (private rows {shared.first}): its distance would be too small and the rows are"
                " not public. Remove them, or allow the overlap to study them all the same."
            ).naming(allow_overlap=())


def refuse_private(
    private: Dataset | FeatureSet, public: Mapping[str, Dataset | FeatureSet]
) -> None:
    """Refuses the private rows themselves as a candidate under ε, by what was passed: comparing
    values would be a test without noise.

    Raises DataError: naming the candidate.
    """
    for name, data in public.items():
        if data is private or data.x_train is private.x_train:
            raise DataError(
                f"the candidate {uploads.title_of(name)!r} is the private set itself, whose rows ε"
                " would not protect then: leave it out."
            )


def _notes(task: Screening, width: int) -> Iterator[str]:
    """Notes of a ranking: which sets decided m, what the pure form cannot tell, and directions that
    are not exact."""
    sizes = {
        name: len(data.x_train)
        for name, data in (*task.public.items(), (task.private.name, task.private))
    }
    short = {name: size for name, size in sizes.items() if size < task.n_examples}
    if short:
        counts = ", ".join(f"{uploads.title_of(name)} {count:,}" for name, count in short.items())
        yield (
            f"Fewer rows than the {task.n_examples:,} asked for: {counts}. A pair uses the smaller"
            " count; repeats then differ in labels."
        )
    pure = [name for name in task.scores if SCORES[name].private_form == "directions"]
    if pure and task.k > LARGEST_PURE_K:
        yield (
            f"{', '.join(pure)} draws each of {task.k} directions at ε/{task.k}: with a few"
            " thousand rows they are close to random, and so is the order. Take k ≤"
            f" {LARGEST_PURE_K}, or gsd, whose one Gaussian release serves every k."
        )
    if width > GRAM_PARAMETERS:
        yield (
            f"{width:,} numbers in a gradient: directions by a randomised SVD of two passes over"
            " each set, not by the exact Gram matrix."
        )
