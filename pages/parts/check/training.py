"""The numbers of your run and the answer; a model's zip and what it states of itself, of which only
its files are verified; and a private test of it on raw rows."""

import dataclasses
import hashlib
import math
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, failures, local, memory, odds, plain, session
from pages.parts.answer import model
from pillar_core import mode
from pillar_core.numerics import round_up
from pillar_core.runs.loaded import load_model, states
from pillar_core.studies import check
from pillar_core.types import Form


def model_panel() -> None:
    """The place to drop a zip, and what it states."""
    if mode.binds():
        st.info(
            f"This is a public server: it takes no files. {mode.ADVICE}", icon=":material/public:"
        )
        return
    file = st.file_uploader(
        label="A model's zip",
        key=local.unlinked_key("check-model", "A file does not travel in a link."),
        type="zip",
    )
    if file is None:
        return
    with failures.show_refusal("This is no model that can be read."):
        statements, assumptions, changed = states(file)
        if changed:
            st.error(
                plain.text(
                    f"This file is not as it was written: {'; '.join(changed)}. Do not use it."
                ),
                icon=":material/warning:",
            )
        else:
            st.success(
                "Its files are whole: each is the one that was written.", icon=":material/check:"
            )
        st.markdown(
            "The model **states** this. Nobody has verified it here, and whoever made the file"
            " could have written anything."
        )
        st.dataframe(
            pd.DataFrame(statements.items(), columns=["what", "as the file states"]),
            hide_index=True,
            key="check-model-states",
        )
        with st.expander("It holds if", icon=":material/rule:"):
            st.markdown("\n".join(f"- {plain.text(line)}" for line in assumptions))
        if not changed:
            _private_test(file)


def _private_test(file: Any) -> None:
    """Rows with labels as they were before the model's recipe or backbone, ε and figure, and the
    button that spends it."""
    why = "A file does not travel in a link, and a link spends no ε."
    hint = (
        "Where one person may have several rows: ε is then a person's, and the first so many count."
    )
    with st.expander("Test it privately on rows with labels", icon=":material/lock:"):
        rows = st.file_uploader(
            label="Rows",
            key=local.unlinked_key("check-rows", why),
            help=(
                "As what the model was trained on was brought: a table, npz or zip of images. All"
                " rows count, or those named as test rows."
            ),
        )
        epsilon, metric = model.controls(len(load_model(file).classes), of="check")
        person = st.text_input(
            label="Column that says whose the rows are",
            key=local.unlinked_key("check-person", why),
            help=hint,
        ).strip()
        most = st.number_input(
            label="Most rows of one person",
            key=local.unlinked_key("check-most", why),
            help=hint,
            min_value=1,
            value=None,
        )
        request = {
            "epsilon": epsilon,
            "metric": metric,
            "person": person or None,
            "rows_per_person": most,
        }
        st.button(
            label="Spend it and test",
            key="check-spend",
            help="The ε is of these rows alone, and each press spends it again.",
            icon=":material/lock:",
            type="primary",
            disabled=rows is None,
            on_click=_spend,
            args=(file, rows, request),
        )
        if words := local.value("check-words", ""):
            badges.show(badges.PRIVATE)
            st.markdown(plain.text(words))


def _spend(file: Any, rows: Any, request: dict[str, Any]) -> None:
    """A test with secret noise; its note is in the cache before its words are kept."""
    before = local.value("check-words", "")
    with failures.note_refusal("Nothing was spent"), tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / Path(rows.name).name
        place.write_bytes(rows.getvalue())
        text = pc.private_test(load_model(file), place, seed=None, **request).text
        said = "\n\n".join(filter(None, [f"{file.name} on {rows.name}: {text}", before]))
        session.surely(lambda: local.put("check-words", said))


_LABELS = {name: field.label for name, field in check.FIELDS.items()}
EXAMPLE = """# An example: paste your own script here.
loader = DataLoader(rows, batch_size=500)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model, optimizer=optimizer, data_loader=loader,
    target_epsilon=3.0, target_delta=1e-5, epochs=20, max_grad_norm=1.0,
)"""
_EITHER = (
    (("epochs", "steps"), "Length in", None),
    (
        ("noise_multiplier", "epsilon"),
        "Noise given as",
        "σ, or the ε that your library solves σ for.",
    ),
)
"""Two ways to say one number, with label and hint of the control that asks for which; it is called
`check-` and the second."""


def script() -> tuple[str, str]:
    """The text that you paste, or of the file that you drop in its place, and the command that
    starts it."""
    pasted = st.text_area(
        label="Script",
        key=local.unlinked_key(
            "check-script", "A script may be long, and it is nobody else's business."
        ),
        help="Python, or a notebook's JSON. It is read and never run.",
        value=EXAMPLE,
        height=220,
        label_visibility="collapsed",
        persist_state="session",
    )
    file = None
    if not mode.binds():
        file = st.file_uploader(
            label="Or a script or notebook as a file",
            key=local.unlinked_key("check-file", "A file does not travel in a link."),
            type=["py", "ipynb", "txt"],
        )
    text = pasted if file is None else file.getvalue().decode("utf-8", errors="replace")
    command = st.text_area(
        label="How you start it",
        key=local.unlinked_key("check-command", "It belongs to a script, which no link has."),
        help="The command line, if it gives options. It is read and never run.",
        placeholder="python train.py --noise_multiplier 1.1 --epochs 20",
        height=68,
        persist_state="session",
    )
    return text.strip(), command.strip()


def inputs(read: check.Reading, *, has_script: bool) -> Form:
    """The numbers of a run by name; with a script they start empty, and you may leave out those
    that it has."""
    hidden = set[str]()
    values = Form()
    for column, (names, label, hint) in zip(st.columns(2), _EITHER, strict=True):
        chosen = next((name for name in names if name in read.values), None)
        if chosen is None:
            with column:
                chosen = local.choice(
                    f"check-{names[1]}",
                    {name: _LABELS[name] for name in names},
                    names[0],
                    label=label,
                    help=hint,
                )
        hidden.add(check.ALTERNATIVES[chosen])
    columns = st.columns(3)
    for place, field in enumerate(
        field for name, field in check.FIELDS.items() if name not in hidden
    ):
        value = read.values.get(field.name)
        with columns[place % 3]:
            parameter = dataclasses.replace(field, none_means="missing") if has_script else field
            words = f"{value:,}, as read" if isinstance(value, int | float) else "missing"
            values[field.name] = local.field(
                parameter,
                name=f"check.script.{field.name}" if has_script else f"check.{field.name}",
                placeholder=words,
            )
    return values


def sampler(*, has_script: bool) -> str | None:
    """How batches are drawn."""
    words = ({"": "As the script says"} if has_script else {}) | check.SAMPLERS
    return (
        local.select(
            "check-sampler",
            words,
            next(iter(words)),
            label="Batches are",
            help=(
                "How rows come into a batch. A DataLoader with shuffle=True shuffles; Opacus turns"
                " it into Poisson samples by default, fastDP and Keras do not."
            ),
        )
        or None
    )


@memory.cache(max_entries=128, show_spinner="Counting …")
def check_numbers(script: str, command: str, sampler: str | None, **numbers: Any) -> check.RunCheck:
    """The checked run, cached."""
    every = dict.fromkeys(check.FIELDS) | numbers
    return check.check_run(**every, sampler=sampler, script=script or None, command=command)


def answer(result: check.RunCheck, script: str) -> None:
    """What is wrong, certified ε by relation, what the library says and what to change; of a script
    once its run is confirmed."""
    if result.problems:
        st.warning(
            "\n".join(f"- {plain.text(line)}" for line in result.problems),
            icon=":material/warning:",
        )
    if not (script and any(result.epsilon.values())):
        _numbers(result)
        with st.expander("What this ε takes for granted", icon=":material/rule:"):
            st.markdown("\n".join(f"- {words}" for words in result.conditions))
    elif _is_confirmed(result, script):
        _numbers(result)


def _is_confirmed(result: check.RunCheck, script: str) -> bool:
    """Whether you confirm that the script's run has these numbers and meets the conditions; a
    change of either asks again."""
    numbers = " · ".join(
        f"{_LABELS.get(name, name.replace('_', ' '))}:"
        f" {value if isinstance(value, str) else f'{value:,.6g}'}"
        for name, value in result.counted.items()
    )
    with st.container(border=True):
        st.markdown(
            f"**Is this your run?** {plain.text(numbers)}\n\n"
            + "\n".join(f"- {words}" for words in result.conditions)
        )
        key = f"check-confirmed-{hashlib.sha256(f'{script}{numbers}'.encode()).hexdigest()[:16]}"
        why = "Who opens a link has another run to answer for."
        return st.checkbox(
            "Yes: my run has these numbers and meets these conditions. Show its ε.",
            key=local.unlinked_key(key, why),
        )


def _numbers(result: check.RunCheck) -> None:
    for column, (relation, bounds) in zip(st.columns(2), result.epsilon.items(), strict=True):
        value = (
            "none proven"
            if bounds is None
            else f"≤ {round_up(bounds.upper)}"
            if math.isfinite(bounds.upper)
            else "∞"
        )
        column.metric(
            f"Proven ε, {odds.relation_words(relation)}",
            value,
            help=result.known[relation],
            border=True,
        )
    for column, figure in zip(
        st.columns(max(len(result.reported), 1)), result.reported, strict=False
    ):
        column.metric(
            plain.text(f"{figure.library} says"),
            f"{figure.epsilon:.4g}",
            help=figure.why,
            border=True,
        )
    if result.advice:
        st.info(
            "\n".join(f"- {plain.text(line)}" for line in result.advice),
            icon=":material/lightbulb:",
        )
    with st.expander("What was counted", icon=":material/table_view:"):
        counted = [(name, str(value)) for name, value in result.counted.items()]
        st.dataframe(
            pd.DataFrame(counted, columns=["counted", "value"]),
            hide_index=True,
            key="check-counted",
        )
