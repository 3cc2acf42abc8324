"""A model's zip and what it states of itself, of which only its files are verified; and a private test of it on raw rows."""

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, failures, local, plain
from pages.parts.answer import private_test
from pillar_core import mode
from pillar_core.runs.loaded import load_model, states


def panel() -> None:
    """The place to drop a zip, and what it states."""
    if mode.binds():
        st.info(f"This is a public server: it takes no files. {mode.ADVICE}", icon=":material/public:")
        return
    file = st.file_uploader(**local.element("check-model"))
    if file is None:
        return
    with failures.show_refusal("This is no model that can be read."):
        statements, assumptions, changed = states(file)
        if changed:
            st.error(plain.text(f"This file is not as it was written: {'; '.join(changed)}. Do not use it."), icon=":material/warning:")
        else:
            st.success("Its files are whole: each is the one that was written.", icon=":material/check:")
        st.markdown("The model **states** this. Nobody has verified it here, and whoever made the file could have written anything.")
        st.dataframe(pd.DataFrame(statements.items(), columns=["what", "as the file states"]), hide_index=True, key="check-model-states")
        with st.expander("It holds if", icon=":material/rule:"):
            st.markdown("\n".join(f"- {plain.text(line)}" for line in assumptions))
        if not changed:
            _private_test(file)


def _private_test(file: Any) -> None:
    """Rows with labels as they were before the model's recipe or backbone, ε and figure, and the button that spends it."""
    with st.expander("Test it privately on rows with labels", icon=":material/lock:"):
        rows = st.file_uploader(**local.element("check-rows"))
        epsilon, metric = private_test.controls(len(load_model(file).classes), of="check")
        person = st.text_input(**local.element("check-person")).strip()
        most = st.number_input(**local.element("check-most"), value=None)
        request = {"epsilon": epsilon, "metric": metric, "person": person or None, "rows_per_person": most}
        st.button(**local.element("check-spend"), disabled=rows is None, on_click=_spend, args=(file, rows, request))
        if words := local.value("check-words", ""):
            badges.show(badges.PRIVATE)
            st.markdown(plain.text(words))


def _spend(file: Any, rows: Any, request: dict[str, Any]) -> None:
    """A test with secret noise; its note is in the cache before its words are kept."""
    local.put("check-words", "")
    with failures.note_refusal("Nothing was spent"), tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / Path(rows.name).name
        place.write_bytes(rows.getvalue())
        local.put("check-words", pc.private_test(load_model(file), place, seed=None, **request).text)
