"""The spectrum of public features: how fast the energy of the directions falls, and how much k of them hold."""

from __future__ import annotations

from typing import Any

import pandas as pd
from plotly.subplots import make_subplots

from pillar_core.plots.theme import INK, Height, Mode, finished


def spectrum(table: pd.DataFrame, *, mode: Mode = "light", k: int | None = None, n_public: int | None = None, height: Height = 380) -> Any:
    """Two panels: eigenvalues on log axes, and the cumulative share of energy; `k` is marked.

    table: columns component (1, 2, …) and eigenvalue ≥ 0, in falling order. Public only.
    """
    ink = INK[mode]
    share = 100 * table["eigenvalue"].cumsum() / table["eigenvalue"].sum()
    figure = make_subplots(cols=2, horizontal_spacing=0.1)
    shown = table[table["eigenvalue"] > 0]
    figure.add_scatter(
        x=shown["component"],
        y=shown["eigenvalue"],
        mode="lines",
        line={"color": ink.accent, "width": 2.4},
        hovertemplate="direction %{x}: variance %{y:.3g}<extra></extra>",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=table["component"],
        y=share,
        mode="lines",
        line={"color": ink.accent, "width": 2.4},
        fill="tozeroy",
        fillcolor="rgba(124, 108, 220, 0.14)",
        hovertemplate="first %{x} directions: %{y:.1f} % of the variance<extra></extra>",
        row=1,
        col=2,
    )
    held = ""
    if k is not None and 1 <= k <= len(table):
        at_k = float(share.iloc[k - 1])
        for column in (1, 2):
            figure.add_vline(
                x=k, line={"color": "#D55E00" if mode == "light" else "#FF9152", "width": 1.6, "dash": "dot"}, row=1, col=column
            )
        held = f"The first k = {k} directions hold {at_k:.1f} % of the variance."
    figure.update_xaxes(type="log", dtick=1, title_text="direction (log scale)", row=1, col=1)
    figure.update_yaxes(type="log", title_text="variance along it (log scale)", exponentformat="power", dtick=1, row=1, col=1)
    figure.update_xaxes(type="log", dtick=1, title_text="directions kept, k (log scale)", row=1, col=2)
    figure.update_yaxes(title_text="variance held, %", range=[0, 103], row=1, col=2)
    figure.update_layout(showlegend=False)
    rows = f"n = {n_public:,} public rows, " if n_public else ""
    caption = f"{rows}{len(table)} directions; one set, so no interval. {held}"
    alt = f"Spectrum of the public features over {len(table)} directions, largest variance {float(table['eigenvalue'].max()):.3g}. {held}"
    return finished(figure, title="How quickly the directions run out of signal", caption=caption, alt=alt, mode=mode, height=height)
