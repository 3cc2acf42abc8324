"""The audits of the page Audit: power first, then trials of the learner itself, then fault
injection."""

import math

import pandas as pd
import streamlit as st

from pages.frame import badges, core, local, memory, words
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import Settings
from pages.frame.shares import UsedUpError
from pages.parts.audit import attacks as evidence_attacks
from pillar_core import accounting, auditing, plots
from pillar_core.auditing import Audit, Fault
from pillar_core.auditing.fault_injection import Finding
from pillar_core.errors import UnsupportedError
from pillar_core.numerics import number_words, round_up
from pillar_core.studies import privacy_tables
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence import verdict as verdicts
from pillar_core.studies.evidence.attacks import CanaryAudit
from pillar_core.studies.evidence.one_run import OneRunAudit, one_run_audit

_CANARIES = 1000
_audit_once = core.of_run(
    one_run_audit, max_entries=8, show_spinner="Training once, with canaries …"
)
_with_fault = memory.cache(max_entries=64, show_spinner="Running trials …")(auditing.audit)
_reach = memory.cache(max_entries=8)(privacy_tables.one_run_reach)
_audit_many = core.of_run(
    evidence.canary_audit, max_entries=8, show_spinner="Training with the canary and without …"
)


def audit(settings: Settings) -> None:
    """Draws what trials could notice, what they did once you run them, and what a single run could
    certify."""
    if math.isinf(settings.epsilon):
        st.info(
            "ε = ∞ claims nothing, so there is nothing to test. Lower ε.", icon=":material/info:"
        )
        return
    record = core.run(settings)
    claimed = evidence_attacks.ceiling_of(record)
    epsilon = record.guarantee.epsilon.upper
    trials = local.slider(
        "audit-redraws",
        label="Trials in each world",
        default=200,
        options=[100, 200, 400, 1000],
    )
    table = _power(claimed, settings.delta, epsilon, trials)
    draw_figure(
        plots.audit_power,
        table,
        FigureInfo("audit_power", settings, [badges.THEORY]),
        claimed=epsilon,
        significance=evidence.SIGNIFICANCE,
    )
    reason = evidence.supports(settings.method)
    wanted = f"{core.run_key(settings)}-{trials}"
    if reason:
        st.info(f"Trials need descent on one linear head: {reason}.", icon=":material/info:")
    elif local.value("evidence-audit", "") == wanted:
        _result(_audit_many(settings, trials=trials), settings)
    else:
        label = f"Now audit: train {2 * (trials + max(evidence.FEWEST_PILOT, trials // 4)):,} heads"
        st.button(
            label=label,
            key="audit-run",
            help=(
                "Some seconds: the learner itself, with a mislabelled canary among the first"
                " private rows and without it."
            ),
            icon=":material/fact_check:",
            type="primary",
            on_click=local.put,
            args=("evidence-audit", wanted),
        )
    reach = _reach(canaries=_CANARIES, delta=settings.delta)
    draw_figure(
        plots.one_run_reach,
        reach,
        FigureInfo("one_run", settings, [badges.THEORY]),
        canaries=_CANARIES,
    )
    if not reason:
        _one_run(_audit_once(settings))


def verdict(settings: Settings) -> str:
    """One sentence on the sidebar's run over all views; it waits for one training with canaries,
    and for what you asked for already."""
    if math.isinf(settings.epsilon):
        return verdicts.WITHOUT_CLAIM
    record, (wanted, _, trials) = (
        core.run(settings),
        local.value("evidence-audit", "").rpartition("-"),
    )
    try:
        single = _audit_once(settings)
        many = (
            _audit_many(settings, trials=int(trials)) if wanted == core.run_key(settings) else None
        )
    except UsedUpError:
        raise
    except UnsupportedError as reason:
        return verdicts.without_audit(record.guarantee.epsilon.upper, str(reason))
    rates = evidence.rates_under(
        evidence_attacks.attacks_so_far(settings), evidence_attacks.ceiling_of(record)
    )
    return verdicts.sentence(single, many, rates)


def fault_injection(settings: Settings) -> None:
    """A switch for each fault, the audit's verdict at once, and all faults side by side."""
    titles = {str(fault): "nothing" if fault is Fault.NONE else str(fault) for fault in Fault}
    name = local.choice(
        "fault",
        titles,
        str(Fault.SPENT_TWICE),
        label="What is wrong with the code?",
        help=(
            "Learners that are broken on purpose. None of them can be chosen anywhere else in the"
            " app."
        ),
    )
    left, right = st.columns([2.4, 1], vertical_alignment="center")
    claim = local.slider(
        "claim",
        place=right,
        label="It claims ε",
        help="The ε that the broken code goes on claiming, at δ = 10⁻⁵.",
        default=4.0,
        options=[0.5, 1.0, 2.0, 4.0, 8.0],
        form="{:g}",
    )
    outcome = _with_fault(Fault(name), epsilon=claim, seed=settings.seed)
    left.markdown(f"## {auditing.FAULT_WORDS[outcome.fault]}")
    _verdict(outcome, claim)
    _show_worlds(
        outcome.worst,
        outcome.claimed.mu,
        FigureInfo("fault_injection", settings, [badges.EXPERIMENT, badges.SYNTHETIC]),
    )
    st.markdown(f"**Every fault, same audit, claimed ε = {claim:g}**")
    st.dataframe(_all_faults(claim, settings.seed), hide_index=True, key="faults")
    st.caption(
        "These faults have a claim of their own, not the sidebar's ε. Three canaries, 800 trials in"
        " each world, false alarms at most 2 % over all three. At small claims trials see less: try"
        " ε = 1 and the budget spent twice."
    )
    st.markdown("**The low bits of the noise**")
    attacked, bound = _low_bits(settings.seed)
    st.dataframe(attacked, hide_index=True, key="low_bits")
    st.caption(
        "An attacker knows all rows but the last, and guesses from a release's low bits whether"
        f" that one is in. Ideal noise lets no guess be right more often than in {100 * bound:.1f}"
        " %. docs/learners.md names the law of each learner's releases."
    )
    st.markdown("**What no audit sees**: bugs of published code that pass every audit here")
    st.markdown(
        "\n".join(
            f"- **{spot.title}.** {spot.why} **Caught here by** {spot.caught_by}"
            for spot in auditing.BLIND_SPOTS
        )
    )


def _result(outcome: CanaryAudit, settings: Settings) -> None:
    if outcome.is_noise_rejected:
        _show_refuted("The noise is not independent normals of the size that was charged.")
    elif outcome.is_answer_rejected:
        _show_refuted(
            "The model's answer to the canary shows more than the claimed curve allows: private"
            " rows may be read beside its steps."
        )
    elif outcome.is_rejected:
        _show_refuted("The canary is told apart more often than the claimed curve allows.")
    else:
        st.success(
            "**Not refuted.** The trials are consistent with the claim, as far as they can see.",
            icon=":material/verified_user:",
        )
    words.metrics(
        ("Claimed", f"ε ≤ {round_up(outcome.claimed_epsilon, 3)}", "What the run promises."),
        (
            "Proved by the trials",
            f"ε ≥ {outcome.certified_epsilon:.3g}",
            "95 % lower bound from exact binomial counts, for Gaussian runs.",
        ),
        (
            "Would have noticed",
            f"ε ≥ {outcome.noticed_epsilon:.3g}",
            "The smallest true ε that an ideal attack would expose in 9 of 10 audits.",
        ),
        ("p-value", _small(outcome.finding.p_value), "Exact; below 0.05 the claim is rejected."),
    )
    _show_worlds(outcome.finding, outcome.claimed.mu, FigureInfo("audit_worlds", settings))


def _show_worlds(finding: Finding, claimed_mu: float, info: FigureInfo) -> None:
    table = privacy_tables.worlds(finding)
    counts = finding.counts
    title = (
        f"Canary “{finding.canary}”: {counts.hits} alarms with it, {counts.false_alarms} without,"
        f" of {counts.trials}"
    )
    draw_figure(
        plots.two_worlds,
        table,
        info,
        threshold=finding.threshold,
        claimed_mu=claimed_mu,
        title=title,
    )


def _one_run(trial: OneRunAudit) -> None:
    """What one training run with many canaries certified."""
    st.markdown(
        f"**One run of this learner**, {trial.canaries} canaries, each in or out by its own coin"
    )
    words.metrics(
        (
            "Coins called rightly",
            f"{trial.correct} of {trial.guesses}",
            (
                "By the best linear estimate from the released steps. How many are called was fixed"
                " before."
            ),
        ),
        (
            "Certified, whole curve",
            f"ε ≥ {trial.certified[1]:.2g}",
            "f-DP bound of Mahloujifar, Melis & Chaudhuri 2024, at 95 %.",
        ),
        (
            "Certified, one point",
            f"ε ≥ {trial.certified[0]:.2g}",
            "(ε, δ) bound of Steinke, Nasr & Jagielski 2023, at 95 %.",
        ),
        (
            "To be hoped for",
            f"ε ≥ {trial.expected[1]:.2g}",
            "An ideal attack on independent canaries of a run that spends all it claims.",
        ),
    )
    certified_share, ideal_share = (
        100 * max(ends) / trial.claimed_epsilon for ends in (trial.certified, trial.expected)
    )
    st.caption(
        f"Certified at 95 % confidence: {certified_share:.0f} % of the claimed ε. With average luck"
        f" an ideal attack certifies {ideal_share:.0f} %. Of {trial.canaries} coins the audit calls"
        f" the {trial.guesses} that it is surest of, so more of its calls are right than of guesses"
        " about every row."
    )
    if trial.is_rejected:
        _show_refuted("One run certifies more than was claimed.")


def _show_refuted(reason: str) -> None:
    st.error(f"**The claim is refuted.** {reason}", icon=":material/gpp_bad:")


def _verdict(outcome: Audit, claim: float) -> None:
    p = outcome.worst.p_value
    least = outcome.significance / len(outcome.findings)
    test_text = (
        f"p = {_small(p)} by the canary “{outcome.worst.canary}”; p at most {least:.4f} refutes the"
        " claim."
    )
    if outcome.is_caught and outcome.fault is Fault.NONE:
        st.error(f"**False alarm.** {test_text}", icon=":material/notification_important:")
    elif outcome.is_caught:
        st.success(
            f"**Caught.** These releases cannot come from a run with ε = {claim:g}. {test_text}",
            icon=":material/gpp_good:",
        )
    elif outcome.fault is Fault.NONE:
        st.success(f"**No alarm**, as it should be. {test_text}", icon=":material/verified_user:")
    else:
        st.warning(
            f"**Not noticed** with so few trials at ε = {claim:g}. {test_text}",
            icon=":material/visibility_off:",
        )


def _small(p: float) -> str:
    """A p-value; below 10⁻⁹⁹ the size says nothing more."""
    return number_words(p, 2) if p > 1e-99 else "below 10⁻⁹⁹"


@memory.cache(max_entries=32, show_spinner="Auditing every fault …")
def _all_faults(claim: float, seed: int) -> pd.DataFrame:
    rows = []
    for fault in Fault:
        outcome = _with_fault(fault, epsilon=claim, seed=seed)
        worst = outcome.worst
        seen = "caught" if outcome.is_caught else "no alarm"
        counts = f"{worst.counts.hits} / {worst.counts.false_alarms}"
        rows.append(
            (auditing.FAULT_WORDS[fault], worst.canary, counts, _small(worst.p_value), seen)
        )
    return pd.DataFrame(
        rows,
        columns=[
            "what the code does",
            "best canary",
            "alarms with / without",
            "p-value",
            "verdict",
        ],
    )


@memory.cache(max_entries=8, show_spinner="Reading low bits …")
def _low_bits(seed: int) -> tuple[pd.DataFrame, float]:
    laws = {"fast: float64 (Box & Muller)": False, "exact: whole numbers": True}
    results = {
        words: auditing.attack_low_bits(is_exact=is_exact, seed=seed)
        for words, is_exact in laws.items()
    }
    rows = [(words, f"{result.correct} of {result.trials}") for words, result in results.items()]
    return (
        pd.DataFrame(rows, columns=["noise of the release", "right guesses"]),
        next(iter(results.values())).bound,
    )


@memory.cache(max_entries=16)
def _power(
    _claimed: accounting.TradeOff, delta: float, epsilon: float, trials: int
) -> pd.DataFrame:
    several = sorted({50, trials, 4 * trials})
    return privacy_tables.power(
        _claimed, trials=several, significance=evidence.SIGNIFICANCE, delta=delta, top=2.2 * epsilon
    )
