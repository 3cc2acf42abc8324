"""The pages' words from `words.toml`: titles, how numbers were computed, and badges."""

from pathlib import Path

import streamlit as st

from pages.frame import theme
from pillar_core.arrays import Json
from pillar_core.registry import toml_tables

WORDS: dict[str, dict[str, Json]] = toml_tables(Path(__file__).parents[1] / "words.toml")


def title(page: str) -> None:
    """Draws the page's title, where it has always the same."""
    if page in WORDS:
        theme.title(WORDS[page]["title"], WORDS[page]["lede"], is_front=page == "start")


def explain(page: str, **fields: object) -> None:
    """Draws how the page's numbers were computed, closed; fields fill the words' gaps."""
    entry = {"label": "How this was computed", "icon": ":material/science:"} | WORDS.get(page, {})
    if "how" in entry:
        with st.expander(entry["label"], icon=entry["icon"], key=f"how-{page}"):
            st.markdown(entry["how"].format_map(fields))


def metrics(*numbers: tuple[str, str, str]) -> None:
    """Draws numbers side by side; each is its label, the number and a hint."""
    for column, (label, value, hint) in zip(st.columns(len(numbers)), numbers, strict=True):
        column.metric(label, value, help=hint, border=True, height="stretch")
