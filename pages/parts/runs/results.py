"""The cache's runs as a table of settings; the filters are in the link, chosen lines are compared below, and grids leave as YAML, shell
lines and a notebook."""

import json
from typing import Any

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import badges, core, exports, local, memory, plain, session, shares, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
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


VIEWS = {"results": "Results", "plan": "Plan", "jobs": "Jobs", "papers": "Papers"}
FILTERS = {"dataset": "Data", "method": "Learner", "k": "k", "epsilon": "ε"}
_MOST_EXPORTED = 200
_COLUMNS = ("learner", "k", "epsilon", "public_fraction", "mean", "low", "high", "seeds", "epsilon_upper", "seconds")


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """Filters, table, chosen lines, exports."""
    if runs.empty:
        words.say("no_runs", st.info, icon="inbox")
        runs = records.all_runs(shipped=True)
    visible = _filter_runs(settings, runs)
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
        _compare(chosen, visible, FigureInfo("runs_overlay", settings, seeds=int(chosen["seeds"].min()), is_synthetic=is_synthetic))
        lines = chosen
    _exports(visible[visible["group"].isin(lines["group"])])


def words_of(line: Any) -> str:
    """A setting in a few words."""
    parts = [str(line["data"]), pc.METHODS[str(line["method"])].title]
    parts += [f"k = {line['k']:g}"] if pd.notna(line.get("k")) else []
    return ", ".join([*parts, f"ε = {line['epsilon']:g}"])


def _filter_runs(settings: Settings, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that the link's filters keep; the controls write the link."""
    filters = read_filters(settings.runs)
    visible = runs
    for column, (name, label) in zip(st.columns(len(FILTERS)), FILTERS.items(), strict=True):
        texts = runs[name].map(_code) if name in runs else pd.Series("", index=runs.index)
        options = sorted(set(texts) - {""}, key=_order)
        key = f"runs-filter-{name}"
        session.fill(key, [value for value in filters.get(name, []) if value in options])
        titles = {learner: method.title for learner, method in pc.METHODS.items()} if name == "method" else {}
        titles |= dict(zip(runs["dataset"], runs["data"], strict=True)) if name == "dataset" else {}
        labels = {code: titles.get(code, _word(code)) for code in options}
        style: dict[str, Any] = local.element("runs-filter", of=name, label=label) | {"format_func": labels.__getitem__}
        column.multiselect(**style, options=options, on_change=_rewrite)
        chosen = st.session_state[key]
        visible = visible[texts.loc[visible.index].isin(chosen)] if chosen else visible
    return visible


def read_filters(text: str) -> dict[str, list[str]]:
    """“method:pillar,gep;epsilon:0.1” as values by column."""
    pairs = [part.partition(":") for part in text.split(";")]
    return {name: values.split(",") for name, _, values in pairs if name in FILTERS and values}


def view(text: str) -> str:
    """The view that the link asks for, else the results; the control writes the link."""
    start = "results"
    wanted = next((value for name, _, value in (part.partition(":") for part in text.split(";")) if name == "view"), start)
    key = "runs-view"
    session.fill(key, wanted if wanted in VIEWS else start)
    st.segmented_control(**local.element(key), options=list(VIEWS), format_func=VIEWS.__getitem__, on_change=_rewrite)
    return wanted if wanted in VIEWS else start


def _rewrite() -> None:
    """Writes view and filters to the link; filters that are not drawn stay as they were."""
    before = read_filters(session.current().runs)
    chosen = {name: st.session_state.get(f"runs-filter-{name}", before.get(name, [])) for name in FILTERS}
    parts = [f"{name}:{','.join(values)}" for name, values in chosen.items() if values]
    visible = st.session_state["runs-view"]
    session.change(runs=";".join([f"view:{visible}", *parts] if visible else parts))


@memory.cache(max_entries=8, is_free=True)
def _lines(keys: str, _shown: pd.DataFrame) -> pd.DataFrame:
    return records.lines(_shown)


def _table(lines: pd.DataFrame) -> pd.DataFrame:
    """The settings, a list for each data set, and those that were chosen."""
    percent = {name: 100 * lines[name] for name in ("mean", "low", "high")}
    visible = lines.assign(**percent, learner=lines["method"].map(lambda name: pc.METHODS[name].title))
    for name in {"k", "epsilon", "public_fraction"} & set(visible):
        visible[name] = visible[name].map(_text)
    visible["epsilon_upper"] = visible["epsilon_upper"].map(lambda value: _word(f"{value:.4g}"))
    visible = visible[[name for name in _COLUMNS if name in visible and visible[name].notna().any()]]
    st.caption(f"{len(lines):,} settings, {int(lines['seeds'].sum()):,} runs. Choose lines at the left to compare them.")
    chosen = []
    for dataset, part in lines.groupby("dataset", sort=False):
        st.markdown(f"**{plain.text(str(part['data'].iloc[0]))}**")
        chosen.append(_choose_lines(visible.loc[part.index], str(dataset)))
    return lines.loc[[label for labels in chosen for label in labels]]


def _choose_lines(visible: pd.DataFrame, dataset: str) -> list[Any]:
    """One data set's settings, best first; the labels of those that were chosen."""
    event: Any = st.dataframe(
        visible,
        hide_index=True,
        key=f"table-runs-{dataset}",
        height=min(38 + 35 * len(visible), 400),
        on_select="rerun",
        selection_mode="multi-row",
        column_config=words.columns("runs"),
    )
    return [visible.index[row] for row in event.selection.rows if row < len(visible)]


def _show_refusals(visible: pd.DataFrame) -> None:
    """The settings that could not run, each with its cause."""
    refused = records.refusals(visible)
    if refused.empty:
        return
    label = f"{int(refused['seeds'].sum()):,} runs were refused, in {len(refused):,} settings"
    with st.expander(label, icon=":material/block:"):
        st.markdown("The library refused these before or while training; the cache keeps the reason, so a sweep does not try them again.")
        table = refused.drop(columns=["dataset"]).dropna(axis=1, how="all")
        table["epsilon"] = table["epsilon"].map(_text)
        config = {"error_message": st.column_config.TextColumn("why", width="large")}
        st.dataframe(table, hide_index=True, key="runs-refused", column_config=config)


def _compare(chosen: pd.DataFrame, visible: pd.DataFrame, info: FigureInfo) -> None:
    """The chosen settings over each other, and what differs between them."""
    rows = visible[visible["group"].isin(chosen["group"])]
    labels = {str(line["group"]): words_of(line) for _, line in chosen.iterrows()}
    figure = plots.overlay(rows, chosen, labels=labels, mode=theme.mode())
    show_figure(figure, rows.drop(columns=["group"]).dropna(axis=1, how="all"), info)
    if len(chosen) > 1:
        differing = [name for name in ("data", *records.AXES[1:]) if name in chosen and chosen[name].map(_text).nunique() > 1]
        st.markdown("**What differs**")
        table = chosen[differing].map(_text).T.set_axis([f"{number + 1}" for number in range(len(chosen))], axis=1)
        st.dataframe(table.rename_axis("setting").reset_index(), hide_index=True, key="runs-differences")


def _exports(runs: pd.DataFrame) -> None:
    with st.expander(f"Export these {len(runs):,} runs", icon=":material/download:"):
        if len(runs) > _MOST_EXPORTED:
            st.caption(f"Grids and notebook hold at most {_MOST_EXPORTED} runs: choose lines or filters to say which.")
        few = runs.head(_MOST_EXPORTED)
        files = {
            "CSV": (lambda: exports.csv(runs), "runs.csv", "text/csv"),
            "YAML": (lambda: grid_yaml(few).encode(), "runs.yaml", "text/yaml"),
            "Notebook": (lambda: notebook(few), "runs.ipynb", "application/x-ipynb+json"),
        }
        with st.container(horizontal=True):
            for label, (make, name, mime) in files.items():
                data, icon = shares.charge(make), ":material/download:"
                st.download_button(label, data, name, mime, key=f"runs-{name}", on_click="ignore", icon=icon)
        st.caption("The same from a terminal, with the versions at hand:")
        st.code(command(few.head(20)), language="bash")


def _code(value: object) -> str:
    """A value as the link's filters write it, in ASCII."""
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _text(value: object) -> str:
    """A value in words for people."""
    return _word(_code(value))


def _word(code: str) -> str:
    return "∞" if code == "inf" else code


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text
