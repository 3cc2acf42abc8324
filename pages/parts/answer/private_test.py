"""The model that was just taken away: one noisy figure of the test rows with its statement, and the threshold of two classes."""

import shlex
from typing import Any

import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, failures, local, plain, receipts, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import mode
from pillar_core.errors import DataError
from pillar_core.metrics import threshold_at
from pillar_core.plots.privacy import private_roc
from pillar_core.runs import private_tests, use
from pillar_core.runs.models import model_bytes
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.studies.advice import Advice
from pillar_core.studies.private_test import METRICS, roc
from pillar_core.types import Provenance, RunRecord, SemiPrivateSplit

LOOK = "answer-look"


def panel(settings: Settings, advice: Advice) -> None:
    """The switch; then ε, figure and what they cost, the button, and what the tests of the model said."""
    data = core.features(settings)
    if mode.binds() or data.y_test is None:
        return
    with st.container(border=True, key="private-test"):
        if not local.toggle(receipts.TEST, of=settings.data):
            st.caption("Test rows are people, too: a noisy figure of them may be shown and signed.")
            return
        epsilon, metric = controls(data.n_classes)
        most = None if data.persons is None else data.persons.most
        if not data.test_drawn:
            local.toggle("answer-test-coin")
        has_coin = receipts.has_coin(data)
        persons = f" No person may have more than {most} of the test rows." if most else ""
        st.caption(f"{_cost(settings, epsilon, has_coin, is_drawn=bool(data.test_drawn))}{persons}")
        request = {"epsilon": epsilon, "metric": metric, "rows_per_person": most, "relation": settings.relation}
        st.button(**local.element("answer-test-run"), on_click=_spend, args=(settings, request))
        if (model := receipts.latest_model(settings)) is None:
            st.caption("First train a model above; then press.")
            return
        choice = receipts.last_choice(settings) or {}
        _results(settings, *model, choice.get("expected", [*advice.expected_accuracy, advice.metric]))


def controls(n_classes: int, *, of: str = "") -> tuple[float, str]:
    """(ε, figure) of a private test, as their controls say. of: what further ones are for."""
    left, right = st.columns(2)
    titles = {name: private_tests.title_of(name) for name in METRICS if name != "auc" or n_classes == 2}
    epsilon = float(local.slider("answer-test-epsilon", of=of, place=left))
    return epsilon, local.choice("answer-test-metric", titles, of=of, place=right)


def threshold_panel(settings: Settings) -> None:
    """What the model that was just trained reaches on public rows with labels, or on test rows once you look at them."""
    if (model := receipts.latest_model(settings)) is None or model[1].features.n_classes != 2:
        return
    classifier, split, features = model[0].classifier, model[1], model[1].features
    is_seen = features.y_test is not None and bool(local.value(LOOK, False)) and not receipts.is_locked(settings)
    x, y = (features.x_test, features.y_test) if is_seen else (split.public_x, split.public_y)
    with st.expander("Choose a threshold", icon=":material/rule:"):
        if classifier is None or x is None or y is None or len(set(y.tolist())) < 2:
            st.caption("It takes public rows with labels of both classes, or a look at the test rows.")
            return
        names = dict(enumerate(features.classes))
        place = int(local.choice("answer-positive", names, 1))
        wanted = float(local.slider("answer-sensitivity"))
        p = use.probabilities(classifier.scores(x).astype(float))[:, place]
        threshold, sensitivity, specificity = threshold_at(p, y == place, wanted)
        badges.show(Provenance.NON_PRIVATE if is_seen else Provenance.PUBLIC)
        rows = "test rows" if is_seen else "public rows, which may have trained the model, too"
        reached = f"finds {100 * sensitivity:.1f} % of {names[place]} and is right on {100 * specificity:.1f} % of {names[1 - place]}"
        st.markdown(plain.text(f"From a probability of {threshold:.4f} on, it {reached}: on {len(y):,} {rows}."))
        command = f"python -m pillar_core predict model.zip ROWS --threshold {threshold:.4f} --positive {shlex.quote(names[place])}"
        st.code(command, language="bash", wrap_lines=True)


def _spend(settings: Settings, request: dict[str, Any]) -> None:
    """A test of the model that was taken away last, or is being trained; its release is in the cache before Streamlit is asked again."""
    with failures.note_refusal("Nothing was spent"), receipts.at_work(settings):
        if (model := receipts.latest_model(settings)) is None:
            raise DataError("Train a model of these rows first: that one is tested.")
        pc.private_test(model[0], model[1].features, seed=None, **request)


def _results(settings: Settings, record: RunRecord, split: SemiPrivateSplit, expected: tuple[float, float, str]) -> None:
    """What tests of this model said, whether it is what was expected, and its file with them in the statement."""
    model, tests = private_tests.model_of(record.classifier) if record.classifier else "", _tests(settings)
    for place, test in enumerate(reversed([test for test in tests if test.model == model])):
        value = f"{100 * test.value:.1f} % ({100 * test.low:.1f}–{100 * test.high:.1f})" if test.low > 0 or test.high < 1 else "cannot tell"
        st.metric(f"{private_tests.title_of(test.metric)}, ε = {test.epsilon:.3g}", value, help=plain.text(test.words))
        badges.show(Provenance.PRIVATE)
        if doubt := private_tests.doubt(test, *expected, n_classes=split.features.n_classes):
            st.warning(doubt, icon=":material/warning:")
        if test.unclear:
            st.caption(plain.text(test.rare))
        if test.metric == "auc":
            table = roc(test)
            show_figure(private_roc(table, mode=theme.mode()), table, FigureInfo(f"private_roc_{place}", settings, [badges.PRIVATE]))
    if (named := receipts.with_tests(settings, record)) is None:
        return
    st.markdown("\n".join(f"- {plain.text(line)}" for line in private_tests.lines(named)))
    st.download_button(**local.element("answer-tested"), data=lambda: model_bytes(named, split=split))


def _cost(settings: Settings, epsilon: float, has_coin: bool | str, *, is_drawn: bool) -> str:
    """What training, earlier tests and this one cost together."""
    spent = sum(test.epsilon for test in _tests(settings))
    start = f"Training and {f'ε = {spent + epsilon:.3g} of this test and earlier ones' if spent else 'this test'}"
    if has_coin and settings.relation == "add_or_remove_one":
        return f"{start}: ε = {max(settings.epsilon, spent + epsilon):.3g} together, {private_tests.larger(has_coin)}."
    drawn = " The app drew the test rows class by class: a switch for such a coin stands where you bring the rows." if is_drawn else ""
    return f"{start}: ε = {settings.epsilon + spent + epsilon:.3g} together, {private_tests.SUM}.{drawn}"


def _tests(settings: Settings) -> tuple[PrivateTest, ...]:
    return private_tests.of_rows(receipts.contents(settings)[1])
