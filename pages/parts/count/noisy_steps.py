"""What the page Count shows of one run of noisy steps."""

import dataclasses
import math

import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, local, memory, odds, words
from pages.frame.figures import FigureInfo, draw_figure, show_figure
from pages.frame.settings import Settings
from pillar_core import accounting, plots
from pillar_core.numerics import number_words, round_up
from pillar_core.studies import privacy_tables
from pillar_core.studies.privacy_tables import GaussianSetting
from pillar_core.types import EpsilonBounds

_COLUMNS = {
    "accountant": st.column_config.Column("accountant", width=290),
    "epsilon": st.column_config.NumberColumn("ε", format="%.4g"),
    "lower": st.column_config.NumberColumn("lower end", format="%.4g"),
    "is_bound": st.column_config.CheckboxColumn("a bound?"),
    "why": st.column_config.Column("why", width="large"),
    "name": None,
}
"""Of the table of accountants."""
_LINES = ("pillar", "rdp", "gdp")
_noise = memory.cache(max_entries=256)(accounting.noise_multiplier)
_noise_for_risk = memory.cache(max_entries=256, show_spinner="Solving the noise …")(
    accounting.noise_for_risk
)
_lines = memory.cache(max_entries=64, show_spinner="Counting by every accountant …")(
    privacy_tables.against_steps
)
_side_by_side = memory.cache(max_entries=64, show_spinner="Asking every accountant …")(
    privacy_tables.by_accountant
)
_profile = memory.cache(max_entries=64)(privacy_tables.profile)
_noise_curve = memory.cache(max_entries=64, show_spinner="Solving the noise …")(
    privacy_tables.noise_curve
)
_samplers = memory.cache(max_entries=64)(privacy_tables.samplers)
_composed = memory.cache(max_entries=64)(privacy_tables.composed_epsilons)
_price = memory.cache(max_entries=64)(privacy_tables.tuning_price)


def controls(settings: Settings) -> GaussianSetting | None:
    """The run in question: the sidebar's, or steps, batch share and noise, solved from the
    sidebar's ε or set by hand."""
    left, middle, right = st.columns([1.6, 1, 1])
    how = local.choice(
        "accounting-from",
        place=left,
        label="Start from",
        help=(
            "This run: the sidebar's learner and settings. Else ε, σ, or the most that any attack"
            " may reach, with steps and batches of your choice."
        ),
        default="run",
        options={"run": "This run", "epsilon": "Sidebar's ε", "noise": "Noise", "risk": "A risk"},
    )
    if how == "run":
        left.caption(
            f"The sidebar's run of {pc.METHODS[settings.method].title}, not a model that Answer"
            " trained."
        )
        return _this_run(settings)
    steps = local.slider(
        "accounting-steps",
        place=middle,
        label="Steps",
        help="Noisy steps taken.",
        default=1000,
        options=[1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000, 6000, 10000],
        form="{:,}",
    )
    share = local.slider(
        "accounting-share",
        place=right,
        label="Batch share",
        help=(
            "q, the chance of each row to be in a step's batch; 100 % is a full batch. 2.28 %"
            " is 1,024 of 45,000 rows."
        ),
        default=0.0228,
        options=[0.001, 0.002, 0.005, 0.01, 0.0228, 0.05, 0.1, 0.2, 0.5, 1.0],
        form="percent",
    )
    run = {"sampling_probability": share, "steps": steps, "relation": settings.relation}
    if how == "noise":
        noise_multiplier = local.slider(
            "accounting-noise",
            place=left,
            label="Noise multiplier σ",
            help="σ, the noise's standard deviation over the clip norm.",
            default=1.0,
            options=[
                0.3,
                0.4,
                0.5,
                0.6,
                0.7,
                0.8,
                0.9,
                1.0,
                1.2,
                1.5,
                2.0,
                3.0,
                5.0,
                8.0,
                12.0,
                20.0,
                40.0,
                80.0,
            ],
            form="{:g}",
        )
    elif how == "risk":
        most, rate = _risk()
        noise_multiplier = _noise_for_risk(most, false_positive_rate=rate, **run)
    elif math.isinf(settings.epsilon):
        st.info(
            "ε = ∞ needs no noise, and promises nothing. Lower ε in the sidebar, or set the noise"
            " here.",
            icon=":material/info:",
        )
        return None
    else:
        noise_multiplier = _noise(settings.epsilon, delta=settings.delta, **run)
    return GaussianSetting(noise_multiplier, delta=settings.delta, **run)


def _this_run(settings: Settings) -> GaussianSetting | None:
    """The steps that the sidebar's run takes; None, with the way on, where its releases are not
    equal Gaussian steps."""
    record = core.run(settings)
    values = record.settings
    if record.guarantee.is_private and values.get("noise_multiplier") and values.get("steps"):
        share = min(
            1.0, (values.get("batch_size") or record.facts.n_private) / record.facts.n_private
        )
        setting = GaussianSetting(
            values["noise_multiplier"], share, values["steps"], settings.delta, settings.relation
        )
        if math.isclose(_epsilon(setting).upper, record.guarantee.epsilon.upper, rel_tol=1e-6):
            st.caption(
                f"{pc.METHODS[record.method].title}: {values['steps']} steps, batch share"
                f" {100 * share:.3g} %, as on Curves."
            )
            return setting
    releases = "; ".join(record.guarantee.events) or "nothing"
    st.info(
        f"{pc.METHODS[record.method].title} releases {releases}. This page counts equal Gaussian"
        " steps: choose another start above.",
        icon=":material/info:",
    )
    return None


def _risk() -> tuple[float, float | None]:
    """The most that an attack may reach, and the false-alarm rate at which; None for even bets."""
    left, right = st.columns(2)
    if (
        local.choice(
            "accounting-risk",
            place=left,
            label="Prevent",
            help=(
                "Guesses about one row that the model turns from wrong to right, or members that a"
                " careful attacker finds."
            ),
            default="guess",
            options={"guess": "Bets turned right", "found": "Members found at 1 % false alarms"},
        )
        == "guess"
    ):
        return 1 / local.slider(
            "accounting-one-in",
            place=right,
            label="One in",
            help="At most one bet in so many is turned. A coin wins half of them anyway.",
            default=20,
            options=[3, 5, 10, 20, 50, 100, 200, 500, 1000],
        ), None
    return local.slider(
        "accounting-found",
        place=right,
        label="At most",
        help="At most this share of the members; blind accusation finds 1 %.",
        default=0.05,
        options=[0.011, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5],
        form="percent",
    ), 0.01


def numbers(setting: GaussianSetting) -> None:
    """Noise, certified ends, advantage and one sentence of odds."""
    bounds = _epsilon(setting)
    curve = _curve(setting)
    gain = accounting.advantage(curve)
    words.metrics(
        (
            "Noise multiplier σ",
            f"{setting.noise_multiplier:.4g}",
            "Noise standard deviation over the clip norm, on each coordinate of each step.",
        ),
        (
            "ε, upper bound",
            round_up(bounds.upper),
            (
                f"At δ = {number_words(setting.delta)}, {odds.relation_words(setting.relation)}."
                " Batches are Poisson samples, or all rows in every step."
            ),
        ),
        (
            "ε, lower end",
            f"{bounds.lower:.4g}",
            (
                "The ε of what is counted lies between this and the upper bound; both ends are"
                " certified."
            ),
        ),
        odds.metric(gain / 2),
    )


def against_steps(setting: GaussianSetting, settings: Settings) -> None:
    """One line per accountant, and the table of why they differ."""
    has_slow = local.value("accounting-slow", 0) == 1
    slow = privacy_tables.SLOW if has_slow else ()
    table = _lines(setting, (*_LINES, *slow))
    draw_figure(
        plots.epsilon_against_steps,
        table,
        FigureInfo("epsilon_steps", settings, [badges.THEORY]),
        delta=setting.delta,
        present=setting.steps,
    )
    side_by_side = _side_by_side(setting, (*privacy_tables.QUICK, *slow))
    st.markdown("**Why they differ**")
    st.dataframe(side_by_side, hide_index=True, key="accountants", column_config=_COLUMNS)
    if not has_slow:
        st.button(
            label="Ask PRV, PLD and Opacus too",
            key="slow",
            help=(
                "Numerical accountants of other projects, up to a few seconds; for comparison only."
            ),
            icon=":material/hourglass:",
            on_click=local.put,
            args=("accounting-slow", 1),
        )


def meaning(setting: GaussianSetting, settings: Settings) -> None:
    """Trade-off curve, profile, and odds in sentences."""
    curve = _curve(setting)
    table = privacy_tables.trade_off(curve)
    pairs = _profile(setting)
    left, right = st.columns(2)
    with left:
        draw_figure(
            plots.trade_off_curve,
            table,
            FigureInfo("trade_off", settings, [badges.THEORY]),
            advantage=accounting.advantage(curve),
            best=privacy_tables.widest(table),
        )
    with right:
        draw_figure(
            plots.epsilon_against_delta,
            pairs,
            FigureInfo("profile", settings, [badges.THEORY]),
            delta=setting.delta,
        )
    _, *further = accounting.odds(curve)
    for column, odd, icon in zip(st.columns(2), further, ("gavel", "person_search"), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f":material/{icon}: {odd.sentence}")
    summary = accounting.gaussian_summary(curve)
    st.caption(
        f"Read from the curve, {curve.source}. As one number: Gaussian **μ ="
        f" {round_up(summary.mu)}** bounds this run where false alarms and misses are"
        f" {100 * summary.floor:g} % or more, and overstates a hit rate by at most"
        f" {round_up(100 * summary.overstated, 2)} points."
    )


def noise(setting: GaussianSetting, settings: Settings) -> None:
    """σ for every ε."""
    table = _noise_curve(dataclasses.replace(setting, noise_multiplier=1.0))
    draw_figure(
        plots.noise_against_epsilon,
        table,
        FigureInfo("noise", settings, [badges.THEORY]),
        present=(_epsilon(setting).upper, setting.noise_multiplier),
    )


def rules(setting: GaussianSetting, settings: Settings) -> None:
    """The same noise under both adjacencies and three samplers."""
    table = _samplers(setting)
    noise = (
        f"σ = {setting.noise_multiplier:.3g}, {setting.steps:,} steps, batch share"
        f" {100 * setting.sampling_probability:g} %"
    )
    caption = f"{noise}, δ = {number_words(setting.delta)}. Upper ends."
    draw_figure(
        plots.bars_of_epsilon,
        table,
        FigureInfo("samplers", settings, [badges.THEORY]),
        title="The same noise, other rules, another ε",
        caption=caption,
    )
    st.warning(
        "**Shuffled but accounted as Poisson** is the most common privacy bug: most training loops"
        " shuffle, and quote the first bar. Here the mechanism draws its own batches: Poisson"
        " samples, or all rows in every step.",
        icon=":material/shuffle:",
    )
    st.markdown("**What is known of each**")
    st.markdown(
        "\n".join(
            f"- {label}, ε = {round_up(epsilon)}: {known}"
            for label, epsilon, known in table[["label", "epsilon", "known"]].to_numpy()
        )
    )


def composition(setting: GaussianSetting, settings: Settings) -> None:
    """Training, choosing public data and tuning in one ledger; what tuning leaves for one run."""
    left, right = st.columns(2)
    chosen = local.slider(
        "selection",
        [0.0, 0.1, 0.2, 0.5, 1.0],
        0.1,
        place=left,
        label="ε spent on choosing public data",
        help=(
            "ε of the one Gaussian release that picks the public data set, as Public data does; 0"
            " if that choice is free."
        ),
        form="{:g}",
    )
    trials = local.slider(
        "trials",
        [1, 2, 5, 10, 20, 50],
        10,
        place=right,
        label="Runs that settings are tuned over",
        help=(
            "Mean number of runs that settings are tuned over, drawn at random and never told; 1"
            " is no tuning."
        ),
    )
    table = _composed(setting, selection=chosen, trials=trials)
    known = table.dropna(subset=["epsilon"])
    for row in table[table["epsilon"].isna()].itertuples():
        st.info(f"**{row.label}**: {row.event}", icon=":material/info:")
    drawn = plots.bars_of_epsilon(
        known,
        title="What choices add to training",
        caption="Everything that looks at private rows enters one ledger.",
    )
    show_figure(drawn, table, FigureInfo("composition", settings, [badges.THEORY]))
    budget = _epsilon(setting).upper
    price = _price(budget, delta=setting.delta, means=(3.0, 10.0, 30.0))
    title = f"If ε = {budget:.3g} must cover the tuning, one run may spend"
    caption = (
        "Best of a random number of runs (Papernot & Steinke 2022, logarithmic law), each a"
        " full-batch Gaussian run."
    )
    draw_figure(
        plots.bars_of_epsilon,
        price,
        FigureInfo("tuning_price", settings, [badges.THEORY]),
        title=title,
        caption=caption,
    )
    st.caption(
        "Papers tune on test rows and pay nothing. The rules of every learner here read public"
        " facts alone, which costs nothing."
    )


VIEWS = {
    "steps": against_steps,
    "meaning": meaning,
    "noise": noise,
    "rules": rules,
    "sum": composition,
}
"""The looks at one run, by the options of the control."""


def code(setting: GaussianSetting) -> None:
    """The lines that reproduce the numbers."""
    text = (
        f"import pillar_core as pc\n\n"
        f"pc.epsilon({setting.noise_multiplier:.10g},"
        f" sampling_probability={setting.sampling_probability:g}, steps={setting.steps}, "
        f'delta={setting.delta:g}, relation="{setting.relation}")\n# {_epsilon(setting)}\n'
        f"run = pc.accounting.gaussian_run({setting.noise_multiplier:.10g},"
        f" sampling_probability={setting.sampling_probability:g}, "
        f"steps={setting.steps})\ncurve = pc.accounting.trade_off(run,"
        f' relation="{setting.relation}")\n'
        f"pc.accounting.advantage(curve), pc.accounting.odds(curve)"
    )
    with st.expander("The same numbers in Python", icon=":material/code:"):
        st.code(text, language="python", wrap_lines=True)


def _epsilon(setting: GaussianSetting) -> EpsilonBounds:
    return accounting.epsilon(setting.event, delta=setting.delta, relation=setting.relation)


@memory.cache(max_entries=64)
def _curve(setting: GaussianSetting) -> accounting.TradeOff:
    return accounting.trade_off(setting.event, relation=setting.relation)
