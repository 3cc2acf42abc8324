"""The Evidence page's attacks on one run: membership inference under the guarantee's ceiling, and individual privacy by row."""

import pandas as pd
import streamlit as st

from pages.frame import badges, core, local, memory, odds, plain, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import accounting, plots
from pillar_core.auditing.membership import FEWEST_ALARMS
from pillar_core.ledger import of_person
from pillar_core.methods import METHODS
from pillar_core.numerics import round_up
from pillar_core.studies import privacy_tables
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence import one_run
from pillar_core.studies.evidence.attacks import Attack
from pillar_core.studies.evidence.one_run import Individuals
from pillar_core.types import Form, RunRecord

_SHOWN_IMAGES = 10


def attack(settings: Settings) -> None:
    """The loss threshold on the sidebar's run, LiRA on demand, both under the ceiling."""
    record, attacks = core.run(settings), attacks_so_far(settings)
    ceiling = ceiling_of(record)
    badges.show_row(*badges.DIAGNOSTIC)
    _numbers(record, attacks, ceiling, settings)
    roc = pd.concat([attack_.roc() for attack_ in attacks], ignore_index=True)
    bands = pd.concat([attack_.band() for attack_ in attacks], ignore_index=True)
    bound = privacy_tables.trade_off(ceiling, logarithmic=True)
    shared: Form = {"epsilon": record.guarantee.epsilon.upper, "least": max(FEWEST_ALARMS / len(attack_.others) for attack_ in attacks)}
    shared |= {"members": len(attacks[0].members), "non_members": len(attacks[0].others)}
    drawn = plots.membership_roc(roc, bands, bound, mode=theme.mode(), **shared)
    show_figure(drawn, roc, FigureInfo("membership", settings))
    _lira_button(settings, is_done=len(attacks) > 1)
    rates = evidence.rates_under(attacks, ceiling)
    st.markdown("**Members found at few false alarms**, with exact 95 % intervals, beside the most that the guarantee allows")
    words.say("attack_rates")
    st.dataframe(100 * rates.set_index("attack"), key="evidence-rates", column_config=words.columns("attack_rates"))


def attacks_so_far(settings: Settings) -> list[Attack]:
    """The attacks on the sidebar's run so far, those with shadow models first."""
    key = core.run_key(settings)
    shadows = _shadows(key, settings) if local.value("evidence-lira", "") == key else ()
    return [*shadows, _loss(key, settings)]


def exposed_rows(settings: Settings) -> None:
    """Histogram of individual ε against the stated one, the most exposed rows, and classes."""
    losses = _individuals(core.run_key(settings), settings)
    badges.show_row(badges.NON_PRIVATE, "individual privacy, no guarantee")
    share = float((losses.table["epsilon"] <= losses.stated_epsilon / 2).mean())
    numbers = {
        "stated": f"ε = {losses.stated_epsilon:.3g}",
        "median": f"ε = {losses.table['epsilon'].median():.3g}",
        "below": f"{100 * share:.0f} %",
        "most": f"ε = {losses.table['epsilon'].max():.3g}",
    }
    words.metrics("exposed", numbers)
    drawn = plots.individual_losses(losses.table, mode=theme.mode(), stated=losses.stated_epsilon, delta=losses.delta)
    show_figure(drawn, losses.table, FigureInfo("individual_privacy", settings))
    left, right = st.columns([1.2, 1])
    with left:
        drawn = plots.individual_by_class(losses.table, mode=theme.mode(), stated=losses.stated_epsilon)
        show_figure(drawn, losses.table, FigureInfo("individual_privacy_by_class", settings))
    with right:
        _most_exposed(losses, settings)


def ceiling_of(record: RunRecord) -> accounting.TradeOff:
    """The trade-off curve of what a finished run declared."""
    method = METHODS[record.method]
    event = of_person(method.cost(method.settings(**record.settings), record.facts), record.guarantee.rows_per_person or 1)
    return accounting.trade_off(event, relation=str(record.guarantee.relation))


def _numbers(record: RunRecord, attacks: list[Attack], ceiling: accounting.TradeOff, settings: Settings) -> None:
    allowed = accounting.advantage(ceiling)
    best = max(attacks, key=lambda attack_: attack_.auc)
    numbers = {
        "auc": f"{best.auc:.3f}",
        "error": "none" if record.accuracy is None else f"{100 * (1 - record.accuracy):.1f} %",
        "allowed": f"{allowed:.3f}",
        "epsilon": round_up(record.guarantee.epsilon.upper),
    }
    relation = odds.relation_words(str(record.guarantee.relation), settings.data)
    fields = {"name": best.name, "turned": plots.one_in(allowed / 2, end=""), "delta": record.guarantee.delta, "relation": relation}
    words.metrics("attack", numbers, **fields)


def _lira_button(settings: Settings, *, is_done: bool) -> None:
    reason = evidence.supports(settings.method)
    if reason:
        st.caption(f"The stronger attack with shadow models is for descent on one head: {reason}.")
    elif not is_done:
        style = local.element("lira-run", label=f"Attack harder: train {evidence.SHADOWS} shadow heads")
        st.button(**style, on_click=local.put, args=("evidence-lira", core.run_key(settings)))


def _most_exposed(losses: Individuals, settings: Settings) -> None:
    worst = losses.table.nlargest(_SHOWN_IMAGES, "epsilon")
    with st.container(border=True, key="most-exposed"):
        badges.show(badges.NON_PRIVATE)
        st.markdown("**The most exposed rows**")
        images = core.features(settings).images
        if images is not None and images.is_images:
            captions = [f"{plain.text(row['class'])}, ε {row['epsilon']:.2f}" for _, row in worst.iterrows()]
            st.image([images.x_train[row] for row in worst["row"]], caption=captions, width=76)
        st.dataframe(worst, hide_index=True, key="exposed-rows", column_config=words.columns("exposed_rows"), height=215)


@memory.of_rows(max_entries=16)
def _loss(key_: str, _settings: Settings) -> Attack:
    return evidence.loss_attack(core.train_run(_settings), core.split(_settings))


@memory.of_rows(max_entries=8, show_spinner="Training shadow heads …")
def _shadows(key_: str, _settings: Settings) -> tuple[Attack, ...]:
    attacks = evidence.shadow_attacks(core.spec(_settings), core.split(_settings))
    return tuple(attack_ for attack_ in attacks if attack_.uses_shadows)


@memory.of_rows(max_entries=8, show_spinner="Following every row along the trajectory …")
def _individuals(key_: str, _settings: Settings) -> Individuals:
    return one_run.individuals(core.spec(_settings), core.split(_settings))
