"""Light or dark, and the little styling that the theme file cannot say."""

from pathlib import Path
from typing import Any

import streamlit as st

from pillar_core.plots import Mode
from pillar_core.plots.theme import INK

_SCRIPT = Path(__file__).with_name("window.js").read_text(encoding="utf-8")
_NARROW = "window.narrow"

ICON = str(Path(__file__).with_name("icon.svg"))
"""The browser tab's icon: a file of ours, because Streamlit's named icons are fetched from a public server."""

_STYLE = """
<style>
  [data-testid="stMainBlockContainer"] { padding-top: 1rem; padding-bottom: 4rem; max-width: 1280px; }
  [data-testid="stSidebarHeader"] { height: 2.4rem; padding-bottom: 0; }
  [data-testid="stSidebarUserContent"] { padding-top: 0; }
  [data-testid="stSidebarUserContent"] [data-testid="stVerticalBlock"] { gap: 0.7rem; }
  [data-testid="stMain"] h2 { padding: 0.2rem 0 0.5rem; }
  [data-testid="stMain"] h1 { letter-spacing: -0.015em; line-height: 1.12; text-wrap: balance; }
  [data-testid="stMain"] h2, [data-testid="stMain"] h3 { letter-spacing: -0.01em; }
  .pillar-lede { font-size: 1.22rem; line-height: 1.5; max-width: 46rem; opacity: 0.86;
    margin: 0.2rem 0 0.4rem; text-wrap: pretty; padding-top: 0.6rem; }
  .st-key-window-place { position: absolute; }
  .st-key-samples [data-testid="stImage"] img, .st-key-samples img { image-rendering: pixelated; }
  .st-key-samples [data-testid="stImage"] { gap: 0.5rem; }
  .pillar-rule { height: 4px; width: 9rem; border-radius: 2px; margin: 0.4rem 0 0.2rem;
    background: linear-gradient(90deg, #4B2A8C, #2F5FB3, #16889B, #3D9A57); }
  .pillar-ends { display: flex; justify-content: space-between; font-size: 0.82rem; opacity: 0.75; margin-top: -0.55rem; }
  .pillar-marks { position: relative; height: 0.8rem; margin: -0.95rem 0.5rem 0; font-size: 0.75rem; opacity: 0.75; cursor: help; }
  .pillar-marks span { position: absolute; transform: translateX(-50%); }
  .pillar-odds { font-size: 0.95rem; line-height: 1.45; border-left: 3px solid #7C6CDC; padding-left: 0.8rem; }
  .st-key-page-title [data-testid="stMarkdownContainer"], .st-key-front-title [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
  .st-key-page-title h1 { font-size: 1.9rem; padding: 0.3rem 0 0; }
  .st-key-page-title .pillar-lede { font-size: 1.05rem; max-width: 62rem; margin: 0; padding-top: 0.45rem; }
  [data-testid="stMainBlockContainer"] > div > [data-testid="stVerticalBlock"] { gap: 0.8rem; }
  .st-key-brand { margin-top: -1.9rem; width: max-content; }
  .st-key-navigation { flex-wrap: nowrap; overflow-x: auto; scrollbar-width: thin; }
  [class*="st-key-navigation-"] { flex-wrap: nowrap; flex: none; }
  [class*="st-key-navigation-"] + [class*="st-key-navigation-"],
  [data-testid="stLayoutWrapper"]:has(> [class*="st-key-navigation-"]) + [data-testid="stLayoutWrapper"] > [class*="st-key-navigation-"] {
    border-left: 1px solid rgba(127, 127, 150, 0.35); margin-left: 0.35rem; padding-left: 0.35rem; }
  .st-key-navigation [data-testid="stPageLink-NavLink"] { padding: 0.2rem 0.32rem; }
  .st-key-navigation [data-testid="stPageLink-NavLink"] * { white-space: nowrap; line-height: 1.6; }
  .st-key-brand [data-testid="stMarkdown"] p { font-family: "Source Serif", Georgia, serif; font-weight: 650; font-size: 1.15rem; }
  [class*="st-key-door-"] h2 { font-size: 1.18rem; }
  [class*="st-key-door-"] { min-height: 100%; }
  [data-testid="stPageLink-NavLink"] * { white-space: normal; line-height: 1.25; }
  [class*="st-key-figure-"] { padding-bottom: 0.4rem; }
  [data-testid="stButtonGroup"] > div { flex-wrap: wrap; max-width: 100%; overflow: visible; }
  [data-testid="stElementToolbar"] [aria-label="Download as CSV"] { display: none; } /* it writes formulas: exports hold none */
  [data-testid="stMetricValue"] { font-variant-numeric: tabular-nums; }
  [data-testid="stCaptionContainer"] { opacity: 0.8; }
  [data-testid="stSliderThumbValue"] p, [data-testid="stButtonGroup"] [data-selected="true"] p { color: ACCENT; }
  a:focus-visible, button:focus-visible, summary:focus-visible,
  [tabindex]:focus-visible { outline: 2px solid ACCENT !important; outline-offset: 2px; }
  @media (max-width: 640px) {
    [data-testid="stMainBlockContainer"] { padding: 3.6rem 0.8rem 4rem; }
    .st-key-front-title h1 { font-size: 1.8rem; }
    .pillar-lede { font-size: 1.05rem; }
    .st-key-navigation [data-testid="stPageLink-NavLink"] { padding: 0.55rem 0.6rem; }
  }
</style>
"""


def apply() -> Any:
    """Adds the styling to the page, and returns the place for `measure`."""
    st.html(_STYLE.replace("ACCENT", INK[mode()].accent))
    return st.container(key="window-place")


def measure(place: Any) -> None:
    """Learns whether the window is narrow: last in a run, because its rerun would take the page and new widgets from a run under way."""
    with place:
        window = st.components.v2.component("pillar_window", js=_SCRIPT, isolate_styles=False)
        window(key="window", data={"narrow": is_narrow()}, default={"narrow": False}, on_narrow_change=_keep_narrow, height=0)


def _keep_narrow() -> None:
    st.session_state[_NARROW] = bool(st.session_state["window"].narrow)


def is_narrow() -> bool:
    """Whether the browser's window is as narrow as a phone's; a session's first run takes it for wide."""
    return bool(st.session_state.get(_NARROW, False))


def mode() -> Mode:
    """The browser's colour scheme, for the figures."""
    return "dark" if st.context.theme.type == "dark" else "light"


def title(text: str, lede: str) -> None:
    """The page's title with its one-sentence answer to “what can I do here?”."""
    with st.container(key="page-title", gap=None):
        st.title(text, anchor=False)
        st.html(f'<p class="pillar-lede">{lede}</p>')


def front(text: str, lede: str) -> None:
    """The front page's title: larger, under the colours of the budgets."""
    with st.container(key="front-title", gap=None):
        st.html('<div class="pillar-rule"></div>')
        st.title(text, anchor=False)
        st.html(f'<p class="pillar-lede">{lede}</p>')
