"""Bad arguments of what the public face lets be called: NaN, negative, out of range, a wrong word
or shape get an error of ours."""

import dataclasses
import inspect
import math
import pickle
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import accounting, auditing, geometry, rng, screening, theory, types
from pillar_core.engine import HeadPlan
from pillar_core.errors import DataError, PillarError, SettingError, UnknownNameError
from pillar_core.ledger import gaussian
from pillar_core.runs import sweep as sweeps
from pillar_core.types import Dataset, NeighboringRelation, PrivacyBudget

GRID = {
    "dataset": "gaussian_mixture",
    "dataset_settings": {"n": 20, "n_test": 4, "d": 3},
    "method": "only_public",
    "public_fraction": 0.5,
}
FREE = {
    "accounting.delta_of: epsilon",
    "accounting.calibration_key: relative_tolerance",
    "screening.interval: values",
}
"""Numbers of any sign, and those of which only a key is made."""


def nouns():
    """What a hurried hand passes in the place of another thing, by the word of an annotation that
    takes it."""
    x, y = np.eye(4, dtype=np.float32), np.arange(4) % 2
    split = pc.split(pc.features(x, y), public_fraction=0.5)
    record = pc.run("only_public", split)
    plain = {
        "None": None,
        "str": "no-such-thing",
        "int": 3,
        "float": 0.5,
        "list": [[1], [2, 3]],
        "dict": {"a": 1},
        "object": object(),
    }
    kinds = [
        Dataset("numbers", x, y),
        split.features,
        split,
        record,
        record.guarantee,
        record.guarantee.epsilon,
        record.classifier,
    ]
    kinds += [
        split.facts,
        types.Persons(y, 1),
        PrivacyBudget(1.0),
        types.RunSpec("pillar"),
        types.Unit(),
        record.public_use,
    ]
    return plain | {type(kind).__name__: kind for kind in kinds}


TAKEN_FOR = {
    "None": ("None", "Progress"),
    "str": ("str", "Path", "NeighboringRelation", "BasisKind", "Fault"),
    "int": ("int", "float"),
    "float": ("float", "int"),
    "list": ("Sequence", "Collection", "tuple", "Array"),
    "dict": ("Mapping", "Sequence", "Collection", "Values", "tuple"),
    "PublicUse": ("str", "NeighboringRelation", "BasisKind", "Fault"),
    "FeatureSet": ("FeatureSet", "Mapping"),
    "Dataset": ("Dataset", "Mapping"),
}
"""Words of annotations that may take what is called so, or refuse it: by itself, as one of several,
or by its range or its name."""


def calls():
    """A valid, cheap call of each function that takes numbers, words or arrays."""
    x = rng.stream(0, "bad arguments").standard_normal((12, 4)).astype(np.float32)
    y, scores, vectors = np.arange(12) % 2, np.arange(4.0), np.eye(3)
    data = Dataset("numbers", x, y, x[:4], y[:4], ("a", "b"))
    split = pc.split(pc.features(x, y, x[:4], y[:4], ["a", "b"]), public_fraction=0.5)
    event, curve, relation = (
        gaussian(2.0),
        accounting.TradeOff("gaussian", mu=1.0),
        NeighboringRelation.ADD_OR_REMOVE_ONE,
    )
    rows = geometry.rows_of(split)
    basis, found = geometry.basis_of(rows), geometry.separators(rows, ((0, 1),))
    placed = geometry.coordinates(rows, basis)
    plan = HeadPlan(steps=1, learning_rate=1.0, noise_multiplier=1.0, l2_clip_norm=1.0, n_private=2)
    graph = theory.component_graph(x > 0)
    small = {"model": "linear_head", "k": 1, "n_examples": 4}
    sets = {"private": data, "public": {"other": data}, **small}
    mixture = {"epsilon": 1.0, "k": 1, "theta": 0.1, "sigma": 0.5}
    sides, claim = (
        {"members": scores, "others": scores},
        {
            "claimed": curve,
            "trials": 10,
            "significance": 0.05,
        },
    )
    run = {
        "method": "pillar",
        "split": split,
        "epsilon": 1.0,
        "steps": 1,
        "k": 1,
        "learning_rate": 1.0,
    }
    folder = tempfile.mkdtemp()

    def fit_with(**named):
        return pc.PrivateClassifier(**named).fit(x, y)

    fit_with.__signature__ = inspect.signature(pc.PrivateClassifier)
    return {
        fit_with: {"method": "dp_raft"},
        pc.load_dataset: {"name": "digits"},
        pc.load_images: {"path": folder},
        pc.load_model: {"path": folder},
        pc.save_model: {"record": pc.run("only_public", split), "path": f"{folder}/model.zip"},
        pc.statement: {"record": pc.run("only_public", split)},
        pc.sweep: {"grid": GRID},
        pc.advise: {"split": split},
        pc.choose: {
            "private": split,
            "candidates": {"other": pc.features(x + 1, y)},
            "epsilon": 1.0,
        },
        pc.check_run: {
            "n": 100,
            "batch_size": 10,
            "steps": 1,
            "noise_multiplier": 1.0,
            "delta": 1e-3,
        },
        pc.epsilon: {"noise_multiplier": 1.0},
        pc.features: {"x_train": x, "y_train": y},
        pc.gsd: {"private": data, "public": data, **small},
        pc.load_features: {"source": data},
        pc.margins: {"data": split, "k": 1},
        pc.noise_multiplier: {"epsilon": 1.0},
        pc.private_test: {
            "model": pc.run("only_public", split),
            "rows": split.features,
            "epsilon": 1.0,
        },
        pc.run: run,
        pc.screen: {**sets, "repeats": 1, "allow_overlap": True},
        pc.split: {"data": split.features, "public_per_class": 1},
        pc.xi: {"data": split, "k": 1},
        accounting.calibrate: {"cost": gaussian, "budget": PrivacyBudget(1.0)},
        accounting.calibration_key: {"cost": gaussian, "budget": PrivacyBudget(1.0)},
        accounting.delta_of: {"epsilon": 1.0, "mu": 1.0},
        accounting.epochs: {"sampling_probability": 0.5, "steps": 4},
        accounting.epsilon: {"event": event, "delta": 1e-5, "relation": "replace_one"},
        accounting.epsilon_against_steps: {"noise_multiplier": 2.0, "steps": [1, 2]},
        accounting.epsilon_of_mu: {"mu": 1.0, "delta": 1e-5},
        accounting.gaussian_run: {"noise_multiplier": 2.0},
        accounting.gaussian_summary: {"curve": curve},
        accounting.noise_for_risk: {"most": 0.1},
        accounting.mu_of: {"epsilon": 1.0, "delta": 1e-5},
        accounting.odds: {"curve": curve},
        accounting.profile: {"event": event},
        accounting.read: {"event": event, "relation": relation},
        accounting.reconstruction: {"curve": curve, "candidates": 10},
        accounting.resolve: {"event": event, "relation": relation},
        accounting.resolve_bound: {"event": event, "relation": relation},
        accounting.samplers: {"noise_multiplier": 2.0, "sampling_probability": 1.0, "steps": 2},
        accounting.tpr_at: {"curve": curve, "false_positive_rate": 0.1},
        accounting.trade_off: {"event": event},
        auditing.auc: sides,
        auditing.audit: {"fault": auditing.Fault.NONE, "trials": 2},
        auditing.canary_scores: {"released": None, "canary": None, "plan": plan, "without": None},
        auditing.clopper_pearson: {"successes": 1, "trials": 2},
        auditing.loss_threshold_auc: {"train_losses": scores, "test_losses": scores},
        auditing.noticed_epsilon: {**claim, "delta": 1e-5},
        auditing.power: {**claim, "true_mu": 1.0},
        auditing.roc: sides,
        auditing.tpr_at_fpr: {**sides, "false_positive_rate": 0.1},
        geometry.basis_of: {"rows": rows},
        geometry.checked_ks: {"k": 2, "most": 3, "why": "the rank"},
        geometry.margin_at: {"values": np.arange(3.0), "quantile": 0.1},
        geometry.projected_margins: {
            "rows": placed,
            "separators": found,
            "basis": basis,
            "ks": [1],
        },
        geometry.refitted_margins: {"rows": placed, "ks": [1]},
        geometry.separators: {"rows": rows, "pairs": ((0, 1),)},
        geometry.spectrum_of: {"eigenvalues": np.array([3.0, 1.0])},
        geometry.thinned: {"rows": rows, "per_class": 2},
        geometry.xi_of: {"weights": vectors, "vectors": vectors},
        geometry.xi_table: {"separators": found, "basis": basis, "ks": [1], "classes": ["a", "b"]},
        screening.bures_wasserstein: {"rows": x, "others": x},
        screening.interval: {"values": [0.1, 0.2]},
        screening.otdd: {"x": x, "y": y, "x_other": x, "y_other": y},
        screening.over_training: {**sets, "steps": 1, "looks": 2},
        screening.pairwise: {"sets": {"a": data, "b": data}, **small},
        screening.spectra: {name: value for name, value in sets.items() if name != "k"},
        screening.task2vec_distance: {
            "first": np.array([1.0, 2.0]),
            "second": np.array([2.0, 1.0]),
        },
        screening.trim: {"private": data, "public": data, "share": 0.5, "epsilon": 1.0},
        theory.choice: {
            "graph": graph,
            "x": x > 0,
            "y": x[:, 0] > 0,
            "epsilon": 1.0,
            "x_test": x > 0,
            "y_test": y,
        },
        theory.component_graph: {"x": x > 0},
        theory.fewest_rows: {"gap": 0.1, "beta": 0.1},
        theory.predicted_error: {**mixture, "n_private": 100.0},
        theory.projector_bound: {"n": 100.0, "gap": 0.1, "beta": 0.1},
        theory.random_graph_rows: {"n": 4, "d": 6, "k": 2, "p": 0.5, "seed": 0, "part": "test"},
        theory.rate_curves: {"axis": "k", "values": [1, 10]},
        theory.rows_needed: {**mixture, "error": 0.4},
    }


def bad_values(annotation):
    """What no parameter of this type may be."""
    if annotation in ("Array", "Array | None"):
        return [np.full((3, 2), math.nan), np.zeros((2, 2, 2, 2)), np.zeros((0, 2))]
    if annotation.startswith(("Sequence[int", "Sequence[float", "float | Sequence")):
        return [[math.nan], [-1]]
    if annotation.startswith("float"):
        return [math.nan, -1]
    if annotation.startswith("int"):
        return [math.nan, -1]
    return ["no-such-thing"] if annotation in ("NeighboringRelation", "BasisKind", "Form") else []


WORDS = {"relation", "accountant", "sampler", "model", "kind", "part", "axis", "device", "method"}


def hint_of(parameter):
    """A parameter's annotation in words."""
    hint = parameter.annotation
    hint = hint if isinstance(hint, str) else inspect.formatannotation(hint)
    return hint.replace("numpy.ndarray[typing.Any, typing.Any]", "Array")


def answer_to(function, arguments):
    """What a call that should be refused by an error of ours does instead; nothing where it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**arguments)
    except PillarError:
        return ""
    except Exception as error:  # noqa: BLE001  # any other kind is what the tests look for
        return f"{type(error).__name__}: {error!s:.80}"
    return "is taken"


def test_a_bad_argument_is_refused_by_an_error_of_ours():
    offenders = []
    for function, arguments in calls().items():
        place = (
            f"{function.__module__.removeprefix('pillar_core.').split('.')[0]}.{function.__name__}"
        )
        for parameter in inspect.signature(function).parameters.values():
            case, hint = f"{place}: {parameter.name}", hint_of(parameter)
            words = ["no-such-thing"] if parameter.name in WORDS and "str" in hint else []
            for value in () if case in FREE else (*words, *bad_values(hint)):
                if answer := answer_to(function, {**arguments, parameter.name: value}):
                    offenders.append(f"{case} = {value!r:.30}: {answer}")
    assert not offenders, "\n".join(offenders)


def test_a_thing_of_another_kind_is_refused_by_an_error_of_ours():
    offenders, every = [], calls()
    assert {
        item for item in (getattr(pc, name) for name in pc.__all__) if inspect.isfunction(item)
    } <= every.keys()
    for function, arguments in every.items():
        for parameter in inspect.signature(function).parameters.values():
            words = set(re.findall(r"\w+", hint_of(parameter)))
            for noun, value in (
                nouns().items() if parameter.kind is not parameter.VAR_KEYWORD else ()
            ):
                is_maybe = bool(words & {"Any", noun, *TAKEN_FOR.get(noun, ())})
                if is_maybe and function not in (
                    pc.load_features,
                    pc.features,
                    pc.split,
                    pc.load_model,
                ):  # they would do what they do
                    continue
                answer = answer_to(function, {**arguments, parameter.name: value})
                if answer and not (is_maybe and answer == "is taken"):
                    offenders.append(f"{function.__name__}: {parameter.name} = {noun}: {answer}")
    assert not offenders, "\n".join(offenders)
    for registry in (pc.ACCOUNTANTS, pc.BACKBONES, pc.DATASETS, pc.METHODS, pc.SCORES):
        for value in nouns().values():
            with pytest.raises(UnknownNameError):
                registry[value]


def test_what_can_be_meant_is_taken(tmp_path):
    x = rng.stream(1, "what is meant").standard_normal((60, 3))
    y = np.array(["well", "sick"])[np.arange(60) % 2]
    features = pc.load_features(x, y)
    assert (features.classes, features.fingerprint) == (
        ("sick", "well"),
        pc.load_features((x, y)).fingerprint,
    )
    others = [
        pc.features(x + 1, y),
        dataclasses.replace(pc.features(x + 2, y), name="clinic"),
        pc.features(x + 3, y),
    ]
    assert set(pc.screen(features, others, scores="class_signal")["public"]) == {
        "features 1",
        "clinic",
        "features 3",
    }
    assert pc.plots.rates(
        theory.rate_curves(axis="k", values=range(1, 9))
    ).data  # a table and a range are what they are
    split = pc.split(features, public_fraction=0.5)
    assert pc.advise(split, candidates=others[1], alike="clinic").public == "clinic"
    path = tmp_path / "model.zip"
    record = pc.run("pillar", split, epsilon=1, seed=None)
    assert pc.load_model(pc.save_model(record, path)).card["public_set"]["fraction"] == 0.5
    copy = pickle.loads(pickle.dumps(record))  # a file of a record, which holds no rows
    with pytest.raises(SettingError, match="give the split"):
        pc.save_model(copy, path)
    assert pc.load_model(pc.save_model(copy, path, classes=["a", "b"])).classes == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda features: pc.run("pillar", features, epsilon=2),
            "split must be SemiPrivateSplit .*private and public: split = pc.split",
        ),
        (lambda features: pc.advise(features), "split = pc.split"),
        (lambda features: pc.run("pillar", None), "got None"),
        (
            lambda features: pc.run("pillar", pc.split(features), 2.0),
            r"run takes \(method, split, epsilon=.*too many positional",
        ),
        (lambda features: pc.run("pillar"), "missing a required argument: 'split'"),
        (
            lambda features: pc.split(features, public_fraction="a"),
            "public_fraction must be a number or none; got 'a'",
        ),
        (lambda features: pc.gsd(1, 2), r"private must be Dataset \(pc.load_dataset"),
        (
            lambda features: pc.screen(features, [features.y_train]),
            "public must be a mapping from names to Dataset",
        ),
        (
            lambda features: pc.choose(features, [3], epsilon=1),
            "candidates must be a mapping from names or a list of text; got list",
        ),
        (lambda features: pc.statement(features), "record = pc.run"),
    ],
)
def test_the_likeliest_mistakes_are_answered_by_what_to_write(ask, said):
    with pytest.raises(SettingError, match=said):
        ask(pc.features(np.eye(4), [0, 1, 0, 1]))


def test_messages_say_parameter_expectation_and_what_was_given_without_data():
    with pytest.raises(SettingError, match=r"^steps must be a whole number; got list\.$"):
        pc.epsilon(1.0, steps=[1234])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(
        SettingError, match=r"^steps must be a whole number in \[0, 1e\+07\]; got -1\.$"
    ):
        pc.epsilon(1.0, steps=-1)
    with pytest.raises(SettingError, match=r"^mode must be one of light, dark; got 'pale'"):
        pc.plots.in_mode("pale")
    with pytest.raises(
        DataError,
        match=(
            r"^others must have the axes \(m, d\), n = 2, d = 4, m = 3; got ndarray float64"
            r" \(3, 5\)"
        ),
    ):
        screening.bures_wasserstein(np.ones((2, 4)), np.ones((3, 5)))


@pytest.mark.parametrize(
    "source", ["/etc", "~nosuch", "a" * 5_000, "a" * 5_000 + ".npz", "nul\0.npz", ""]
)
def test_hostile_paths_and_names(source):
    for read in (
        pc.load_features,
        pc.load_images,
        pc.load_model,
        lambda text: pc.load_features(Path(text)),
    ):
        with pytest.raises(DataError):
            read(source)
    with pytest.raises(UnknownNameError) as refusal:
        pc.load_dataset(source)
    assert len(str(refusal.value)) < 1_500


def test_seeds_budgets_and_axes_are_of_their_type_wherever_they_are_said():
    split = pc.split(pc.load_dataset("gaussian_mixture", n=20, n_test=4, d=3), public_fraction=0.5)
    bad = {
        "seed": (1.5, True, "1", 10**400, -1),
        "epsilon": ("1", math.nan),
        "delta": ("1", math.nan),
    }
    for name, values in bad.items():
        for value in values:
            said = {"epsilon": 1.0, name: value}
            for ask in (
                lambda said=said: pc.run("pillar", split, **said),
                lambda said=said: pc.sweep({**GRID, **said}),
            ):
                with pytest.raises(PillarError, match=f"{name} must be"):
                    ask()
    for value in bad["seed"]:
        with pytest.raises(SettingError, match="seed must be a whole number"):
            pc.split(split.features, public_fraction=0.5, seed=value)
    assert len(pc.sweep(GRID)) == 1
    for axis in (*sweeps.AXES, "dataset_settings", "k", "standardise", "no_such_axis"):
        for value in ([], {"a": {}}, object(), np.zeros((2, 2)), [None, object()], [math.nan]):
            with pytest.raises((SettingError, UnknownNameError)):
                pc.sweep({**GRID, axis: value})
