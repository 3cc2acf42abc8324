"""What leaves the Runs page: rows as CSV, grids as YAML, a notebook and a report that stands on its own."""

import html
import json
import math
from typing import Any

import pandas as pd
import yaml

from pillar_core.plots.theme import Figure
from pillar_core.runs import records
from pillar_core.runs import versions as made

_STYLE = (
    "body{font:15px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.3rem .7rem;border-bottom:1px solid #ccc;text-align:left}"
)
_SPEAKS = "Seeds are known: these runs are experiments, not releases. Test accuracy reads test rows without noise and is not covered by ε."


def grid_yaml(runs: pd.DataFrame) -> str:
    """The runs as grids, one YAML document per setting, for `python -m pillar_core sweep`."""
    return "".join(
        f"---\n{yaml.safe_dump(_plain(grid), sort_keys=False, allow_unicode=True)}" for grid in records.grid_of(list(runs["key"]))
    )


def command(runs: pd.DataFrame) -> str:
    """Shell lines that train the runs again, with the versions they were made with and those that are here."""
    grids = records.grid_of(list(runs["key"]))
    lines = [f"# made with {versions_text}" for versions_text in made_with(runs)] + [f"# here are {versions()}"]
    for number, grid in enumerate(grids, 1):
        lines += [f"cat > runs-{number}.json <<'END'", json.dumps(_plain(grid), ensure_ascii=False), "END"]
        lines += [f"python -m pillar_core sweep runs-{number}.json --output runs-{number}.csv"]
    return "\n".join(lines)


def versions() -> str:
    """The versions here that decide a run's numbers."""
    return made.in_words(made.made_with())


def made_with(runs: pd.DataFrame) -> list[str]:
    """The versions that the runs' records were made with, one line for each different set of them."""
    return [made.in_words(packages) for packages in records.versions_of(list(runs["key"]))] or [made.in_words({})]


def notebook(runs: pd.DataFrame) -> bytes:
    """A Jupyter notebook that trains the runs again (or reads them from the cache) and shows their table."""
    grids = [_plain(grid) for grid in records.grid_of(list(runs["key"]))]
    lines = ("import json", "import pandas as pd", "import pillar_core as pc", f"grids = json.loads({json.dumps(grids)!r})")
    code = "\n\n".join([*lines, "table = pd.concat([pc.sweep(grid) for grid in grids], ignore_index=True)\ntable"])
    versions_text = "; ".join(made_with(runs)).replace("`", "")
    about = f"# Runs\n\nMade with `{versions_text}`. {_SPEAKS}\n\nIt needs the package: `pip install .` in the folder of the app."
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "about", "metadata": {}, "source": about},
        {"cell_type": "code", "id": "runs", "metadata": {}, "source": code, "execution_count": None, "outputs": []},
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def report(lines: pd.DataFrame, runs: pd.DataFrame, figures: list[Figure]) -> bytes:
    """One HTML file with figures, both tables and the way to repeat them; it asks no server for anything."""
    drawings = [
        figure.to_html(full_html=False, include_plotlyjs=number == 0, div_id=f"figure-{number}") for number, figure in enumerate(figures)
    ]
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Runs</title><style>{_STYLE}</style><h1>Runs</h1>",
        f"<p>{html.escape(_SPEAKS)}</p>",
        *drawings,
        "<h2>Settings, mean over seeds</h2>",
        _html(lines.drop(columns=["group"])),
        "<h2>Runs, one row per seed</h2>",
        _html(runs.drop(columns=["group"])),
        f"<h2>Again</h2><pre>{html.escape(command(runs))}</pre></html>",
    ]
    return "\n".join(parts).encode()


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table in words: ∞ for what is infinite, nothing for what is not there, no column that is empty."""
    return table.dropna(axis=1, how="all").map(_word)


def _word(value: object) -> object:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:.6g}"
    return value


def _html(table: pd.DataFrame) -> str:
    return str(readable(table).to_html(index=False))


def _plain(grid: dict[str, Any]) -> dict[str, Any]:
    """With ∞ in words, as YAML and JSON carry it everywhere."""
    return {name: "inf" if value == float("inf") else value for name, value in grid.items()}
