"""Records of another's making: checked when they come in, shown with a mark beside one's own, and never taken for an answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pillar_core import metrics, params, store
from pillar_core.methods import METHODS
from pillar_core.runs import sweep
from pillar_core.runs.tables import misfit, row_of
from pillar_core.types import RunSpec

__all__ = ["MARK", "OTHER_VERSION", "OWN", "among", "beside", "marked", "problem_of", "read", "take"]

MARK, OWN, OTHER_VERSION = "imported, unverified", "own", "another version"
"""What the column `origin` says of a record; the last of one's own whose key is none of the present code, weights and data."""
KIND = store.IMPORTED
LARGEST = 2**53
_MAPPINGS = ("settings", "split", "data", "dataset_settings")


def take(path: Path | str, *, trusted: bool = False, features: bool = False) -> store.ImportReport:
    """What came of each entry of an exported file; a record that is malformed is refused with the reason, the others come in.

    trusted: the person at this machine vouches for the file (it is their own, say): its records then answer like runs made here,
    and answers of screening and geometry, and with `features` features, come along.

    Raises:
        StoreError: as `Store.import_`; features without `trusted` too.
    """
    kinds = ("record", "arrays") if features else ("record",)
    return store.default().import_(path, kinds=kinds, trusted=trusted, problem_of=problem_of)


def read(key: str) -> Mapping[str, Any] | None:
    """The imported record under `key`; None where there is none, or none that can be shown."""
    record = store.default().get_json(KIND, key)
    return record if isinstance(record, Mapping) and not problem_of(record) else None


def among(cells: Sequence[RunSpec]) -> list[Mapping[str, Any]]:
    """The imported records of those cells that have no record of this machine."""
    cache = store.default()
    keys = [key for key in sweep.keys_of(cells) if not cache.has("record", key)]
    return [record for key in keys if (record := read(key)) is not None]


def marked(name: str) -> str:
    """The name of an imported series."""
    return f"{name} ({MARK})"


def beside(own: pd.DataFrame, theirs: pd.DataFrame, *, name: str) -> pd.DataFrame:
    """Lines over one's own runs, then those over imported ones: `origin` says which, and the column `name` marks theirs."""
    parts = [own.assign(origin=OWN)] if len(own) else []
    parts += [theirs.assign(origin=MARK, **{name: theirs[name].map(marked)})] if len(theirs) else []
    return pd.concat(parts, ignore_index=True) if parts else own


def problem_of(value: object) -> str:
    """Why a value cannot be shown as the record of a run, "" where it can.

    Beyond its parts' types: only settings, split axes and metrics that are known here (their names become columns), plain values
    within their ranges, and no backbone, file or address that a link could not say (`sweep.local_names`): its cell can be exported
    as a grid.
    """
    wrong = misfit(value)
    if wrong or not isinstance(value, Mapping):
        return f"it is no record of a run: {wrong}"
    cell, known = value["cell"], params.params_of(METHODS[value["cell"]["method"]].settings)
    found: Mapping[str, Any] = value if value.get("error") is None else {"settings": {}, "metrics": {}, "facts": {}}
    named = ((cell["settings"], known), (cell["split"], sweep.SPLIT_AXES), (found["settings"], known), (found["metrics"], metrics.METRICS))
    unknown = [str(name)[:80] for names, allowed in named for name in names if name not in allowed]
    if unknown:
        return f"it names what is not known here: {', '.join(unknown[:5])}"
    scores = {name: score for name, score in found["metrics"].items() if name != "per_class"}
    parts = [cell, *(cell[name] for name in ("settings", "split", "data")), found["settings"], found["facts"], scores]
    parts += [one for part in parts for name, one in part.items() if name == "dataset_settings" and isinstance(one, Mapping)]
    if not all(one is None or isinstance(one, str) or _is_number(one) or name in _MAPPINGS for part in parts for name, one in part.items()):
        return "a value of it is no number, word or truth value, or too large"
    said = sweep.local_names({**cell["data"], **cell["settings"]})
    if said:
        return f"it names a file, a program or an address: {', '.join(said)[:200]}"
    try:
        row = row_of(value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        return f"it makes no row of a table: {type(error).__name__} {error}"
    if not all(score is None or (_is_number(score) and 0 <= score <= 1) for score in (value.get("accuracy"), *scores.values())):
        return "an accuracy or another metric of it lies outside [0, 1]"
    spent = (row["epsilon"], row.get("epsilon_upper", 0.0), row["delta"], row.get("seconds", 0.0))
    return "" if all(_is_number(one) and one >= 0 for one in spent) else "an ε, δ or time of it is no number from 0"


def _is_number(value: object) -> bool:
    """Whether it is a number that fits into a column; infinities do."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= LARGEST)
