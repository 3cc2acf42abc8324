"""Bad values for any parameter, and one valid call of everything that the public face lets be called."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import math
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import pillar_core as pc
from pillar_core import accounting, auditing, geometry, rng
from pillar_core.engine import HeadPlan
from pillar_core.ledger import gaussian
from pillar_core.screening.models import MODELS
from pillar_core.studies.screening import public_rows
from pillar_core.types import Dataset, NeighboringRelation, PrivacyBudget, PublicFacts

DEPTH = 3_000
ABSENT = "no-such-thing"
REFUSED = ("papers.run", "jobs.retry")
"""Calls whose valid form would do too much: a table trained, the one job forgotten or started anew."""


def nested() -> list[Any]:
    """A list that holds a list that holds …"""
    value: list[Any] = []
    for _ in range(DEPTH):
        value = [value]
    return value


VALUES: dict[str, Any] = {
    "None": None,
    "text": ABSENT,
    "empty text": "",
    "long text": "a" * 5_000,
    "list": [1, "two"],
    "empty list": [],
    "list of NaN": [math.nan],
    "list of text": ["1"],
    "dict": {"a": 1},
    "empty dict": {},
    "nested": nested(),
    "nested dict": {"a": nested()},
    "bool": True,
    "NaN": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "1e300": 1e300,
    "half": 1.5,
    "huge int": 10**400,
    "negative": -1,
    "0": 0,
    "object": object(),
    "object array": np.array([None, {}], dtype=object),
    "NaN array": np.full((3, 2), math.nan),
    "empty array": np.zeros((0, 2)),
    "text array": np.array([["a", "b"]]),
    "flat array": np.arange(3.0),
    "deep array": np.zeros((2, 2, 2, 2)),
    "complex array": np.zeros((2, 2), dtype=complex),
}
"""By the name that a failure shows."""


def public() -> dict[str, Callable[..., Any]]:
    """Every function and class of the public face, by its path below `pc`: what is in an `__all__`, so that no newcomer is left out."""
    return dict(_callables(pc, ""))


def _callables(module: types.ModuleType, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        item = getattr(module, name)
        if isinstance(item, types.ModuleType):
            if hasattr(item, "__all__"):
                yield from _callables(item, f"{prefix}{name}.")
        elif inspect.isfunction(item) or (inspect.isclass(item) and not issubclass(item, enum.Enum)):
            yield f"{prefix}{name}", item


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function, or of a class's constructor."""
    return dict(inspect.signature(function).parameters)


def bases(folder: Path) -> dict[str, dict[str, Any]]:
    """The arguments of one valid, cheap call of each function that has parameters; files lie in `folder`."""
    generator = rng.stream(0, "bad arguments")
    x = generator.standard_normal((12, 4)).astype(np.float32)
    y = np.arange(12) % 2
    features = pc.features(x, y, x[:4], y[:4], ["a", "b"])
    numbers = Dataset("numbers", x, y, x[:4], y[:4], ("a", "b"))
    pixels = generator.integers(0, 256, (12, 4, 4), dtype=np.uint8)
    images = Dataset("images", pixels, y, pixels[:4], y[:4], ("a", "b"))
    split = pc.split(features, public_fraction=0.5)
    np.savez(folder / "rows.npz", x_train=x, y_train=y)
    np.savez(folder / "images.npz", x_train=pixels, y_train=y)
    return (
        _accounting()
        | _auditing()
        | _geometry(split)
        | _flat(folder, split, images)
        | _jobs()
        | _papers()
        | _plots()
        | _store(folder)
        | (_screening(numbers) | _theory(x))
    )


def _flat(folder: Path, split: Any, images: Any) -> dict[str, dict[str, Any]]:
    features = split.features
    record = pc.run("only_public", split, standardise=False)
    record = dataclasses.replace(record, seed=None)
    pc.save_model(record, folder / "model.zip", classes=("a", "b"))
    return {
        "advise": {"split": split},
        "check_run": {"n": 100, "batch_size": 10, "steps": 1, "noise_multiplier": 1.0, "delta": 1e-3},
        "epsilon": {"noise_multiplier": 1.0},
        "features": {"x_train": features.x_train, "y_train": features.y_train},
        "gsd": {"private": images, "public": images, "k": 1, "n_examples": 4},
        "load_dataset": {"name": "gaussian_mixture", "n": 20, "n_test": 4, "d": 3},
        "load_features": {"source": folder / "rows.npz"},
        "load_images": {"path": folder / "images.npz"},
        "load_model": {"path": folder / "model.zip"},
        "margins": {"data": split, "k": 1},
        "noise_multiplier": {"epsilon": 1.0},
        "recommend": {"facts": PublicFacts(100, 10, 5, 2)},
        "run": {"method": "pillar", "split": split, "epsilon": 1.0, "steps": 1, "k": 1, "learning_rate": 1.0},
        "save_model": {"record": record, "path": folder / "again.zip", "classes": ("a", "b")},
        "screen": {"private": images, "public": {"other": images}, "k": 1, "n_examples": 4, "repeats": 1, "allow_overlap": True},
        "split": {"data": features},
        "statement": {"record": record},
        "sweep": {"grid": {"dataset": split, "method": "only_public"}},
        "xi": {"data": split, "k": 1},
    }


def _accounting() -> dict[str, dict[str, Any]]:
    event, curve, relation = gaussian(2.0), accounting.TradeOff("gaussian", mu=1.0), NeighboringRelation.ADD_OR_REMOVE_ONE
    release = accounting.Release(accounting.Kind.GAUSSIAN, 1.0)
    own = accounting.ACCOUNTANTS["basic"]
    bounds = own.epsilon(gaussian(2.0), delta=1e-5, relation=relation)
    cost = {"cost": gaussian, "budget": PrivacyBudget(1.0)}
    return _under(
        "accounting",
        Accountant=_fields(own),
        GaussianSummary={"mu": 1.0, "overstated": 0.1, "floor": 1e-3},
        Odds={"name": "bet", "chance": 0.6, "baseline": 0.5, "sentence": "At most."},
        Reading={"relation": relation, "releases": (release,)},
        Release=_fields(release),
        SamplerCost={"sampler": "poisson", "title": "t", "relation": relation, "epsilon": bounds, "known": "tight"},
        TradeOff=_fields(curve),
        advantage={"curve": curve},
        calibrate=cost,
        calibration_key=cost,
        delta_of={"epsilon": 1.0, "mu": 1.0},
        epochs={"sampling_probability": 0.5, "steps": 4},
        epsilon={"event": event, "delta": 1e-5, "relation": "replace_one"},
        epsilon_against_steps={"noise_multiplier": 2.0, "steps": [1, 2]},
        epsilon_of_gaussian={"noise_multiplier": 2.0},
        epsilon_of_mu={"mu": 1.0, "delta": 1e-5},
        gaussian_run={"noise_multiplier": 2.0},
        gaussian_summary={"curve": curve},
        noise_for_risk={"most": 0.1},
        mu_of={"epsilon": 1.0, "delta": 1e-5},
        noise_multiplier={"epsilon": 1.0},
        odds={"curve": curve},
        profile={"event": event},
        read={"event": event, "relation": relation},
        reconstruction={"curve": curve, "candidates": 10},
        resolve={"event": event, "relation": relation},
        resolve_bound={"event": event, "relation": relation},
        samplers={"noise_multiplier": 2.0, "sampling_probability": 1.0, "steps": 2},
        tpr_at={"curve": curve, "false_positive_rate": 0.1},
        trade_off={"event": event},
    )


def _auditing() -> dict[str, dict[str, Any]]:
    curve, counts = accounting.TradeOff("gaussian", mu=1.0), auditing.Counts(5, 1, 10)
    rows = {"z": torch.zeros((2, 3)), "y": torch.zeros(2, dtype=torch.int64)}
    plan = HeadPlan(steps=1, learning_rate=1.0, noise_multiplier=1.0, l2_clip_norm=1.0, n_private=2)
    released = torch.zeros((1, 1, 2, 4))
    scores, fault = np.arange(4.0), auditing.Fault.NONE
    finding = {"canary": "c", "counts": counts, "threshold": 0.5, "p_value": 0.1, "with_canary": scores, "without_canary": scores}
    sides = {"members": scores, "others": scores}
    return _under(
        "auditing",
        Audit={"fault": fault, "claimed": curve, "significance": 0.05, "findings": (auditing.Finding(**finding),)},
        BlindSpot=_fields(auditing.BLIND_SPOTS[0]),
        Counts=_fields(counts),
        Finding=finding,
        HeadRows=rows,
        Rate={"value": 0.5, "low": 0.1, "high": 0.9},
        Rows=rows,
        auc=sides,
        audit={"fault": fault, "trials": 2},
        canary_scores={"released": released, "canary": auditing.HeadRows(**rows), "plan": plan, "without": torch.zeros_like},
        clopper_pearson={"successes": 1, "trials": 2},
        loss_threshold_auc={"train_losses": scores, "test_losses": scores},
        noticed_epsilon={"claimed": curve, "trials": 10, "significance": 0.05, "delta": 1e-5},
        power={"claimed": curve, "true_mu": 1.0, "trials": 10, "significance": 0.05},
        individual_mu={"released": released[0], "rows": auditing.HeadRows(**rows), "plan": plan},
        roc=sides,
        tpr_at_fpr={**sides, "false_positive_rate": 0.1},
    )


def _geometry(split: Any) -> dict[str, dict[str, Any]]:
    rows = geometry.rows_of(split)
    basis = geometry.basis_of(rows)
    found = geometry.separators(rows, ((0, 1),))
    placed = geometry.coordinates(rows, basis)
    moments = geometry.class_moments(placed)
    vectors = np.eye(3)
    runs = pd.DataFrame({"epsilon": [1.0, 1.0], "k": [1, 2], "accuracy": [0.5, 0.6]})
    margins = geometry.projected_margins(placed, found, basis, [1])
    return _under(
        "geometry",
        Basis=_fields(basis),
        ClassMoments=_fields(moments),
        Coordinates=_fields(placed),
        Rows=_fields(rows),
        Separators=_fields(found),
        accuracy_drop={"accuracy": 0.5, "reference": 0.9},
        averaged={"table": geometry.xi_table(found, basis, [1], classes=["a", "b"])},
        basis_of={"rows": rows},
        best_k={"table": runs},
        checked_ks={"k": 2, "most": 3, "why": "the rank"},
        class_moments={"rows": placed},
        coordinates={"rows": rows, "basis": basis},
        margin_at={"values": np.arange(3.0), "quantile": 0.1},
        pairs_of={"classes": ["a", "b"]},
        predicted={"moments": moments, "ks": [1], "epsilons": [1.0], "n_private": 10},
        projected_margins={"rows": placed, "separators": found, "basis": basis, "ks": [1]},
        projector_distance={"a": vectors, "b": vectors},
        refitted_margins={"rows": placed, "ks": [1]},
        rows_of={"data": split},
        separators={"rows": rows, "pairs": ((0, 1),)},
        separators_of={"x": rows.x, "y": rows.y, "pairs": ((0, 1),), "classes": ["a", "b"]},
        smallest={"table": margins},
        spectrum={"basis": basis},
        spectrum_of={"eigenvalues": np.array([3.0, 1.0])},
        thinned={"rows": rows, "per_class": 2},
        xi_of={"weights": vectors, "vectors": vectors},
        xi_table={"separators": found, "basis": basis, "ks": [1], "classes": ["a", "b"]},
    )


def _jobs() -> dict[str, dict[str, Any]]:
    grid = {
        "dataset": "gaussian_mixture",
        "dataset_settings": {"n": 20, "n_test": 4, "d": 3},
        "method": "only_public",
        "public_fraction": 0.5,
    }
    pc.sweep(grid)  # so that the job is answered from the cache, without the jobs process
    spec: dict[str, Any] = {"spec": {"kind": "sweep", "grid": grid}}
    job = {"job_id": pc.jobs.submit(**spec)}
    by_id = dict.fromkeys(("cancel", "result", "spec", "status", "wait"), job) | {"retry": {"job_id": "0" * 32}}
    status = {"job_id": "j", "kind": "sweep", "state": "done", "submitted": 1.0}
    kind = {"name": "kind", "title": "Kind", "run": lambda task, progress, cancelled: None}
    return _under(
        "jobs", **by_id, JobKind=kind, JobStatus=status, find=spec, submit=spec, stop={"timeout": 0.1}, use_scheduler={"address": "jobs"}
    )


def _papers() -> dict[str, dict[str, Any]]:
    name = next(iter(pc.papers.TABLES))
    table = pc.papers.TABLES[name]
    named = {"name": name, "dataset": table.datasets[0]}
    runs = pd.DataFrame({"method": ["pillar"], "epsilon": [1.0], "public_fraction": [0.1], "accuracy": [0.5]})
    return _under(
        "papers",
        PaperTable=_fields(table),
        beside={**named, "runs": runs},
        grid=named,
        grids_to_get={"name": "pillar-table-2", "dataset": "CIFAR-10"},
        named={"name": name},
        verdict={"table": runs, "rows": "simulated rows"},
        matching={"features": "cifar10_resnet50", "backbone": None},
        numbers={"paper": "pillar", "item": "Table 1"},
        published={"name": name},
        published_for={"features": "cifar10_resnet50", "backbone": None},
        run={**named, "data": ABSENT},
    )


def _plots() -> dict[str, dict[str, Any]]:
    runs = pd.DataFrame(
        {"method": ["pillar", "pillar", "dp_sgd", "non_private"], "k": [1, 2, None, None], "epsilon": [1.0, 1.0, 1.0, math.inf]}
    ).assign(seed=0, accuracy=[0.5, 0.6, 0.4, 0.9])
    curve = {"table": pd.DataFrame({"epsilon": [1.0], "k": [1], "accuracy": [0.5], "lost_to_projection": [0.2], "lost_to_noise": [0.3]})}
    best = pd.DataFrame({"epsilon": [1.0], "k": [1], "accuracy": [0.5], "low": [1], "high": [2]})
    lines = pd.DataFrame({"series": ["pillar"], "method": "pillar", "title": "P", "x": [1], "epsilon": [1.0], "group": ["g"], "seeds": [3]})
    lines = lines.assign(mean=0.5, low=0.4, high=0.6, data="d", k=1, public_fraction=0.1)
    screened = pd.DataFrame({"public": ["near", "far"], "score": "gsd", "value": [0.2, 0.8], "low": [0.1, 0.7], "high": [0.3, 0.9]})
    screened = screened.assign(rank=[1, 2], n_examples=4, provenance="p", epsilon_upper=math.inf, step=0, k=1, error=0.1, bound=0.2)
    screened = screened.assign(index=[1, 2], degrees=[1.0, 2.0], set="a", first=["a", "b"], second=["a", "b"], accuracy=0.5, seed=0)
    privacy = pd.DataFrame({"epsilon": [1.0, 2.0], "noise_multiplier": [3.0, 1.0], "label": ["a", "b"], "is_bound": True, "plain": 0.2})
    privacy = privacy.assign(
        curve=0.3, accountant="auto", title="Auto", steps=[1, 2], lower=0.5, upper=1.0, estimate=0.9, delta=[1e-5, 1e-6]
    )
    privacy = privacy.assign(attack="loss", false_positive_rate=[0.0, 1.0], true_positive_rate=[0.0, 1.0], ceiling=[0.1, 1.0])
    privacy = privacy.assign(trials=50, power=[0.1, 0.9], attacker="all", sees="it", success=0.6, low=0.5, high=0.7, sum=1.0, total=1.0)
    privacy = privacy.assign(releases=[1, 10], world="without", score=[0.1, 0.2], **{"class": "a"})
    theory = pd.DataFrame(
        {"eta": [0.0, 0.5], "population": 0.9, "sampled": 0.9, "bound": 0.4, "bound_printed": 0.0, "n_private": [10, 100]}
    )
    theory = theory.assign(
        projection=["first public direction", "none"], seed=0, error=0.3, predicted=0.3, d=[8, 16], rows=100.0, epsilon=1.0
    )
    theory = theory.assign(k=[1, 2], mean=0.3, low=0.2, high=0.4, pairs=1, basis="public_pca", quantile=0.01, cosine_margin=0.1)
    theory = theory.assign(distance_margin=0.1, component=[1, 2], eigenvalue=[2.0, 1.0], gap=[1.0, 1.0], share=[0.6, 1.0], **{"class": "a"})
    theory = theory.assign(side=["A", "B"], drop=0.1, half=0.01, seeds=3)
    sets = runs.assign(set="a", private=[True, True, True, False], k=[1, 2, 3, 4])
    agreement = pd.Series({"score": "gsd", "spearman": 1.0, "p_value": 0.5, "sets": 2})
    graph = {"labels": [0, 0, 1], "k": 1}
    curves = {"table": accounting_tables()}
    return _under(
        "plots",
        Here={"k": 1, "epsilon": 1.0, "accuracy": 0.5},
        accuracy_against_k={"table": runs},
        accuracy_by={"table": runs[:2], "x": "k", "label": "k", "title": "t"},
        accuracy_drops={"table": theory},
        accuracy_heatmap={"table": runs},
        accuracy_of_sets={"table": sets, "epsilon": 1.0},
        angles={"table": screened},
        audit_power={"table": privacy, "claimed": 4.0, "significance": 0.05},
        by_direction={"table": theory.assign(direction=[1, 2]), "labels": {"share": "s"}, "title": "t", "y_title": "y", "caption": "c."},
        bars_of_epsilon={"table": privacy, "title": "t", "caption": "c."},
        best_k_against_epsilon={"predicted": best},
        captured_gradients={"table": screened},
        choice_errors={"table": theory},
        class_balance={"table": pd.DataFrame({"class": ["a", "b"], "part": "private", "rows": [5, 6]})},
        comparison={"table": runs[2:]},
        component_graph={**graph, "edges": np.array([[0, 1]]), "n_unlabelled": 5},
        component_table=graph,
        distance_map={"table": screened[["first", "second", "value"]].assign(first="a", second="a")[:1]},
        effect={"lines": lines, "title": "t"},
        expected={"table": lines.assign(name="a"), "title": "t", "chosen": "a", "caption": "c"},
        epsilon_against_delta={"table": privacy, "delta": 1e-5},
        epsilon_against_steps={"table": privacy, "delta": 1e-5, "here": 1},
        epsilon_colour={"epsilon": 1.0, "mode": "light"},
        epsilon_label={"epsilon": 1.0},
        error_against_epsilon={"lines": lines},
        gradient_spectra={"table": screened},
        in_order={"names": ["pillar"]},
        learning_hero={"table": runs},
        map_2d={"table": pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0], "class": ["a", "b"]})},
        margins_against_k={"table": theory},
        membership_roc={"roc": privacy, "bound": curves["table"], "epsilon": 1.0, "members": 4, "others": 4},
        method_style={"name": "pillar"},
        mixture_errors={"table": theory},
        noise_against_epsilon={"table": privacy, "here": (1.0, 3.0)},
        odds_dots={"table": pd.DataFrame({"advantage": [0.1]})},
        one_in={"share": 0.1},
        one_run_reach={"table": privacy, "canaries": 10},
        order_over_training={"table": screened},
        over_seeds={"table": runs, "by": ["method"], "value": "accuracy"},
        overlay={"runs": runs.assign(group="g"), "lines": lines, "labels": {"g": "words"}},
        confusion={"table": pd.DataFrame({"class": ["a", "b"], "taken for": ["a", "a"], "rows": 5}), "classes": ("a", "b")},
        per_class={"table": pd.DataFrame({"class": ["a", "b"], "accuracy": [0.9, 0.5], "rows": 50})},
        predicted_accuracy={"predicted": curve["table"]},
        public_rows={"table": public_rows.curves("mnist"), "titles": {"mnist": "MNIST", "fashion_mnist": "Fashion"}},
        ranking={"table": screened},
        rates={"table": pc.theory.rate_curves("k", [1, 10])},
        individual_by_class={"table": privacy, "stated": 2.0},
        individual_losses={"table": privacy, "stated": 2.0, "delta": 1e-5},
        projection_gains={"table": theory.assign(set="a", ratio=[0.5, 2.0], gain=[0.1, 5.0], epsilon=1.0), "spearman": 0.6},
        reconstruction_bound={"table": screened},
        right_guesses={"table": privacy, "published": 0.5, "title": "t"},
        rows_against_dimension={"table": theory},
        score_against_accuracy={"table": screened, "accuracy": screened[["public", "seed", "accuracy"]], "agreement": agreement},
        shift={"table": theory},
        spectrum={"table": theory},
        spectrum_and_gaps={"table": geometry.spectrum_of(np.array([3.0, 1.0]))},
        total_budget={"table": privacy, "here": 1},
        trade_off_curve={**curves, "advantage": 0.3, "best": 0.3},
        two_worlds={"table": privacy.assign(world=["without", "with the canary"]), "threshold": 0.1, "claimed_mu": 1.0, "title": "t"},
        wilson={"share": 0.5, "count": 10},
        xi_against_k={"table": theory},
    )


def accounting_tables() -> pd.DataFrame:
    """The table of a trade-off curve, as the figures of attacks take it."""
    from pillar_core.studies import privacy_tables

    return privacy_tables.trade_off(accounting.TradeOff("gaussian", mu=1.0))


def _screening(numbers: Any) -> dict[str, dict[str, Any]]:
    small = {"model": "linear_head", "k": 1, "n_examples": 4}
    one = {"private": numbers, "public": {"other": numbers}, **small}
    rows, codes = numbers.x_train, numbers.y_train
    steps = pd.DataFrame({"public": ["a", "b"] * 2, "step": [0, 0, 9, 9], "value": [0.2, 0.5, 0.3, 0.4]})
    pixels = Dataset("pixels", np.zeros((4, 4, 4), dtype=np.uint8), None)
    return _under(
        "screening",
        GradientModel=_fields(MODELS["linear_head"]),
        Score=_fields(pc.SCORES["gsd"]),
        Trimmed=_fields(pc.screening.trim(numbers, numbers, share=0.5, epsilon=1.0)),
        angles=one,
        bures_wasserstein={"rows": rows, "others": rows},
        gsd={**one, "public": numbers},
        interval={"values": [0.1, 0.2]},
        mixture={"sets": [pixels], "name": "m", "size": 4},
        negative_leep={"x_public": rows, "y_public": codes, "x_private": rows, "y_private": codes},
        negative_logme={"x_public": rows, "x_private": rows, "y_private": codes},
        order_kept={"table": steps},
        otdd={"x": rows, "y": codes, "x_other": rows, "y_other": codes},
        over_training={**one, "steps": 1, "looks": 2},
        pairwise={"sets": {"a": numbers, "b": numbers}, **small},
        reconstruction=one,
        screen={**one, "repeats": 1, "allow_overlap": True},
        spectra={name: value for name, value in one.items() if name != "k"},
        trim={"private": numbers, "public": numbers, "share": 0.5, "epsilon": 1.0},
        task2vec_distance={"first": np.array([1.0, 2.0]), "second": np.array([2.0, 1.0])},
    )


def _store(folder: Path) -> dict[str, dict[str, Any]]:
    entry = {"kind": "record", "key": "k", "size": 1, "last_used": 1.0}
    return _under(
        "store",
        Entry=entry,
        ImportReport={"added": 1, "present": 0, "refused": ()},
        PruneReport={"removed": (pc.store.Entry(**entry),), "freed": 1},
        Store={"root": folder / "store"},
        VerifyReport={"whole": 1, "damaged": ()},
    )


def _theory(x: Any) -> dict[str, dict[str, Any]]:
    variables, labels = x > 0, x[:, 0] > 0
    graph = pc.theory.component_graph(variables)
    chosen = {"graph": graph, "x": variables, "y": labels, "epsilon": 1.0}
    mixture = {"epsilon": 1.0, "k": 1, "theta": 0.1, "sigma": 0.5}
    axis = {"direction": np.array([1.0, 0.0, 0.0, 0.0]), "eta": 0.1}
    value = {"name": "n", "form": pc.theory.Form.PRINTED, "value": 1.0, "latex": "n"}
    span = {"name": "n", "value": 1.0}
    return _under(
        "theory",
        Calculator=_fields(pc.theory.CALCULATORS["pillar_lemma_5"]),
        Choice=_fields(pc.theory.choice(**chosen)),
        ComponentGraph=_fields(graph),
        Outcome={"values": (pc.theory.Value(**value),), "ranges": (pc.theory.Range(**span),)},
        Range=span,
        Value=value,
        choice=chosen,
        component_graph={"x": variables},
        fewest_rows={"gap": 0.1, "beta": 0.1},
        moment_bound={"n": 100.0, "beta": 0.1},
        predicted_error={**mixture, "n_private": 100.0},
        projector_bound={"n": 100.0, "gap": 0.1, "beta": 0.1},
        random_graph_rows={"n": 4, "d": 6, "k": 2, "p": 0.5, "seed": 0, "part": "test"},
        rate_curves={"axis": "k", "values": [1, 10]},
        rows_needed={**mixture, "error": 0.4},
        shift_curve={
            "etas": [0.1],
            "eigenvalues": np.array([4.0, 3.0, 2.0, 1.0]),
            "separator": np.ones(4),
            "direction": axis["direction"],
            "k": 2,
            "rows": x,
        },
        shifted_moment={"moment": np.eye(4), **axis},
        shifted_rows={"rows": x, **axis},
    )


def _fields(item: Any) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}


def _under(module: str, **calls: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{module}.{name}": arguments for name, arguments in calls.items()}
