"""The cache's runs as a table of settings; the filters are in the link, chosen lines are compared
below, and grids leave as YAML and shell lines."""

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import (
    badges,
    core,
    exports,
    local,
    memory,
    navigation,
    plain,
    shares,
)
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import AUTO, NONE, PARAMS, PART, RULE, Settings
from pillar_core import plots
from pillar_core.numerics import number_words, round_up
from pillar_core.runs import records, splitting, sweep
from pillar_core.runs import versions as made
from pillar_core.types import Form


def grids(runs: pd.DataFrame) -> str:
    """The runs as grids, one document of YAML per setting, for `python -m pillar_core sweep`; ∞ is
    a word in it."""
    plain_grids = (
        {name: "inf" if value == float("inf") else value for name, value in grid.items()}
        for grid in records.grid_of(list(runs["key"]))
    )
    return "---\n".join(
        yaml.safe_dump(grid, sort_keys=False, allow_unicode=True) for grid in plain_grids
    )


def command(runs: pd.DataFrame) -> str:
    """Shell lines that train the runs again, with the versions they were made with and those that
    are here."""
    versions = map(made.in_words, records.versions_of(list(runs["key"])) or [{}])
    lines = [
        *(f"# made with {packages}" for packages in versions),
        f"# here are {made.in_words(made.made_with())}",
    ]
    again = "python -m pillar_core sweep runs.yaml --output runs.csv"
    return "\n".join([*lines, "cat > runs.yaml <<'END'", f"{grids(runs)}END", again])


_CONFIG = {
    "epsilon": st.column_config.TextColumn("ε asked"),
    "public_fraction": st.column_config.TextColumn("public share"),
    "mean": st.column_config.ProgressColumn(
        "test accuracy, %", format="%.1f", min_value=0, max_value=100
    ),
    "low": st.column_config.NumberColumn("95 % from", format="%.1f"),
    "high": st.column_config.NumberColumn("to", format="%.1f"),
    "epsilon_upper": st.column_config.TextColumn("ε spent, upper bound"),
    "seconds": st.column_config.NumberColumn("seconds a run", format="%.2f"),
}
"""How the table shows its columns."""
FILTERS = {"dataset": "Data", "method": "Learner", "k": "k", "epsilon": "ε"}
_MOST_EXPORTED, _MOST_LINKS = 200, 8
_COLUMNS = (
    "data",
    "learner",
    "k",
    "epsilon",
    "mean",
    "low",
    "high",
    "seeds",
    "epsilon_upper",
    "public_fraction",
    "seconds",
)


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """Filters, table, chosen lines, exports."""
    if runs.empty:
        st.info(
            "The cache holds no runs yet; these came with the library. Build a grid of your own"
            " under **Plan**, or bring runs: `python -m pillar_core cache import runs.zip`.",
            icon=":material/inbox:",
        )
        runs = records.all_runs(shipped=True)
    visible = _filter_runs(runs)
    if visible.empty:
        st.info("No run fits these filters.", icon=":material/filter_alt_off:")
        return
    _show_refusals(visible)
    lines = _lines(",".join(visible["key"] + visible["data"]), visible)
    if lines.empty:
        return
    visible = visible[visible["error_message"].isna()]
    is_synthetic = any(map(core.is_synthetic, visible["dataset"].unique()))
    badges.show_row(*badges.DIAGNOSTIC, *([badges.SYNTHETIC] if is_synthetic else []))
    chosen = _table(lines)
    if len(chosen):
        _link(chosen, visible)
        _compare(
            chosen,
            visible,
            FigureInfo(
                "runs_overlay",
                settings,
                seeds=int(chosen["seeds"].min()),
                is_synthetic=is_synthetic,
            ),
        )
        lines = chosen
    _exports(visible[visible["group"].isin(lines["group"])])


def words_of(line: Any) -> str:
    """A setting in a few words."""
    parts = [str(line["data"]), pc.METHODS[str(line["method"])].title]
    parts += [f"k = {line['k']:g}"] if pd.notna(line.get("k")) else []
    return ", ".join([*parts, f"ε = {_text(line['epsilon'])}"])


def settings_of(keys: Sequence[str]) -> tuple[Settings, str]:
    """What a link to these runs of one setting holds, and why Curves then shows others ("": it
    shows these)."""
    (grid,) = records.grid_of(keys)
    axes, seeds = dict(grid), set(grid["seed"])
    first = axes["seed"] = min(seeds)
    many = next(count for count in itertools.count(1) if first + count not in seeds)
    public = grid.get("public", PART if "public_fraction" in grid else NONE)
    values: Form = {
        name: grid[name]
        for name in ("method", "public_fraction", "epsilon", "delta", "relation", "accountant")
        if name in grid
    }
    is_usual = grid.get("backbone") == splitting.default_backbone(grid["dataset"])
    values |= {
        "data": grid["dataset"],
        "public": public,
        "k": grid.get("k", RULE),
        "seed": first,
        "seeds": min(many, PARAMS["seeds"].high),
        "backbone": AUTO if is_usual else grid["backbone"],
    }
    settings, notes = codec.from_query(codec.to_query(Settings(**values)))
    if more := [
        f"{name} = {value}"
        for name, value in grid.items()
        if name not in (*values, "dataset", "seed")
    ]:
        return settings, f"Curves has no control for {', '.join(more)}."
    is_same = notes or core.spec(settings) == sweep.specs_of(axes)[0]
    return settings, " ".join(notes) if is_same else "Curves does not show such a run."


def _filter_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that the filters keep."""
    visible = runs
    titles = {name: method.title for name, method in pc.METHODS.items()}
    titles |= dict(zip(runs["dataset"], runs["data"], strict=True))
    for column, (name, label) in zip(st.columns(len(FILTERS)), FILTERS.items(), strict=True):
        values = runs[name] if name in runs else pd.Series(index=runs.index, dtype=object)
        texts, options = values.map(_code), dict.fromkeys(values.dropna().sort_values().map(_code))
        labels = {code: titles.get(code, _word(code)) for code in options}
        with column:
            chosen = local.choices(
                f"runs-{name}", labels, [], label=label, are_many=True, placeholder="all"
            )
        visible = visible[texts.loc[visible.index].isin(chosen)] if chosen else visible
    return visible


@memory.cache(max_entries=8, is_free=True)
def _lines(keys: str, _shown: pd.DataFrame) -> pd.DataFrame:
    return records.lines(_shown)


def _table(lines: pd.DataFrame) -> pd.DataFrame:
    """The settings, best first within a data set, and those that were chosen."""
    lines = lines.sort_values("data", kind="stable")
    percent = {name: 100 * lines[name] for name in ("mean", "low", "high")}
    visible = lines.assign(
        **percent, learner=lines["method"].map(lambda name: pc.METHODS[name].title)
    )
    for name in {"k", "epsilon", "public_fraction"} & set(visible):
        visible[name] = visible[name].map(_text)
    visible["epsilon_upper"] = [_word(round_up(value)) for value in visible["epsilon_upper"]]
    visible = visible[
        [name for name in _COLUMNS if name in visible and visible[name].notna().any()]
    ]
    count = f"{len(lines):,} settings, {int(lines['seeds'].sum()):,} runs"
    st.caption(f"{count}. Choose lines at the left to compare them, and to open them on Curves.")
    event: Any = st.dataframe(
        visible,
        hide_index=True,
        key="table-runs",
        height=min(38 + 35 * len(visible), 400),
        on_select="rerun",
        selection_mode="multi-row",
        column_config=_CONFIG,
    )
    return lines.iloc[[row for row in event.selection.rows if row < len(visible)]]


def _link(chosen: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Links to the chosen settings on Curves."""
    for _, line in chosen.head(_MOST_LINKS).iterrows():
        settings, reason = settings_of(list(runs.loc[runs["group"] == line["group"], "key"]))
        if reason:
            st.caption(plain.text(f"{words_of(line)}: {reason}"))
        else:
            changes = {name: getattr(settings, name) for name in (*codec.PINNED, "controls")}
            navigation.link(
                "curves",
                plain.text(f"Open on {navigation.title('curves')}: {words_of(line)}"),
                icon=":material/show_chart:",
                changes=changes,
            )


def _show_refusals(visible: pd.DataFrame) -> None:
    """The settings that could not run, each with its cause."""
    refused = records.refusals(visible)
    if refused.empty:
        return
    label = f"{int(refused['seeds'].sum()):,} runs were refused, in {len(refused):,} settings"
    with st.expander(label, icon=":material/block:"):
        st.markdown(
            "The library refused these before or while training; the cache keeps the reason, so a"
            " sweep does not try them again."
        )
        table = refused.drop(columns=["dataset"]).dropna(axis=1, how="all")
        table["epsilon"] = table["epsilon"].map(_text)
        config = {"error_message": st.column_config.TextColumn("why", width="large")}
        st.dataframe(table, hide_index=True, key="runs-refused", column_config=config)


def _compare(chosen: pd.DataFrame, visible: pd.DataFrame, info: FigureInfo) -> None:
    """The chosen settings over each other, and what differs between them."""
    rows = visible[visible["group"].isin(chosen["group"])]
    labels = {str(line["group"]): words_of(line) for _, line in chosen.iterrows()}
    figure = plots.overlay(rows, chosen, labels=labels)
    show_figure(figure, rows.drop(columns=["group"]).dropna(axis=1, how="all"), info)
    if len(chosen) > 1:
        differing = [
            name
            for name in ("data", *records.AXES[1:])
            if name in chosen and chosen[name].map(_text).nunique() > 1
        ]
        st.markdown("**What differs**")
        table = (
            chosen[differing]
            .map(_text)
            .T.set_axis([f"{number + 1}" for number in range(len(chosen))], axis=1)
        )
        st.dataframe(
            table.rename_axis("setting").reset_index(), hide_index=True, key="runs-differences"
        )


def _exports(runs: pd.DataFrame) -> None:
    with st.expander(f"Export these {len(runs):,} runs", icon=":material/download:"):
        if len(runs) > _MOST_EXPORTED:
            st.caption(
                f"The grids hold at most {_MOST_EXPORTED} runs: choose lines or filters to say"
                " which."
            )
        few = runs.head(_MOST_EXPORTED)
        table = shares.charge(lambda: exports.csv(runs))
        plan = shares.charge(lambda: grids(few).encode())
        with st.container(horizontal=True):
            exports.download_buttons("runs", {"CSV": ("csv", table), "YAML": ("yaml", plan)})
        st.caption("The same from a terminal, with the versions at hand:")
        st.code(command(few.head(20)), language="bash")


def _code(value: object) -> str:
    """A value as the link's filters write it, in ASCII."""
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _text(value: object) -> str:
    """A value in words for people."""
    return (
        number_words(value) if isinstance(value, float) and 0 < value < 1 else _word(_code(value))
    )


def _word(code: str) -> str:
    return "∞" if code == "inf" else code
