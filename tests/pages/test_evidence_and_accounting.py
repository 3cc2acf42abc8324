"""The pages Audit and Count: every view draws, faults are caught on the page, numbers agree
with the library."""

import html

import pytest

import pillar_core as pc
from page_reading import markup, metric, press, table, words
from pages.frame import odds
from pages.parts.audit.attacks import ceiling_of
from pages.parts.count import noisy_steps
from pillar_core.auditing import Fault
from pillar_core.studies.evidence.one_run import one_run_audit
from pillar_core.types import RunSpec


def test_the_attack_shows_what_the_library_finds(start, split):
    from pillar_core.studies.evidence import attacks as evidence

    app = start("audit", epsilon="2", k="8")
    record = pc.run("pillar", split, epsilon=2.0, k=8)
    found = evidence.loss_attack(record, split)
    assert metric(app, "Attack's AUC") == f"{found.auc:.3f}"
    rates = app.dataframe[-1].value.iloc[0] / 100
    assert rates["allowed"] == pytest.approx(
        1 - ceiling_of(record).miss_rate(rates["false_positive_rate"])
    )
    assert rates["allowed_high"] > rates["allowed"]
    press(app, "lira-run")
    assert "LiRA, online" in app.dataframe[-1].value.index


def test_one_sentence_sums_the_evidence_up_on_every_view_and_a_fault_is_caught_and_clean_code_is_not(
    start, split
):
    app = start("audit", epsilon="8", k="8")
    said = next(
        str(item.value)
        for item in app.markdown
        if "is not yet audited by trials" in str(item.value)
    )
    trial = one_run_audit(RunSpec.of("pillar", epsilon=8.0, k=8), split)
    assert (
        f"certified ε ≥ {max(trial.certified):.2g},"
        f" {100 * max(trial.certified) / trial.claimed_epsilon:.0f} % of it" in said
    )
    assert "at 1 % false alarms" in said
    app.session_state["local.evidence-audit"] = "of another run-200"
    app.session_state["local.evidence-view"] = "sabotage"
    for fault, outcome in ((Fault.BARE_BIAS, "Caught."), (Fault.NONE, "No alarm")):
        app.session_state["local.fault"] = str(fault)
        app.run()
        assert outcome in words(app, "success")
        assert said in [str(item.value) for item in app.markdown]
    [attacked] = [table.value for table in app.dataframe if "right guesses" in table.value]
    fast, exact = (int(words.split(" of ")[0]) for words in attacked["right guesses"])
    assert (fast, exact) == (200, 100)


def test_a_trained_model_has_a_page_for_a_data_protection_officer_with_the_sentence(start, handed):
    start("audit", data="breast_cancer", epsilon="1")
    assert "model-evidence" not in handed
    start("answer", data="breast_cancer", epsilon="1").button(key="answer-train").click().run()
    app = start("audit", data="breast_cancer", epsilon="1")
    text = html.unescape(handed["model-evidence"]().decode())
    (sentence,) = [item.value for item in app.markdown if "audited by trials" in item.value]
    assert f"a known seed on these rows, and not of this model: {sentence.replace('*', '')}" in text


@pytest.mark.parametrize(
    ("page", "asked", "said"),
    [
        ("audit", {"epsilon": "inf"}, "promises nothing"),
        ("audit", {"method": "pate"}, "No audit here can test"),
        ("audit", {"method": "pillar_one_shot"}, "no full-batch descent"),
        (
            "count",
            {"epsilon": "inf", "controls": "accounting-from:epsilon"},
            "promises nothing",
        ),
        ("count", {"method": "dp_pca"}, "counts equal Gaussian steps"),
    ],
)
def test_what_cannot_be_audited_or_accounted_for_is_said(start, page, asked, said):
    assert said in words(start(page, **asked))


def test_the_page_gives_the_librarys_epsilon_and_offers_bounds_alone_slow_ones_when_asked(start):
    app = start("count", epsilon="2", controls="accounting-from:epsilon")
    noise = noisy_steps._noise(
        2.0, delta=1e-5, sampling_probability=0.0228, steps=1000, relation="add_or_remove_one"
    )
    upper = pc.epsilon(noise, sampling_probability=0.0228, steps=1000, delta=1e-5).upper
    assert metric(app, "ε, upper bound") == f"{upper:.4g}"
    assert upper <= 2.0
    app = start("count", epsilon="2", controls="accounting-steps:20")
    offered = app.selectbox(key="control.accountant").options
    assert len(offered) == sum(item.is_bound for item in pc.ACCOUNTANTS.values())
    assert not any("not a bound" in title for title in offered)
    assert "not a bound" in pc.ACCOUNTANTS["gdp"].title
    press(app, "slow")
    shown = table(app, "why")
    assert {"prv", "pld"} <= set(shown["name"])
    # Bounds of the same run by three codes: none below our certified lower end.
    bounds = shown[shown["is_bound"]]
    assert (bounds["epsilon"] >= shown["lower"].iloc[0]).all()


def test_accounting_meets_a_risk(start):
    app = start(
        "count",
        controls=(
            "accounting-from:risk;accounting-one-in:50;accounting-steps:20;accounting-view:meaning"
        ),
    )
    assert metric(app, odds.METRIC) == "8 of 400"
    assert "bounds this run where false alarms" in words(app)


def test_the_sidebars_run_has_the_same_numbers_on_every_page(start):
    """Count once solved σ for 1,000 steps, where the run that every other page shows takes
    five."""
    asked = {"seeds": "1", "learners": "pillar"}
    explore = start("curves", view="why", **asked)
    count, audit, why, compare, runs = (
        start(page, **asked) for page in ("count", "audit", "why", "learners", "runs")
    )
    accuracy, k, epsilon = (
        metric(explore, label) for label in ("Test accuracy", "Directions", "ε, upper bound")
    )
    solved = table(explore, "setting").set_index("setting")["value"]
    assert (solved["k"], f"{float(solved['noise_multiplier']):.4g}") == (
        k,
        metric(count, "Noise multiplier σ"),
    )
    assert metric(count, "ε, upper bound") == metric(audit, "ε, upper bound") == epsilon
    assert metric(audit, "Test accuracy") == accuracy
    assert f"Energy at k = {k}" in [item.label for item in why.metric]
    right = metric(count, odds.METRIC)
    assert right == metric(explore, odds.METRIC) == metric(audit, odds.METRIC)
    said = f"at most {right.removesuffix(' of 400')} become right"
    for app in (explore, count, audit, why, compare):
        assert f"Auto k ({k})" in [item.label for item in app.sidebar.toggle]
        assert said in markup(app.sidebar)
    of_learners = table(compare, "accuracy").query("epsilon == 0.3")
    assert [f"{value:.1f} %" for value in of_learners["accuracy"]] == [accuracy]
    of_runs = table(runs, "epsilon_upper")
    assert [(f"{row.mean:.1f} %", row.k, row.epsilon_upper) for row in of_runs.itertuples()] == [
        (accuracy, k, epsilon)
    ]
