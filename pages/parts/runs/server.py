"""What the operator of a public server sees at the server itself: load, memory, cache and errors; nobody's rows, names or runs."""

import os
import shutil
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.frame import failures, owner, shares
from pillar_core import store
from pillar_core.data import visitors
from pillar_core.jobs.state import UNFINISHED, Folder


def panel() -> None:
    """The state of this server process; nothing for a browser elsewhere, nor where there are no visitors."""
    if not visitors.is_on() or not owner.is_at_server():
        return
    cache = store.default()
    disk = shutil.disk_usage(cache.root if cache.root.exists() else "/")
    unfinished = [status for status in Folder(cache.root).statuses() if status.state in UNFINISHED]
    facts = {
        "Load of the last minute": f"{os.getloadavg()[0]:.1f} on {shares.CORES} cores",
        "Memory of this process": _gigabytes(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")),
        "Computing left for all": f"{shares.BUDGETS.left(shares.EVERYBODY):.0f} s",
        "Visitors who wait for a turn": f"{shares.TURNS.foreseen()[0]}",
        "Unfinished jobs": f"{len(unfinished)} of at most {visitors.JOBS}",
        "Cache": f"{_gigabytes(sum(item.size for item in cache.ls()))}; {_gigabytes(disk.free)} free on its disk",
        "Results only in memory": cache.unkept or "none",
    }
    with st.expander("This server", icon=":material/monitor_heart:"):
        st.table(pd.Series(facts, name="now"))
        met = pd.Series(dict(failures.MET.most_common(20)), name="times", dtype=int)
        st.markdown(f"Errors that nobody foresaw since its start: **{failures.MET.total()}**")
        if failures.MET:
            st.dataframe(met.rename_axis("kind and place"))


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
