"""The choice of the page Public data: its controls, its place in the link, and the answers to its
questions, kept on disk."""

import dataclasses
import itertools
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import failures, jobs, local, plain, shares, sidebar
from pages.frame.settings import Settings
from pages.parts.public_data import sets as screening_sets
from pages.parts.public_data.sets import FALLBACK, USUAL
from pages.parts.rows import form
from pillar_core import mode
from pillar_core.backbones.names import address
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import opened
from pillar_core.runs.repeated import command
from pillar_core.runs.splitting import BACKBONE
from pillar_core.screening import MODELS, SCORES
from pillar_core.screening.models import model_of
from pillar_core.screening.release import LARGEST_PURE_K as PURE_K
from pillar_core.studies.screening import answers as screening_kept
from pillar_core.studies.screening.answers import Ask
from pillar_core.types import Form

TIMM = "timm"
"""The choice of a pre-trained network, which has a name of its own."""
EPSILONS = ("no", "0.1", "0.3", "0.5", "1", "2", "3", "8")
SCORE, EPSILON = "class_signal", "0.3"
"""What the page opens with: the score chosen on the yardstick, at the ε of its goal."""
_SECONDS_EXTRACTED, _SECONDS_OF_FEATURES = 0.012, 0.3
"""Of an image through the backbone, and of a candidate whose features are at hand, on one core."""
_SETS = ("screen-private", "screen-public", "screen-mixtures")
_ANSWERED = "screen-answered"
SEEN = "screen-seen"
"""Sets that were brought and are among the candidates unasked, once."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What is screened, with what; `epsilon` is None without privacy; `is_paid`: it is spent for
    good, with secret noise."""

    private: str
    public: tuple[str, ...]
    score: str
    model: str
    k: int
    n_examples: int
    epsilon: float | None
    seed: int
    is_paid: bool = False

    def ask(self, kind: str, **changes: Any) -> Ask:
        """A question about these sets; only a ranking may spend ε."""
        choices_: Form = {
            "model": self.model,
            "k": self.k,
            "n_examples": self.n_examples,
            "seed": self.seed,
        }
        spends = {
            "epsilon": self.epsilon,
            "score": self.score,
            "seed": None if self.is_paid else self.seed,
        }
        choices_ |= spends if kind == "ranking" else {"repeats": 1}
        if kind == "ranking" and SCORES[self.score].is_of_features:
            choices_ |= {"model": BACKBONE, "k": 0, "n_examples": 200}
        return Ask(kind, self.private, self.public, **(choices_ | changes))

    @property
    def command(self) -> str:
        """The shell command that prints this ranking."""
        is_of_features = SCORES[self.score].is_of_features
        gradients = {"model": self.model, "k": self.k, "examples": self.n_examples}
        return command(
            "screen",
            private=self.private,
            public=list(self.public),
            score=self.score,
            **({} if is_of_features else gradients),
            epsilon=self.epsilon,
            **({"release": True} if self.is_paid else {"seed": self.seed}),
        )


def take_link(settings: Settings) -> None:
    """Of a link that is news: its private set stays, a set that is not here is left out, and no set
    of yours joins its candidates."""
    news = [name for name in _SETS if not local.value(name, "") and local.linked_value(name, "")]
    with failures.show_refusal("A set of this link is left out."):
        uploads.refuse_missing([local.value(name, "") for name in news])
    if "screen-public" in news:
        local.put(SEEN, ",".join(screening_sets.own_sets()))
    if "screen-private" in news:
        local.put("screen-sidebar", settings.data)


def controls(settings: Settings) -> Choice:
    """The page's own controls: private set, ε, candidates; what else there is to set, folded
    away."""
    scores, (left, right) = st.container(), st.columns([1.6, 3.4], vertical_alignment="bottom")
    with left:
        private = _private(settings)
    words = {value: "none: diagnostic" if value == "no" else f"ε = {value}" for value in EPSILONS}
    spend = local.slider(
        "screen-epsilon",
        words,
        EPSILON,
        place=right,
        label="Spend ε on the choice",
        help=(
            "One release ranks all sets. Without ε the private rows are read as they are: a"
            " diagnostic for your eyes."
        ),
    )
    has_pixels = not (
        screening_sets.is_text(private) or screening_sets.is_table(private)
    )  # what models of gradients read
    of_gradients = [
        name
        for name, score in SCORES.items()
        if has_pixels and (score.value if spend == "no" else score.private_form)
    ]
    able = [name for name, score in SCORES.items() if score.is_of_features or name in of_gradients]
    hint = "Each view measures nearness in its own way. " + " ".join(
        f"{SCORES[name].title}: {SCORES[name].idea}." for name in able
    )
    titles = {name: SCORES[name].title for name in able}
    score = local.choice(
        "screen-score",
        titles,
        SCORE,
        help=hint,
        place=scores,
        label="Rank by",
    )
    advice = (
        "Recommended: it was chosen on twelve tasks"
        + ". Ask GSD where private rows have no labels, which it replaces by random ones"
        * ("gsd" in able)
        if score == SCORE
        else f"{SCORES[SCORE].title} is recommended where private rows have labels; where the two"
        " disagree, trust that"
    )
    idea = SCORES[score].idea
    scores.caption(f"{opened(idea)}. {advice}.")
    _remark(settings, private)
    single = _candidates(private, with_own_half=spend == "no")
    model, n_examples, k = _gradients(score, spend)
    with st.expander("Mixtures of two sets, and the seed", icon=":material/tune:"):
        pairs = [
            f"{a}+{b}"
            for a, b in itertools.combinations(
                [name for name in single if name not in screening_sets.OWN], 2
            )
        ]
        mixed = (
            local.choices(
                "screen-mixtures",
                pairs,
                title=screening_sets.title,
                label="Mixtures of two, equal shares",
                help=(
                    "Two sets together are often nearer than either, but a bad one can spoil a good"
                    " one."
                ),
                default=[],
                are_many=True,
            )
            if pairs
            else []
        )
        sidebar.number("seed", step=1)
    can_pay = spend != "no" and SCORES[score].is_of_features and not mode.binds()
    is_paid = can_pay and local.toggle(
        "screen-paid",
        uploads.is_name(private),
        label="Spend it for real",
        help=(
            "Secret noise, and a receipt: models trained on these rows afterwards add this ε to"
            " theirs. Off: practice with a known seed, which every later file mentions."
        ),
        unlinked="A link spends no ε of whoever opens it.",
    )
    with st.expander("Bring your own rows, private and public", icon=":material/upload_file:"):
        form.panel(settings)
    return Choice(
        private,
        (*single, *mixed),
        score,
        model,
        k,
        n_examples,
        None if spend == "no" else float(spend),
        settings.seed,
        is_paid,
    )


def _gradients(score: str, spend: str) -> tuple[str, int, int]:
    """(model, rows, k), which have controls only where gradients are compared."""
    if SCORES[score].is_of_features:
        return "linear_head", 200, 16
    first, second, third = st.columns([1.5, 1.1, 1.1], vertical_alignment="bottom")
    with first:
        model = _model()
    n_examples = local.slider(
        "screen-rows",
        place=second,
        label="Rows of each set",
        help="More rows: narrower intervals, more time.",
        default=200,
        options=[100, 200, 500, 1000, 2000],
    )
    k = local.slider(
        "screen-k",
        place=third,
        label="Directions, k",
        help="Directions that are compared; the paper takes 16.",
        default=16,
        options=[1, 2, 4, 8, 16, 32],
    )
    if spend != "no" and SCORES[score].private_form == "directions" and k > PURE_K:
        st.caption(
            f":orange[Pure ε draws its directions one by one, each at ε/k: {PURE_K} are taken, more"
            " would be close to random.]"
        )
        k = PURE_K
    return model, n_examples, k


def answered_before(
    choice: Choice, table: pd.DataFrame | None
) -> tuple[Choice, pd.DataFrame | None]:
    """The choice and its ranking; while that is missing, those of the candidates before."""
    if table is not None:
        local.put(_ANSWERED, "\n".join(choice.public))
    elif before := local.value(_ANSWERED, ""):
        choice = dataclasses.replace(choice, public=tuple(before.split("\n")))
        table = screening_kept.stored_answer(choice.ask("ranking"))
        if table is not None:
            st.caption("Below: the candidates before, until these are ranked.")
    return choice, table


def answer(
    ask: Ask, title: str, *, cost: str = "Spends no ε: a non-private diagnostic."
) -> pd.DataFrame | None:
    """The table: from disk, at once where it is quick, else None under a panel that computes it in
    the background."""
    stored = screening_kept.stored_answer(ask)
    if stored is not None:
        return stored
    seconds = seconds_of(ask)
    button = f"Spend ε = {ask.epsilon:g} for real" if ask.is_paid else "Run"
    if (
        seconds <= 8.0
    ):  # seconds up to which an answer is computed in the page; longer ones are jobs
        if ask.is_paid and local.value("screen-spent", "") != ask.key:
            arguments = ("screen-spent", ask.key)
            st.button(
                button,
                type="primary",
                icon=":material/lock:",
                key="screen-spend",
                help=cost,
                on_click=local.put,
                args=arguments,
            )
            return None
        with st.spinner(f"{title} …"), shares.turn():
            return screening_kept.answer(ask)
    jobs.panel(
        [ask.payload], jobs.Work(title, cost=cost, total=_parts(ask), unit="part", button=button)
    )
    return None


def seconds_of(ask: Ask) -> float:
    """How long the answer should take on this machine."""
    sets = len(ask.public) + 1
    if screening_kept.is_of_features(ask):
        return (
            _SECONDS_EXTRACTED * screening_kept.rows_to_extract(ask) + _SECONDS_OF_FEATURES * sets
        )
    if ask.what in ("accuracy", "energy"):
        return (
            0.7 * _parts(ask) * (1.0 if ask.what == "accuracy" else 0.4)
        )  # seconds that a private model takes on one core
    row = model_of(ask.model).seconds_per_row + SCORES[ask.score].seconds_per_row
    passes = 18 if ask.what == "training" and ask.model != "linear_head" else ask.repeats
    return row * ask.n_examples * sets * passes + 1e-9 * ask.n_examples**3 * sets * ask.repeats


def _parts(ask: Ask) -> int:
    return len(ask.public) * (len(screening_kept.SEEDS) if ask.what == "accuracy" else ask.repeats)


def _private(settings: Settings) -> str:
    """The private set: what was chosen here, else the sidebar's data, which also win when they
    change; for those at first an example."""
    options = screening_sets.private_sets(settings)
    usual = settings.data if settings.data in options else FALLBACK
    if (
        local.value("screen-private", "")
        and local.value("screen-sidebar", settings.data) != settings.data
    ):
        local.put("screen-private", usual)
    local.put("screen-sidebar", settings.data)
    usual = (
        screening_sets.FIRST if settings.data == Settings().data and not settings.lesson else usual
    )
    return str(
        local.select(
            "screen-private",
            options,
            usual,
            title=screening_sets.title,
            label="Private set",
            help="The images that must be protected. Bring your own below.",
        )
    )


def _remark(settings: Settings, chosen: str) -> None:
    """Says why the settings' data cannot be compared."""
    elsewhere, compared = (
        plain.text(screening_sets.title(name)) for name in (settings.data, chosen)
    )
    if reason := screening_sets.why_not(settings.data):
        say = st.warning if uploads.is_name(settings.data) else st.info
        say(
            f"The other pages' private data, {elsewhere}, {reason}: {compared} is compared here"
            " instead.",
            icon=":material/swap_horiz:",
        )


def _candidates(private: str, *, with_own_half: bool) -> tuple[str, ...]:
    names = screening_sets.candidates(private, with_own_half=with_own_half)
    usual = [name for name in (*USUAL, *screening_sets.TEXTS) if name in names]
    seen = str(local.value(SEEN, "")).split(",")
    if news := [name for name in screening_sets.own_sets() if name in names and name not in seen]:
        local.put(SEEN, ",".join([*seen, *news]))
        local.put("screen-public", ",".join([local.value("screen-public", ",".join(usual)), *news]))
    return tuple(
        local.choices(
            "screen-public",
            names,
            usual,
            title=screening_sets.title,
            label="Candidates",
            help=(
                "Sets that are on this machine, drawn ones, and your own files. “Its own other"
                " half” is a yardstick: private rows that were set aside, the nearest that any"
                " public set could be."
            ),
        )
    )


def _model() -> str:
    models = {name: model.title for name, model in MODELS.items()}
    if not mode.binds():
        models[TIMM] = "A pre-trained network …"
    chosen = str(
        local.select(
            "screen-model",
            models,
            label="Gradients of",
            help=(
                "The model at its start whose gradients are compared. The linear head answers in"
                " seconds; the probe network is the paper's."
            ),
            default="linear_head",
        )
    )
    if chosen != TIMM:
        return chosen
    text = st.text_input(
        label="Network and weights",
        key=local.unlinked_key("screen-timm", "A path on this machine."),
        help=(
            "timm:NAME?weights=FILE: a linear head on its features. Add &layers=a,b for layers of"
            " its own, &lora=8 for a vision transformer, &size=224 for larger images;"
            " weights=random for a look at the architecture alone."
        ),
        placeholder="timm:mobilenetv2_100?weights=/path/file.safetensors",
        persist_state="session",
    ).strip()
    try:
        if address(text).weights:
            mode.refuse("path")
        model_of(text)
    except PillarError as problem:
        unnamed = "Name a network; until then the linear head on pixels is used."
        st.caption(f":orange[{plain.text(problem) if text else unnamed}]")
        return "linear_head"
    return text
