"""What a page says of itself, from `words.toml` beside the pages: its title, and how its numbers were computed."""

from pathlib import Path
from typing import Any

import streamlit as st

from pages.frame import theme
from pillar_core.registry import facts

WORDS: dict[str, dict[str, Any]] = facts(Path(__file__).parents[1] / "words.toml")


def title(page: str) -> None:
    """Draws the page's title."""
    theme.title(WORDS[page]["title"], WORDS[page]["lede"], is_front=page == "home")


def explained(page: str, **said: Any) -> None:
    """How the page's numbers were computed, closed; said: what the words leave open."""
    told = {"label": "How this was computed", "icon": ":material/science:"} | WORDS[page]
    with st.expander(told["label"], icon=told["icon"]):
        st.markdown(told["how"].format_map(said))
