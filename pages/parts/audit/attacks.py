"""The attacks of the page Audit: on one run, membership inference under the guarantee's ceiling and
individual privacy by row; what the best informed attacker sees of one image in one release; and
what a score without noise tells about one private row.
"""

import dataclasses
import math

import pandas as pd
import streamlit as st

from pages.frame import badges, core, local, memory, navigation, odds, plain, words
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import Settings
from pages.parts.curves import result
from pillar_core import accounting, plots
from pillar_core.auditing.membership import FEWEST_ALARMS
from pillar_core.data import uploads
from pillar_core.numerics import number_words, round_up
from pillar_core.runs.statement import spent_event
from pillar_core.studies import privacy_tables
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence import one_run, reconstruction, score_leak
from pillar_core.studies.evidence.attacks import Attack
from pillar_core.studies.evidence.one_run import Individuals
from pillar_core.studies.evidence.reconstruction import Reconstruction
from pillar_core.studies.evidence.score_leak import ScoreLeak
from pillar_core.types import Dataset, RunRecord

_RATES = {
    "attack": st.column_config.Column(width="medium"),
    "false_positive_rate": st.column_config.NumberColumn("false alarms, %", format="%.2f"),
    "true_positive_rate": st.column_config.NumberColumn("members found, %", format="%.2f"),
    "low": st.column_config.NumberColumn("from", format="%.2f"),
    "high": st.column_config.NumberColumn("to", format="%.2f"),
    "allowed": st.column_config.NumberColumn("allowed, %", format="%.2f"),
    "allowed_high": st.column_config.NumberColumn("at its end, %", format="%.2f"),
}
_EXPOSED = {
    "mu": None,
    "epsilon": st.column_config.NumberColumn("individual ε", format="%.2f"),
}
"""Columns of two tables: what attacks find, and the most exposed rows."""
_shadows = core.of_run(
    evidence.shadow_attacks, max_entries=8, show_spinner="Training shadow heads …"
)
_individuals = core.of_run(
    one_run.individuals, max_entries=8, show_spinner="Following every row along the trajectory …"
)


def leak(settings: Settings) -> None:
    """Three readings of one released distance by two attackers, beside the published attack."""
    st.markdown(
        "Papers choose public data by a **score** that reads private rows, and release it without"
        " noise: “no better than random guessing”, say its attacks. They attack with half a"
        " picture. The score is a function of the batch, so **who knows the other rows needs only"
        " enough of its digits**."
    )
    if not core.split(settings).facts.n_public:
        st.info(
            "There are no public rows to score against: choose some in the sidebar.",
            icon=":material/info:",
        )
        return
    study = _score_leak(settings)
    sure = study.table.iloc[0]
    table = study.table.set_index(["attacker", "sees"])["success"]
    badges.show_row(*badges.DIAGNOSTIC)
    words.metrics(
        (
            "Distance of the batch",
            f"{study.distance:.4f}",
            f"Gradient subspace distance, k = {score_leak.K}, {study.rows:,} private rows.",
        ),
        (
            "One row moves it by",
            number_words(study.largest_movement, 2),
            "At most, over the rows tried: there is no bound for all rows.",
        ),
        (
            "Attacker sees the full number",
            f"{100 * sure['success']:.0f} %",
            "Right guesses. The attacker knows all other rows, labels and the model.",
        ),
        (
            "Attack from the paper",
            f"{100 * table.iloc[-1]:.1f} %",
            "Right guesses. The attacker knows nine tenths of the batch; a coin has 50 %.",
        ),
    )
    title = "Without noise, the score gives away one row to anyone who knows the rest"
    draw_figure(
        plots.right_guesses,
        study.table,
        FigureInfo("score_leak", settings),
        published=score_leak.PUBLISHED,
        title=title,
    )
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(
        "Published: the paper on this score (GSD), Table 8, an attacker who knows 1,800 of 2,000"
        " rows. Rounding hides a row only by luck: neighbours on two sides of a rounding edge"
        " always exist. A release that keeps a promise adds noise and pays ε."
    )
    with right:
        navigation.link("public_data", "Screen with a paid score")


@memory.cache(max_entries=8, show_spinner="Attacking the score …", by=core.split_key)
def _score_leak(settings: Settings) -> ScoreLeak:
    split = core.split(settings)
    return score_leak.score_leak(
        split.features.x_train[split.private], split.public_x, seed=settings.seed
    )


_SHOWN = (math.inf, 10.0, 1.0, 0.1)
_CHOICES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, math.inf)
_IMAGES = 20


def image(settings: Settings) -> None:
    """The strip of pictures with a slider for ε, for images that anybody may see."""
    st.markdown(
        "A learner releases one noisy sum of rows for each class (DP-LS). The attacker knows **all"
        " other rows**, the class and every parameter, takes the other rows off, and keeps the"
        " image plus the noise. Nobody can see more in this release."
    )
    data = core.raw(settings)
    if uploads.names_in([settings.data]) or not (isinstance(data, Dataset) and data.is_images):
        st.info(
            "This view shows private images, so it takes sets of images that are public anyway:"
            " choose one.",
            icon=":material/image:",
        )
        return
    left, right = st.columns(2)
    epsilon = float(
        local.slider(
            "image-epsilon",
            _CHOICES,
            title=plots.epsilon_value,
            place=left,
            label="ε of the release",
            help="The framed picture; the others stay.",
            default=100.0,
        )
    )
    row = (
        int(
            local.slider(
                "image-row",
                range(1, _IMAGES + 1),
                place=right,
                label="Image",
                default=1,
            )
        )
        - 1
    )
    pixels = dataclasses.replace(
        settings, backbone="raw_pixels", method=reconstruction.LEARNER, epsilon=epsilon
    )
    seen = _reconstruct(row, pixels)
    line = seen.table.set_index("epsilon").loc[epsilon]
    badges.show_row(*badges.DIAGNOSTIC)
    words.metrics(
        (
            "Noise of each pixel",
            f"{line['noise_std']:.3g}",
            "Standard deviation, as charged; the clipped image has length 1.",
        ),
        (
            "Correlation",
            f"{line['correlation']:.2f}",
            f"Of what is left at {plots.epsilon_label(epsilon)} with the clipped image.",
        ),
        (
            "Right picks",
            f"{100 * line['right']:.1f} %",
            (
                f"Among {seen.candidates} images, each as likely beforehand: this one and public"
                " ones, drawn 50,000 times."
            ),
        ),
        (
            "Allowed",
            f"{100 * line['allowed']:.1f} %",
            (
                "The most that any attacker reaches within this guarantee (Hayes, Mahloujifar &"
                " Balle 2023)."
            ),
        ),
    )
    draw_figure(
        plots.reconstruction_strip,
        seen.table,
        FigureInfo("reconstruction", pixels),
        seen.image,
        seen.pictures,
        candidates=seen.candidates,
        present=epsilon,
    )
    st.caption(
        "Clipping takes the image's brightness, so pictures have an average one. A learner of"
        " several steps releases more, within its ε."
    )


@memory.cache(max_entries=16, show_spinner="Taking off all other rows …")
def _reconstruct(row: int, settings: Settings) -> Reconstruction:
    epsilons = sorted({*_SHOWN, settings.epsilon}, reverse=True)
    return reconstruction.reconstruct(
        core.split(settings),
        epsilons,
        row=row,
        delta=settings.delta,
        relation=settings.relation,
        seed=settings.seed,
    )


def attack(settings: Settings) -> None:
    """The loss threshold on the sidebar's run, LiRA on demand, both under the ceiling."""
    record = core.run(settings)
    attacks = attacks_so_far(settings)
    ceiling = ceiling_of(record)
    badges.show_row(*badges.DIAGNOSTIC)
    _numbers(record, attacks, ceiling, settings)
    roc = pd.concat([attack_.roc() for attack_ in attacks], ignore_index=True)
    bands = pd.concat([attack_.band() for attack_ in attacks], ignore_index=True)
    bound = privacy_tables.trade_off(ceiling, logarithmic=True)
    draw_figure(
        plots.membership_roc,
        roc,
        FigureInfo("membership", settings),
        bands,
        bound,
        epsilon=record.guarantee.epsilon.upper,
        least=max(FEWEST_ALARMS / len(attack_.others) for attack_ in attacks),
        members=min(len(attack_.members) for attack_ in attacks),
        non_members=min(len(attack_.others) for attack_ in attacks),
    )
    if reason := evidence.supports(settings.method):
        st.caption(f"The stronger attack with shadow models is for descent on one head: {reason}.")
    elif len(attacks) == 1:
        st.button(
            label=f"Attack harder: train {evidence.SHADOWS} shadow heads",
            key="lira-run",
            help=(
                "Some seconds. Heads of the same learner, each on half of a pool of rows, show how"
                " one row moves the model."
            ),
            icon=":material/groups:",
            type="primary",
            on_click=local.put,
            args=("evidence-lira", core.run_key(settings)),
        )
    if len(attacks) > 1:
        st.caption(
            "LiRA sees what a model answers. *All steps, other rows known* is the attacker that ε"
            " bounds: it sees every step of the training and every other row, and asks whether the"
            " steps went the way that this row pushes. No attack on these steps finds more."
        )
    rates = evidence.rates_under(attacks, ceiling)
    st.markdown(
        "**Members found at few false alarms**, with exact 95 % intervals, beside the most that the"
        " guarantee allows"
    )
    st.caption(
        "The others are a sample, so the true rate of false alarms has an interval, too: *at its"
        " end* is what the guarantee allows at its upper end. Where test rows look unlike the"
        " private ones, an attack also measures that difference, which is no leak."
    )
    st.dataframe(
        100 * rates.set_index("attack"),
        key="evidence-rates",
        column_config=_RATES,
    )


def attacks_so_far(settings: Settings) -> list[Attack]:
    """The attacks on the sidebar's run so far, those with shadow models first."""
    key = core.run_key(settings)
    shadows = _shadows(settings) if local.value("evidence-lira", "") == key else ()
    return [
        *(attack_ for attack_ in shadows if attack_.name != evidence.LOSS_THRESHOLD),
        _loss(settings),
    ]


def exposed_rows(settings: Settings) -> None:
    """Histogram of individual ε against the stated one, the most exposed rows, and classes."""
    losses = _individuals(settings)
    badges.show_row(badges.NON_PRIVATE, "individual privacy, no guarantee")
    share = float((losses.table["epsilon"] <= losses.stated_epsilon / 2).mean())
    words.metrics(
        (
            "Stated for every row",
            f"ε = {losses.stated_epsilon:.3g}",
            "What the run promises, whoever you are, when one row is added or removed.",
        ),
        (
            "Median of the rows",
            f"ε = {losses.table['epsilon'].median():.3g}",
            "Individual ε: half of the rows stay below.",
        ),
        (
            "Rows below half of it",
            f"{100 * share:.0f} %",
            (
                "Share of the private rows below half of the stated ε. Easy rows have small"
                " gradients, so they say little."
            ),
        ),
        (
            "Most exposed row",
            f"ε = {losses.table['epsilon'].max():.3g}",
            "Rows that the model never gets right keep their full gradient.",
        ),
    )
    draw_figure(
        plots.individual_losses,
        losses.table,
        FigureInfo("individual_privacy", settings),
        stated=losses.stated_epsilon,
        delta=losses.delta,
    )
    left, right = st.columns([1.2, 1])
    with left:
        draw_figure(
            plots.individual_by_class,
            losses.table,
            FigureInfo("individual_privacy_by_class", settings),
            stated=losses.stated_epsilon,
        )
    with right:
        _most_exposed(losses, settings)


def ceiling_of(record: RunRecord) -> accounting.TradeOff:
    """The trade-off curve of what a finished run declared."""
    return accounting.trade_off(spent_event(record), relation=str(record.guarantee.relation))


def _numbers(
    record: RunRecord, attacks: list[Attack], ceiling: accounting.TradeOff, settings: Settings
) -> None:
    allowed = accounting.advantage(ceiling)
    best = max(attacks, key=lambda attack_: attack_.auc)
    relation = odds.relation_words(str(record.guarantee.relation), settings.data)
    words.metrics(
        (
            "Attack's AUC",
            f"{best.auc:.3f}",
            (
                f"{best.name}. 0.5 is a coin flip. How well a threshold orders members before"
                " others. Test rows unlike the private ones raise it without any leak."
            ),
        ),
        (
            "Test accuracy",
            result.percent(record.accuracy),
            "Without privacy both accuracy and attack would differ: turn ε to ∞ and compare.",
        ),
        odds.metric(
            allowed / 2,
            f"one {odds.unit(settings.data)}",
            more=f" The largest advantage over a coin, for any attacker, is {allowed:.3f}.",
        ),
        (
            "ε, upper bound",
            round_up(record.guarantee.epsilon.upper),
            f"At δ = {number_words(record.guarantee.delta)}, {relation}.",
        ),
    )


def _most_exposed(losses: Individuals, settings: Settings) -> None:
    worst = losses.table.nlargest(10, "epsilon")
    with st.container(border=True, key="most-exposed"):
        badges.show(badges.NON_PRIVATE)
        st.markdown("**The most exposed rows**")
        images = core.features(settings).images
        if images is not None and images.is_images:
            captions = [
                f"{plain.text(row['class'])}, ε {row['epsilon']:.2f}" for _, row in worst.iterrows()
            ]
            st.image([images.x_train[row] for row in worst["row"]], caption=captions, width=76)
        st.dataframe(
            worst,
            hide_index=True,
            key="exposed-rows",
            column_config=_EXPOSED,
            height=215,
        )


@memory.cache(max_entries=16, by=core.run_key)
def _loss(settings: Settings) -> Attack:
    return evidence.loss_attack(core.train_run(settings), core.split(settings))
