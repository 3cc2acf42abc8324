"""The screening page's sets, settings and calls of the library, cached."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame.settings import Settings
from pages.panels import gallery, local
from pillar_core import data, screening
from pillar_core.errors import SettingError
from pillar_core.experiments import screening as experiments
from pillar_core.fingerprint import fingerprint
from pillar_core.types import Dataset

FAMILIES = (
    "drawn_digits",
    "drawn_digits~0.5",
    "drawn_letters",
    "drawn_shapes",
    "drawn_digits_on_textures",
    "drawn_textures",
    "drawn_noise",
)
NOISE = "drawn_noise"
MODELS = {"linear_head": "Linear head on pixels", "probe": "Probe network (slower)", "small_cnn": "Small CNN (slower)"}
SCORES = {
    "gsd": "Subspace distance (GSD)",
    "missed_energy": "Missed energy",
    "task2vec": "Task2Vec",
    "otdd": "Transport (OTDD)",
    "leep": "LEEP",
}
EXAMPLES = (100, 200, 500, 1000, 2000)
EPSILONS = ("no", "0.5", "1", "2", "3", "8")
FALLBACK = "digits"


@dataclasses.dataclass(frozen=True)
class Choice:
    """What is screened, with what; `epsilon` is None without privacy."""

    private: str
    public: tuple[str, ...]
    score: str
    model: str
    k: int
    n_examples: int
    epsilon: float | None
    seed: int

    @property
    def key(self) -> str:
        """The content hash of all of it."""
        return fingerprint(dataclasses.asdict(self), [name for name, _, _ in uploads()])


def private_name(settings: Settings) -> str:
    """The sidebar's private set where it holds images, else the small real one."""
    return settings.data if settings.data in pc.DATASETS and one(settings.data).is_images else FALLBACK


def titles() -> dict[str, str]:
    """Every candidate's name for people."""
    named = {name: f"{gallery.title_of(name.partition('~')[0])}{', shifted' if '~' in name else ''}" for name in FAMILIES}
    return named | {name: title for name, title, _ in uploads()}


def uploads() -> list[tuple[str, str, bytes]]:
    """(key, title, content) of the files in the page's uploader."""
    files = st.session_state.get("screen-upload") or []
    return [(f"upload:{file.file_id}", file.name, file.getvalue()) for file in files]


def controls(settings: Settings) -> Choice:
    """The page's own controls."""
    names = titles()
    candidates = [name for name in names if name != private_name(settings)]
    first, second, third, fourth = st.columns([1.3, 1.5, 1.1, 1.1], vertical_alignment="bottom")
    with first:
        model = _model()
    with second:
        spend = local.slider(
            "Spend ε on the choice", list(EPSILONS), "no", name="screen-epsilon", words=_budget, help="One release ranks all sets."
        )
    with third:
        n_examples = local.slider(
            "Rows of each set", list(EXAMPLES), 200, name="screen-rows", help="More rows: narrower intervals, more time."
        )
    with fourth:
        k = local.slider(
            "Directions, k", [1, 2, 4, 8, 16, 32], 16, name="screen-k", help="Directions that are compared; the paper takes 16."
        )
    able = [name for name in SCORES if spend == "no" or pc.SCORES[name].private_form]
    score = local.one(
        "Score", able, "gsd", name="screen-score", words=SCORES.__getitem__, help="How nearness is measured; small is near in all of them."
    )
    public = local.several(
        "Candidates",
        candidates,
        list(FAMILIES),
        name="screen-public",
        words=names.__getitem__,
        help="Drawn by the app, and your own files.",
    )
    return Choice(
        private_name(settings), tuple(public), score, model, k, n_examples, None if spend == "no" else float(spend), settings.seed
    )


def table(choice: Choice) -> pd.DataFrame:
    """The ranking; three draws of rows and labels."""
    return _table(choice.key, choice)


def angles(choice: Choice) -> pd.DataFrame:
    """Principal angles with each candidate."""
    return _inspected(choice.key, choice, "angles")


def spectra(choice: Choice) -> pd.DataFrame:
    """Singular values of every set's gradients."""
    return _inspected(choice.key, choice, "spectra")


def pairs(choice: Choice) -> pd.DataFrame:
    """Distances of all pairs."""
    return _inspected(choice.key, choice, "pairs")


def measured(choice: Choice, epsilon: float) -> pd.DataFrame:
    """The accuracy that GEP really reaches with each candidate."""
    return _measured(fingerprint(choice.key, epsilon), choice, epsilon)


def one(name: str, n_examples: int = EXAMPLES[0]) -> Dataset:
    """A set by name, uploads by their key; drawn sets only as large as is needed (a fifth of them are test rows)."""
    return _one(name, 50 + n_examples + n_examples // 2)


def sets(choice: Choice) -> dict[str, Dataset]:
    """The candidates that are chosen."""
    return {name: one(name, choice.n_examples) for name in choice.public}


@st.cache_resource(max_entries=32, show_spinner=False)
def _one(name: str, n: int) -> Dataset:
    for key, title, content in uploads():
        if key == name:
            return data.load_candidate(content, filename=title)
    if name.startswith("upload:"):
        raise SettingError("this upload is no longer in the page; drop the file in again.")
    return experiments.candidate(name, n=n)


@st.cache_data(max_entries=32, show_spinner="Taking gradients of every set …")
def _table(key: str, _choice: Choice) -> pd.DataFrame:
    return pc.screen(
        one(_choice.private, _choice.n_examples),
        sets(_choice),
        scores=(_choice.score,),
        model=_choice.model,
        k=_choice.k,
        n_examples=_choice.n_examples,
        epsilon=_choice.epsilon,
        seed=_choice.seed,
    )


@st.cache_data(max_entries=32, show_spinner="Comparing directions …")
def _inspected(key: str, _choice: Choice, what: str) -> pd.DataFrame:
    private, public = one(_choice.private, _choice.n_examples), sets(_choice)
    shared: dict[str, Any] = {"model": _choice.model, "n_examples": _choice.n_examples, "seed": _choice.seed}
    if what == "angles":
        return screening.angles(private, public, k=_choice.k, **shared)
    if what == "spectra":
        return screening.spectra(private, public, **shared)
    return screening.pairwise({_choice.private: private, **public}, k=_choice.k, **shared)


@st.cache_data(max_entries=8, show_spinner="Training with each public set …")
def _measured(key: str, _choice: Choice, _epsilon: float) -> pd.DataFrame:
    return experiments.measured(one(_choice.private, _choice.n_examples), sets(_choice), epsilon=_epsilon, seeds=(0, 1, 2))


def _model() -> str:
    st.selectbox(
        "Gradients of",
        list(MODELS),
        key=local.key("screen-model", "linear_head"),
        format_func=MODELS.__getitem__,
        help="The model at its start whose gradients are compared. The linear head answers in seconds; the probe network is the paper's.",
        on_change=local.released,
        args=("screen-model",),
    )
    return str(local.value("screen-model", "linear_head"))


def _budget(value: str) -> str:
    return "none: diagnostic" if value == "no" else f"ε = {value}"
