"""The grid builder: axes in, and before anything starts the count, the time, the disk and what is cached already."""

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import core, jobs, local, shares, words
from pages.frame.settings import EPSILONS, KS, Settings, choices
from pillar_core.data import uploads
from pillar_core.runs import records
from pillar_core.types import Form

_EPSILON_WORDS = {f"{value:g}": value for value in EPSILONS}
_WORKERS = 2
_SEEDS = [1, 2, 3, 5, 10, 20]


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """The builder with its numbers and the state of its job."""
    grid = _builder(settings)
    with shares.turn():
        estimate = records.estimate(grid, runs)
    missing = int(estimate["cells"] - estimate["cached"])
    seconds = estimate["seconds"] / _WORKERS
    numbers = {
        "runs": f"{estimate['cells']:,.0f}",
        "cached": f"{estimate['cached']:,.0f}",
        "time": jobs.duration(seconds) if missing else "none",
        "disk": f"{estimate['bytes'] / 1000:,.0f} kB",
    }
    words.metrics("plan", numbers)
    if missing:
        title, cost = f"Sweep of {estimate['cells']:,.0f} runs", f"{jobs.RELEASES}."
        work = jobs.Work(title, seconds, cost, int(estimate["cached"]), int(estimate["cells"]))
        jobs.panel([{"kind": "sweep", "grid": grid}], work)
    else:
        st.success(
            "Every run of this grid is there already: your own under **Results**, those that ship on **Home** and **Explore**.",
            icon=":material/check_circle:",
        )
    st.download_button(**local.element("plan-yaml"), data=yaml.safe_dump(grid, sort_keys=False, allow_unicode=True))


def _builder(settings: Settings) -> Form:
    """The axes, two rows of controls."""
    with st.container(border=True, key="plan"):
        left, right = st.columns(2)
        with left:
            brought = [upload.name for upload in uploads.list_uploads() if upload.is_labelled]
            names = list(dict.fromkeys([settings.data, *choices("data"), *brought]))
            data = local.choices("plan-data", names, [settings.data], title=records.data_words)
            methods = local.choices("plan-methods", {name: method.title for name, method in pc.METHODS.items()})
            fraction = local.slider("plan-share")
        with right:
            ks = local.choices("plan-k", [str(k) for k in KS])
            budgets = local.choices("plan-epsilon", list(_EPSILON_WORDS))
            seeds = local.slider("plan-seeds", _SEEDS, min(_SEEDS, key=lambda count: abs(count - settings.seeds)))
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
