"""The grid builder: axes in, and before anything starts the count, the time, the disk and what is cached already."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import core, jobs, local, theme
from pages.frame.settings import EPSILONS, KS, Settings
from pillar_core.data import uploads, visitors
from pillar_core.errors import SettingError
from pillar_core.runs import records, sweep
from pillar_core.store.codec import decode_yaml

_EPSILON_WORDS = {f"{value:g}": value for value in EPSILONS}
_METHODS = ("pillar", "dp_sgd")
_WORKERS = 2
_SEEDS = [1, 2, 3, 5, 10, 20]


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """The builder with its numbers and the state of its job."""
    grid = _builder(settings) | _further()
    estimate = records.estimate(grid, runs)
    missing = int(estimate["cells"] - estimate["cached"])
    seconds = estimate["seconds"] / _WORKERS
    theme.metrics(
        ("Runs", f"{estimate['cells']:,.0f}", "Combinations of everything chosen; a learner without k is not multiplied by k."),
        ("In the cache", f"{estimate['cached']:,.0f}", "Runs that were trained before and are not trained again."),
        (
            "Time",
            jobs.duration(seconds) if missing else "none",
            "From the same learners' runs on this machine, two workers; one second where none ran.",
        ),
        ("Disk", f"{estimate['bytes'] / 1000:,.0f} kB", "Records of the missing runs; features are not counted."),
    )
    if missing:
        jobs.panel(
            [{"kind": "sweep", "grid": grid}],
            what=f"Sweep of {estimate['cells']:,.0f} runs",
            seconds=seconds,
            cost="On real private rows each of these models is a further release, and their ε compose.",
            found=int(estimate["cached"]),
            total=int(estimate["cells"]),
        )
    else:
        st.success(
            "Every run of this grid is there already: your own under **Results**, those that ship on **Home** and **Explore**.",
            icon=":material/check_circle:",
        )
    _offer(grid)


def _builder(settings: Settings) -> dict[str, Any]:
    """The axes, two rows of controls."""
    with st.container(border=True, key="plan"):
        left, right = st.columns(2)
        with left:
            brought = [one.name for one in uploads.listed() if one.is_labelled]
            names = list(dict.fromkeys([settings.data, *visitors.offered("dataset", pc.DATASETS), *brought]))
            data = local.several(
                "Private data",
                names,
                [settings.data],
                name="plan-data",
                are_many=True,
                title=records.data_words,
                help="Each data set is swept in full.",
            )
            methods = local.several(
                "Learners",
                list(pc.METHODS),
                list(_METHODS),
                name="plan-methods",
                are_many=True,
                title=lambda name: pc.METHODS[name].title,
                help="With their own defaults.",
            )
            fraction = local.slider("Share that is public", [0.01, 0.05, 0.1, 0.2, 0.5], 0.1, name="plan-share", help="Of the train rows.")
        with right:
            ks = local.several(
                "k", [str(k) for k in KS], ["10", "40"], name="plan-k", are_many=True, help="Directions kept, for learners that project."
            )
            budgets = local.several(
                "ε", list(_EPSILON_WORDS), ["0.1", "0.7", "2"], name="plan-epsilon", are_many=True, help="Budgets; inf is no noise."
            )
            seeds = local.slider(
                "Seeds",
                _SEEDS,
                min(_SEEDS, key=lambda count: abs(count - settings.seeds)),
                name="plan-seeds",
                help="Runs per setting; seed s sets split and noise.",
            )
    grid = {
        "dataset": data,
        "method": methods,
        "epsilon": ["inf" if word == "inf" else _EPSILON_WORDS[word] for word in budgets],
        "public_fraction": fraction,
        "delta": settings.delta,
        "relation": settings.relation,
        "accountant": settings.accountant,
        "seed": list(range(settings.seed, settings.seed + seeds)),
    }
    if core.backbone(settings) is not None:
        grid["backbone"] = core.backbone(settings)
    return grid | ({"k": [int(k) for k in ks]} if any(core.has_k(name) for name in methods) else {})


def _further() -> dict[str, Any]:
    """Axes that have no control of their own, as YAML: settings of the learners and of the split."""
    with st.expander("More axes: settings of the learners and of the split", icon=":material/add:"):
        st.caption("One per line, as YAML: `learning_rate: [0.5, 2]`, `bias: [true, false]`, `public_per_class: 5`; a whole grid, too.")
        hint = "Any setting of the chosen learners, and public_fraction, public_per_class, public, validation_fraction, split_seed, preset."
        try:
            text = local.text("More axes", name="plan-more", height=100, help=hint, unlinked="Free text; the grid's own file carries it.")
            parsed, *more = decode_yaml(text) or [{}]
        except ValueError as error:
            raise SettingError(f"the further axes cannot be read: {error}") from error
    parsed = {} if parsed is None else parsed
    if more or not isinstance(parsed, dict):
        raise SettingError("the further axes must be lines of the form `name: value` or `name: [value, value]`.")
    axes = {str(name): value for name, value in parsed.items()}
    refuse_local(axes)
    return axes


def refuse_local(axes: Mapping[str, Any]) -> None:
    """Refuses what only the person at this machine may name.

    Raises:
        SettingError: files, programs or addresses among the axes. StoreError: rows that other people brought.
    """
    uploads.refuse_foreign(axes)
    visitors.refuse_names(axes)
    local_names = sweep.local_names(axes)
    if local_names:
        raise SettingError(
            f"{', '.join(local_names)} names a file, a program or an address. A backbone is chosen on the page Data & backbone; "
            "everything else on the command line: python -m pillar_core sweep grid.yaml."
        )


def _offer(grid: dict[str, Any]) -> None:
    """The grid as a file, for the command line."""
    text = yaml.safe_dump(grid, sort_keys=False, allow_unicode=True)
    hint = "The same sweep from a terminal: `python -m pillar_core sweep grid.yaml`."
    st.download_button(
        "Grid as YAML", text, "grid.yaml", "text/yaml", key="plan-yaml", on_click="ignore", help=hint, icon=":material/download:"
    )
