"""What leaves the Runs page: grids as YAML, shell lines and a notebook."""

import json

import pandas as pd
import yaml

from pillar_core.runs import records
from pillar_core.runs import versions as made
from pillar_core.types import Form

_EXPERIMENTS = (
    "Seeds are known: these runs are experiments, not releases. Test accuracy reads test rows without noise and is not covered by ε."
)


def grid_yaml(runs: pd.DataFrame) -> str:
    """The runs as grids, one YAML document per setting, for `python -m pillar_core sweep`."""
    return "".join(
        f"---\n{yaml.safe_dump(_plain(grid), sort_keys=False, allow_unicode=True)}" for grid in records.grid_of(list(runs["key"]))
    )


def command(runs: pd.DataFrame) -> str:
    """Shell lines that train the runs again, with the versions they were made with and those that are here."""
    grids = records.grid_of(list(runs["key"]))
    lines = [f"# made with {versions}" for versions in made_with(runs)] + [f"# here are {made.in_words(made.made_with())}"]
    for number, grid in enumerate(grids, 1):
        lines += [f"cat > runs-{number}.json <<'END'", json.dumps(_plain(grid), ensure_ascii=False), "END"]
        lines += [f"python -m pillar_core sweep runs-{number}.json --output runs-{number}.csv"]
    return "\n".join(lines)


def made_with(runs: pd.DataFrame) -> list[str]:
    """The versions that the runs' records were made with, one line for each different set of them."""
    return [made.in_words(packages) for packages in records.versions_of(list(runs["key"]))] or [made.in_words({})]


def notebook(runs: pd.DataFrame) -> bytes:
    """A Jupyter notebook that trains the runs again (or reads them from the cache) and shows their table."""
    grids = [_plain(grid) for grid in records.grid_of(list(runs["key"]))]
    lines = ("import json", "import pandas as pd", "import pillar_core as pc", f"grids = json.loads({json.dumps(grids)!r})")
    code = "\n\n".join([*lines, "table = pd.concat([pc.sweep(grid) for grid in grids], ignore_index=True)\ntable"])
    versions = "; ".join(made_with(runs)).replace("`", "")
    about = f"# Runs\n\nMade with `{versions}`. {_EXPERIMENTS}\n\nIt needs the package: `pip install .` in the folder of the app."
    cells: list[Form] = [
        {"cell_type": "markdown", "id": "about", "metadata": {}, "source": about},
        {"cell_type": "code", "id": "runs", "metadata": {}, "source": code, "execution_count": None, "outputs": []},
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def _plain(grid: Form) -> Form:
    """With ∞ in words, as YAML and JSON carry it everywhere."""
    return {name: "inf" if value == float("inf") else value for name, value in grid.items()}
