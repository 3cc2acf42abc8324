"""Records as JSON for the store, and as tidy rows for tables: one row per run, units in the column
name."""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core.methods import METHODS
from pillar_core.runs.versions import made_with
from pillar_core.splits import rarest
from pillar_core.types import (
    EpsilonBounds,
    Form,
    Guarantee,
    NeighboringRelation,
    PublicFacts,
    PublicUse,
    RunRecord,
    RunSpec,
    Values,
)

SETTING_COLUMNS = ("k", "steps", "batch_size", "learning_rate", "noise_multiplier", "l2_clip_norm")


def promise_json(guarantee: Guarantee) -> Form:
    """What a guarantee says besides ε, in plain JSON types."""
    return {
        "delta": guarantee.delta,
        "relation": str(guarantee.relation),
        "accountant": guarantee.accountant,
        "assumptions": list(guarantee.assumptions),
        "events": list(guarantee.events),
    }


def record_json(record: RunRecord, spec: RunSpec, *, features: str) -> Form:
    """A record without its classifier and without non-private diagnostics, in plain JSON types;
    `features` is their name."""
    guarantee = record.guarantee
    return {
        "cell": spec.form,
        "features": features,
        "method": record.method,
        "settings": dict(record.settings),
        "guarantee": {
            "epsilon": dataclasses.asdict(guarantee.epsilon),
            **promise_json(guarantee),
            **_persons(guarantee.rows_per_person),
        },
        "accuracy": record.accuracy,
        "metrics": dict(record.metrics),
        "seconds": record.seconds,
        "facts": dataclasses.asdict(record.facts),
        "public_use": str(record.public_use),
        "notes": list(record.notes),
        "why": list(record.why),
        "device": record.device,
        "versions": made_with(),
    }


def record_of(stored: Values, *, facts: PublicFacts, data: str) -> RunRecord:
    """The record that `record_json` wrote, without classifier and diagnostics. data: the
    fingerprint of its split."""
    spent = stored["guarantee"]
    guarantee = Guarantee(
        EpsilonBounds(**spent["epsilon"]),
        spent["delta"],
        NeighboringRelation(spent["relation"]),
        spent["accountant"],
        tuple(spent["assumptions"]),
        tuple(spent["events"]),
        rows_per_person=spent.get("rows_per_person"),
    )
    return RunRecord(
        **{name: stored[name] for name in ("method", "settings", "accuracy", "metrics", "seconds")},
        guarantee=guarantee,
        seed=stored["cell"]["seed"],
        facts=facts,
        data=data,
        public_use=PublicUse(stored["public_use"]),
        notes=tuple(stored["notes"]),
        why=tuple(stored["why"]),
        device=device_of(stored),
    )


def device_of(record: Values) -> str:
    """Where a stored run was trained; of an older one as its notes say."""
    noted = (note.split()[2] for note in record["notes"] if note.startswith("trained on "))
    return str(record.get("device") or next(noted, "cpu").rstrip(":"))


def refusal_json(refusal: Exception, spec: RunSpec, *, features: str) -> Form:
    """What stands for the record of a spec that cannot run: the message, and the kind of error as
    `cause`."""
    why = {"error": str(refusal), "cause": type(refusal).__name__}
    return {"cell": spec.form, "features": features, **why, "versions": made_with()}


def row_of(record: Values) -> Form:
    """One table row: spec, solved settings and outcome, or the error."""
    spec = record["cell"]
    row: Form = {
        "dataset": spec["data"]["dataset"],
        "backbone": spec["data"]["backbone"],
        "method": spec["method"],
        "epsilon": _budget(record),
        "delta": spec["delta"],
        "relation": spec["relation"],
        "seed": spec["seed"],
        "split_seed": spec["split"]["split_seed"],
        **{name: spec["settings"].get(name) for name in SETTING_COLUMNS},
        **{name: value for name, value in spec["settings"].items() if name not in SETTING_COLUMNS},
        **{name: value for name, value in spec["split"].items() if name != "split_seed"},
        "accuracy": record.get("accuracy"),
        "error_message": record.get("error"),
    }
    if record.get("error") is None:
        row |= {
            name: record["settings"][name] for name in SETTING_COLUMNS if name in record["settings"]
        }
        row |= {name: value for name, value in record["metrics"].items() if name != "per_class"}
        if "imbalance" in spec["split"]:
            row["rarest_accuracy"] = _of_rarest(record["metrics"].get("per_class") or [])
        row |= {
            "epsilon_upper": record["guarantee"]["epsilon"]["upper"],
            "accountant": record["guarantee"]["accountant"],
            **_persons(record["guarantee"].get("rows_per_person")),
            "n_private": record["facts"]["n_private"],
            "n_public": record["facts"]["n_public"],
            "public_use": METHODS[spec["method"]].public_words(record["settings"]),
            "seconds": record["seconds"],
            "device": device_of(record),
        }
    return row


def _persons(most: int | None) -> Form:
    """The entry of a run that protects persons; none of another."""
    return {} if most is None else {"rows_per_person": most}


def _of_rarest(recalls: Sequence[float | None]) -> float:
    """Mean recall of the rarest quarter of the classes that have test rows."""
    known = [recalls[label] for label in rarest(len(recalls))] if recalls else []
    recalls_known = [recall for recall in known if recall is not None]
    return math.fsum(recalls_known) / len(recalls_known) if recalls_known else math.nan


def _budget(record: Values) -> float:
    """The ε asked for; where none was, what the run spent at most: 0 for a learner that reads no
    private row, ∞ without protection."""
    target = record["cell"]["epsilon"]
    if target is not None:
        return float(target)
    return (
        math.inf
        if record.get("error") is not None
        else float(record["guarantee"]["epsilon"]["upper"])
    )
