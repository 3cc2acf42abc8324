"""A model's zip and what it states of itself; of that, only whether its files are whole is found out."""

import pandas as pd
import streamlit as st

from pages.frame import failures, local, plain
from pillar_core import mode
from pillar_core.runs.loaded import states


def panel() -> None:
    """The place to drop a zip, and what it states."""
    if mode.binds():
        st.info(f"This is a public server: it takes no files. {mode.ADVICE}", icon=":material/public:")
        return
    key = local.unlinked_key("check-model", "A file does not travel in a link.")
    file = st.file_uploader("A model's zip", type="zip", key=key, help="As this app or `run --export` wrote it.")
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
