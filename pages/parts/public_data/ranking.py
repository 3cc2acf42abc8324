"""What the page Public data draws: the verdict, the ranking with its nulls, and what lies behind
it."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, local, memory, plain, receipts, session
from pages.frame.figures import FigureInfo, draw_figure, show_answer, show_figure
from pages.frame.settings import Settings
from pages.parts.public_data import question as screening
from pages.parts.public_data import sets as screening_sets
from pages.parts.public_data.question import SEEN, Choice
from pillar_core import mode, plots
from pillar_core.arrays import Array
from pillar_core.data import encoding, uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import number_words, round_up
from pillar_core.registry import toml_tables
from pillar_core.runs.receipts import Account
from pillar_core.screening import SCORES
from pillar_core.screening.ranking import is_noise, ties
from pillar_core.studies.screening import benefit, trimming
from pillar_core.studies.screening.answers import OWN_HALF, OWN_PART
from pillar_core.types import Values

VIEWS = {
    "angles": "Compare directions one by one",
    "spectra": "Look at the spectra of all gradients",
    "pairs": "Compare every pair of sets",
    "bound": "Project private gradients on public directions",
    "training": "Train a model and measure again",
    "energy": "Train AdaMix and watch its gradients",
}
"""Views behind a ranking beside that of accuracy, and what is done for each."""
FIGURES = {
    "angles": plots.angles,
    "spectra": plots.gradient_spectra,
    "pairs": plots.distance_map,
    "bound": plots.reconstruction_bound,
    "training": plots.order_over_training,
    "energy": plots.captured_gradients,
}
_pool = memory.cache(
    max_entries=4, show_spinner="Taking votes …", by=lambda ask, epsilon: (ask.key, epsilon)
)(trimming.vote)
_COLUMNS = {
    "Kept": st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100),
}
"""Of the table of what trimming keeps."""
SAMPLES, _EACH = 6, 8
"""Images of a candidate's card, and of the rows that trimming keeps or drops."""


def summary(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """The answer in a sentence and what it cost. The yardstick is no candidate."""
    candidates = table[table["public"] != OWN_HALF]
    if candidates.empty:
        st.info(
            "The set's own other half is no candidate: add a public set to compare.",
            icon=":material/add:",
        )
        return
    first = screening_sets.title(candidates.iloc[0]["public"])
    spent = float(table["epsilon_upper"].max())
    tied = [name for name in ties(candidates) if name != OWN_HALF]
    best = [first, *map(screening_sets.title, tied)]
    verdict = (
        f"{len(best)} tie: {', '.join(best[:-1])} and {best[-1]}"
        if tied
        else f"Best choice: {first}"
    )
    if screening_sets.NOISE in tied or is_noise(candidates):
        verdict = (
            "Nothing stands out: at this ε even noise may do as well. More ε or more private rows"
            " would tell"
        )
    left, right = st.columns([3.2, 1.2], vertical_alignment="center")
    icon = ":material/balance:" if tied or len(candidates) == 1 else ":material/check_circle:"
    left.markdown(f"## {icon} {plain.text(verdict)}")
    value = "not private" if math.isinf(spent) else f"ε ≤ {round_up(spent, 3)}"
    hint = (
        "Without ε this reads private rows as they are: for your eyes. With ε one release ranks any"
        " number of candidates."
    )
    right.metric("Privacy spent", value, help=hint, border=True)
    if choice.is_paid:
        account = Account(choice.private)
        epsilon = account.epsilon_of_rankings(delta=settings.delta, relation="add_or_remove_one")
        st.success(
            f"**Spent for real: {value}** on"
            f" {plain.text(screening_sets.title(choice.private))}, with secret noise. Paid rankings"
            f" of these rows: {len(account.rankings)}, together ε ≤ {round_up(epsilon, 3)} at δ ="
            f" {number_words(settings.delta)}, for one row added or removed. Models trained on them"
            " here add it to theirs.",
            icon=":material/receipt_long:",
        )


def draw(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """The ranking with its nulls, and what they say."""
    private = choice.epsilon is not None
    if not private or not choice.is_paid:
        Account(choice.private).look(is_ranking=private)
    provenance = (
        [badges.PRIVATE, *([] if choice.is_paid else [badges.EXPERIMENT])]
        if private
        else [badges.NON_PRIVATE]
    )
    draw_figure(
        plots.ranking,
        table,
        _info("screening", choice, settings, provenance),
        score=pc.SCORES[choice.score],
        titles=_titles(choice),
        private=screening_sets.title(choice.private),
        random_subspaces=table.attrs.get("random_subspaces"),
        noise_images=screening_sets.NOISE,
        yardstick=OWN_HALF,
    )
    _nulls(choice, table)
    if private:
        more = (
            " Every change of sets, rows, k or ε above is a release of its own; on real private"
            " rows their costs add up, and each needs a secret noise of its own."
        )
        st.caption(f":material/shield_lock: {plain.text(table.attrs['guarantee'] + more)}")
    for note in (
        *table.attrs.get("notes", ()),
        *screening_sets.notes([choice.private, *choice.public]),
    ):
        st.caption(plain.text(note))
    show_answer("made_up", settings)


def cards(choice: Choice, table: pd.DataFrame) -> None:
    """What each candidate is, nearest first: samples, size, licence, and under ε no word that reads
    a private row without noise."""
    st.markdown("## The candidates")
    for place, (_, row) in enumerate(table.iterrows()):
        name = str(row["public"])
        with st.container(border=True, key=f"candidate-{place}"):
            facts, images = st.columns([2, 3], vertical_alignment="center")
            facts.markdown(f"**{row['rank']:.0f}. {plain.text(screening_sets.title(name))}**")
            if screening_sets.is_made_up(name):
                with facts:
                    badges.show(badges.MADE_UP)
            facts.caption(
                plain.text(
                    screening_sets.facts(
                        name, choice.private, is_private=choice.epsilon is not None
                    )
                )
            )
            if samples := screening_sets.samples(name, SAMPLES):
                title = plain.text(screening_sets.title(name))
                images.image(
                    samples,
                    width=56,
                    alt=[f"{title}: image {place}" for place in range(1, len(samples) + 1)],
                )
            if (
                name == OWN_PART or name in pc.DATASETS or uploads.is_name(name)
            ):  # no mixture, no yardstick
                facts.button(
                    "Use as public data",
                    key=f"use-public-{place}",
                    on_click=session.change,
                    kwargs={"data": choice.private, "public": name},
                    disabled=name == choice.private,
                )


def enough(choice: Choice, settings: Settings) -> None:
    """How many public rows PILLAR needs, as it was measured."""
    st.markdown(
        "**About ten rows a class, if they are like the private ones.** They came within 3 points"
        " of any larger number, and 50 such rows in all beat up to 5,000 foreign ones. Theory says"
        " that more than n·ε unlabelled public rows do not help, up to logarithms, for generalised"
        " linear models in the worst case ([Ullah et al. 2024](https://arxiv.org/abs/2403.03856))."
        " Here the curves are flat before that."
    )
    table = benefit.curves(choice.private)
    private = table["private"].iloc[0]
    if private != choice.private:
        st.caption(
            f"Measured on {screening_sets.title(private)}, not on"
            f" {plain.text(screening_sets.title(choice.private))}."
        )
    titles = {name: screening_sets.title(name) for name in table["public"].unique()}
    again = "python research/public_rows.py public_rows.csv"
    info = FigureInfo(
        "public_rows", settings, [*badges.DIAGNOSTIC, badges.REAL], seeds=5, command=again
    )
    draw_figure(plots.public_rows, table, info, titles=titles)


def more(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """One of the views behind the ranking."""
    view = local.choice(
        "screen-view",
        label="Look closer",
        default="accuracy",
        options={
            "accuracy": "Does it predict accuracy?",
            "angles": "Angles",
            "spectra": "Spectra",
            "pairs": "All pairs",
            "bound": "What is lost",
            "training": "Over training",
            "energy": "In AdaMix",
        },
    )
    if not receipts.look(dataclasses.replace(settings, data=choice.private)):
        return
    if view == "accuracy":
        _accuracy(choice, table, settings)
        return
    answered = screening.answer(choice.ask(view), VIEWS[view])
    if answered is None:
        return
    style: dict[str, Values] = {
        "spectra": {"k": choice.k},
        "training": {"order_kept": answered.attrs.get("order_kept")},
    }
    Account(choice.private).look()
    info = _info(f"screening_{view}", choice, settings, [badges.NON_PRIVATE])
    draw_figure(FIGURES[view], answered, info, titles=_titles(choice), **style.get(view, {}))
    if view == "training" and choice.model == "linear_head":
        st.caption(
            "A linear head's directions hardly move while it learns: take the small CNN to see an"
            " order change."
        )
    absent = [
        screening_sets.title(name)
        for name in choice.public
        if view == "energy" and name not in set(answered["public"])
    ]
    if absent:
        st.caption(f"Without labels, so left out: {plain.text(', '.join(absent))}.")


def yardstick_sentence(rows_per_noise: float, epsilon: float) -> str:
    """A sentence: what the top-ranked of five sets lost on tasks with this μN/C at the nearest
    ε."""
    yardstick: Values = toml_tables(Path(__file__).with_name("yardstick.toml"))
    least = yardstick["least_signal"]
    lost = yardstick["points_lost"]
    if rows_per_noise < least:
        advice = f"Below {least:.0f} nothing was tested: bring more rows, or spend more."
        return f"Each class's signal is {rows_per_noise:.1f} times the noise. {advice}"
    nearest = min(
        lost.keys() - {"blind"}, key=lambda budget: abs(math.log(float(budget) / epsilon))
    )
    return (
        f"Each class's signal is {rows_per_noise:.0f} times the noise. On test tasks, the"
        f" top-ranked set of five lay {lost[nearest]} points behind the best at ε = {nearest}, a"
        f" random pick {lost['blind']}."
    )


def _accuracy(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """A private learner trained with every candidate, beside the score."""
    method = local.choice(
        "screen-method",
        title=lambda name: pc.METHODS[name].title,
        label="Learner",
        help=(
            "The learner that is trained with each candidate as its public data. GEP needs no"
            " public labels."
        ),
        default="gep",
        options=["gep", "pda_dpmd", "second_phase"],
    )
    epsilon = settings.epsilon if math.isfinite(settings.epsilon) else 2.0
    if len(choice.public) < 3:
        st.info(
            "A rank correlation needs at least three candidates: choose more.",
            icon=":material/info:",
        )
        return
    question = (
        f"Train {pc.METHODS[method].title} with each candidate at ε = {epsilon:g}, three seeds"
    )
    cost = "An experiment: on real private rows each of these models would spend its own ε."
    model = choice.model if choice.model.startswith("timm:") else "linear_head"
    accuracy = screening.answer(
        choice.ask("accuracy", method=method, epsilon=epsilon, model=model, k=1, n_examples=500),
        question,
        cost=cost,
    )
    if accuracy is None:
        return
    agreement = benefit.agreement(table, accuracy).iloc[0]
    Account(choice.private).look()
    figure = plots.score_against_accuracy(
        table,
        accuracy,
        agreement,
        score=pc.SCORES[choice.score],
        titles=_titles(choice),
        baseline=accuracy.attrs.get("baseline"),
        learner=pc.METHODS[method].title,
    )
    info = _info("screening_accuracy", choice, settings, badges.DIAGNOSTIC, seeds=3)
    show_figure(figure, accuracy, info)


def _nulls(choice: Choice, table: pd.DataFrame) -> None:
    """What a value must be compared with before it means anything."""
    lines = []
    values, attrs, score = table.set_index("public")["value"], table.attrs, pc.SCORES[choice.score]
    if screening_sets.NOISE in values and not score.is_of_features:
        noise = float(values[screening_sets.NOISE])
        lines.append(
            f"**Noise images** lie at {noise:.2f}: this much any set shares with the private one"
            " through the network alone, so a set as far as that is of no use."
        )
        beyond = [
            screening_sets.title(str(name))
            for name, value in values.items()
            if value >= noise and name != screening_sets.NOISE
        ]
        lines += [f"No nearer than noise: {plain.text(', '.join(beyond))}."] if beyond else []
    if score.is_subspace_distance and attrs.get("random_subspaces"):
        random = attrs["random_subspaces"]
        lines.append(f"**Random directions** would lie at {random:.3f} (dotted line).")
    if "self_distance" in attrs:
        lines.append(f"Check: the private set and itself lie at {attrs['self_distance']:g}.")
    if OWN_HALF in values:
        half = values[OWN_HALF]
        place = (
            f"keeps {100 * (1 - half):.0f} % of the class signal: more"
            if choice.score == screening.SCORE
            else f"lies at {half:.2f}: nearer"
        )
        lines.append(f"**Its own other half** {place} than that can be expected of no public set.")
    if "noise_floor" in attrs:
        floor = 100 * (1 - attrs["noise_floor"])
        lines.append(
            f"**Noise** alone seems to keep {floor:.0f} % of the class signal at this ε: sets that"
            " keep less are not told apart."
        )
    if "rows_per_noise" in attrs:
        lines.append(yardstick_sentence(attrs["rows_per_noise"], float(choice.epsilon or 1.0)))
    if lines:
        st.markdown(" ".join(lines))


def _titles(choice: Choice) -> dict[str, str]:
    private = {choice.private: f"{screening_sets.title(choice.private)} (private)"}
    return {name: screening_sets.title(name) for name in choice.public} | private


def _info(
    name: str,
    choice: Choice,
    settings: Settings,
    provenance: Sequence[str],
    seeds: int | None = None,
) -> FigureInfo:
    return FigureInfo(
        name,
        settings,
        provenance,
        seeds,
        is_synthetic=core.is_synthetic(choice.private.partition("~")[0]),
        sets=(choice.private, *choice.public),
        command=choice.command,
    )


def trim(choice: Choice, settings: Settings) -> None:
    """One release of votes over the candidates' pool when it is opened; the slider then costs
    nothing more."""
    ask = trimming.question_of_pool(choice.ask("ranking", seed=choice.seed))
    if (
        choice.epsilon is None
        or not ask.public
        or screening_sets.is_table(choice.private)
        or not SCORES[choice.score].is_of_features
    ):
        return
    with local.box("Trim: keep the rows that help", "content_cut", "screen-trim") as is_open:
        if not is_open:
            return
        Account(choice.private).look(is_ranking=True)
        st.markdown(
            "All candidates but the private set's own parts go into one pool, and every private row"
            " votes for the cluster of public rows nearest to it. The tenth of images with the most"
            " votes gained 1 to 29 points where the pool held rows like the private ones. Among"
            " foreign sets alone it gained nothing measurable"
            " (`research/choosing_public_data.md`). A part of the"
            " private set did as well or better without votes."
        )
        pool = _pool(ask, choice.epsilon)
        names = [screening_sets.title(name) for name in ask.public]
        percent = local.slider(
            "screen-share",
            label="Keep",
            help=(
                "The share of the pool's rows that is kept, those with the most votes first. Moving"
                " it costs no ε."
            ),
            default=10,
            options=[5, 10, 25, 50, 75],
            form="{} %",
            unlinked="What is kept becomes a set of its own, and that is in the link.",
        )
        rows = pool.trimmed.at(percent / 100)
        sets = pd.DataFrame({"Set": [names[code] for code in pool.sources], "Kept": 0.0})
        sets.loc[rows, "Kept"] = 100.0
        st.dataframe(
            sets.groupby("Set", sort=False, as_index=False).agg(
                Rows=("Kept", "size"), Kept=("Kept", "mean")
            ),
            hide_index=True,
            key="screen-trim-sources",
            column_config=_COLUMNS,
        )
        for kind, numbers in (
            ("Kept", pool.trimmed.order[: len(rows)]),
            ("Dropped", pool.trimmed.order[len(rows) :]),
        ):
            sample = numbers[:: max(1, len(numbers) // _EACH)][:_EACH]
            sources = [names[code] for code in pool.sources[sample]]
            shown = trimming.rows_of(pool, sample)
            st.markdown(f"**{kind}**")
            if shown.texts:
                said = {"Set": sources, "Text": encoding.beginnings(shown.texts)}
                frame = pd.DataFrame(said)
                st.dataframe(frame, hide_index=True, key=f"screen-trim-{kind.lower()}")
            else:
                alts = [
                    f"{kind}: {plain.text(name)}, image {place}"
                    for place, name in enumerate(sources, start=1)
                ]
                st.image(list(shown.x_train), width=64, alt=alts)
        st.caption(
            f":material/shield_lock: {plain.text(pool.trimmed.guarantee)} It comes on top of the"
            " ranking's release."
        )
        if not mode.binds():
            st.button(
                label=f"Use the {len(rows):,} kept rows as public data",
                key="use-kept",
                help=(
                    "They become a set of yours, and private and public data of every page are then"
                    " these two."
                ),
                on_click=_use,
                args=(pool, rows, f"{percent} % of the rows of {len(names)} sets"),
            )


def _use(pool: trimming.Pool, rows: Array, title: str) -> None:
    """A callback: stores the chosen rows as a set and makes it the public data of every page."""
    try:
        name = uploads.keep(trimming.rows_of(pool, rows), title=title)
    except PillarError as problem:
        session.note(f"The rows could not be kept: {problem}")
        return
    local.put(
        SEEN, f"{local.value(SEEN, '')},{name}"
    )  # no candidate unasked: a longer list is another release
    session.change(data=pool.ask.private, public=name)
