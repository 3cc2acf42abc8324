"""What leaves the app with a figure: settings as YAML, the command that repeats it, the table as CSV."""

import contextlib
import dataclasses
import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

import pandas as pd
import yaml

from pages.frame import core
from pages.frame import settings as codec
from pages.frame.settings import AUTO, Settings
from pillar_core import store
from pillar_core.arrays import Json
from pillar_core.errors import PillarError
from pillar_core.plots.theme import Figure
from pillar_core.runs.records import without_formulas
from pillar_core.runs.repeated import file_of

_PIN_COLUMNS = ("data", "public", "method", "k", "epsilon", "seed")
"""What a table of pins says of each."""


def settings_yaml(settings: Settings) -> str:
    """Every setting, and the end of an address of the app that opens with them, readable by `yaml.safe_load`."""
    link = {"link": f"?{urlencode(codec.to_query(settings))}"}
    return str(yaml.safe_dump(link | dataclasses.asdict(settings), sort_keys=False, allow_unicode=True))


def command_line(settings: Settings) -> str:
    """The shell command that trains the same run."""
    run_spec = core.spec(settings)
    arguments = ["python", "-m", "pillar_core", "run", "--method", run_spec.method, *data_words(settings, core.public_axis(settings))]
    arguments += [] if run_spec.epsilon is None else ["--epsilon", f"{run_spec.epsilon:g}"]
    arguments += ["--delta", f"{run_spec.delta:g}", "--accountant", run_spec.accountant, "--relation", run_spec.relation]
    for name, value in run_spec.settings.items():
        arguments += ["--set", f"{name}={value}"]
    return shlex.join([*arguments, "--seed", str(run_spec.seed)])


def data_words(settings: Settings, public: Mapping[str, Json]) -> list[str]:
    """The options of a command that name the data and say, as the axis `public` does, which rows are public."""
    options = ["--dataset", file_of(settings.data), *([] if settings.backbone == AUTO else ["--backbone", settings.backbone])]
    named = {name: file_of(value) if name == "public" else str(value) for name, value in public.items()}
    return options + [word for name, value in named.items() for word in (f"--{name.replace('_', '-')}", value)]


def csv(table: pd.DataFrame) -> bytes:
    """The table as UTF-8 CSV that holds no formulas."""
    return without_formulas(table).to_csv(index=False).encode()


def page(figure: Figure) -> bytes:
    """The figure as an HTML page that needs no server; the same bytes each time."""
    return bytes(figure.to_html(div_id="figure").encode())


def pins(settings: Settings) -> pd.DataFrame:
    """The pinned settings with the accuracy of their runs where those were trained: columns pin, data, public, method, k, …, accuracy."""
    rows = []
    for letter, pinned in codec.pins(settings).items():
        with contextlib.suppress(PillarError):  # rows that are gone
            record = store.default().get_json("record", core.run_key(pinned)) or {}
            rows.append({"pin": letter} | {name: getattr(pinned, name) for name in _PIN_COLUMNS} | {"accuracy": record.get("accuracy")})
    return pd.DataFrame(rows, columns=["pin", *_PIN_COLUMNS, "accuracy"])
