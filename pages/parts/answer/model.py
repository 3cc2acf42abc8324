"""The model to take away: trained with secret noise when somebody presses, by the free advice or by
a choice that ε pays for; one noisy figure of the test rows with its statement; and the threshold of
two classes."""

import dataclasses
import io
import json
import math
import shlex
import zipfile
from collections.abc import Sequence

import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, failures, local, navigation, plain, receipts
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import AUTO, PART, RULE, Settings
from pages.parts.answer import question
from pillar_core import mode, plots, texts
from pillar_core.backbones.cards import fit_of
from pillar_core.data import uploads
from pillar_core.errors import DataError
from pillar_core.metrics import FIGURES, threshold_at
from pillar_core.numerics import round_up
from pillar_core.plots.privacy import private_roc
from pillar_core.runs import private_tests, splitting
from pillar_core.runs.curves import FIRST, by_spread, table_of
from pillar_core.runs.loaded import Model
from pillar_core.runs.models import CURVES, CURVES_PAGE
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.runs.receipts import training_on
from pillar_core.runs.run import run_spec
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies.advice import Advice
from pillar_core.studies.advice.prediction import NONE
from pillar_core.studies.private_test import expected_ends, roc
from pillar_core.types import (
    Form,
    Provenance,
    PublicUse,
    SemiPrivateSplit,
)

LOOK = "answer-look"


def offer_free(settings: Settings, advice: Advice) -> None:
    """The advised learner, trained in one click."""
    learner = pc.METHODS[advice.method]
    epsilon = settings.epsilon if learner.is_private else 0.0
    spends = (
        f"the whole {plots.epsilon_label(epsilon)} goes into training"
        if epsilon
        else "and no private row is read by"
    )
    st.markdown(f"The advice cost nothing{':' * bool(epsilon)} {spends} {learner.title}.")
    spec = dataclasses.replace(core.spec(settings), seed=None)
    split = core.split(settings)

    def train() -> receipts.Trained:
        return advice.expected.state(run_spec(spec, split)), split, {}

    _offer(
        train, settings, split, learner.title, key="answer-train", label="Train", epsilon=epsilon
    )


def offer_paid(settings: Settings, names: list[str], metric: str | None) -> None:
    """The public set, or none, chosen on the private rows, within ε."""
    if math.isinf(settings.epsilon):
        st.caption("Without noise nothing is paid: lower ε.")
        return
    if not names:
        st.caption("There is no public set to choose: name those to weigh above.")
        return
    st.markdown(
        f"One noisy sum over the private rows chooses among {len(names)} public"
        f" set{'s' * (len(names) > 1)} and no public rows; choice and training cost ε ="
        f" {settings.epsilon:g} **together**. The learner then has a little less than in the free"
        " way."
    )
    if fit_of(settings.backbone) is not None:
        settings = dataclasses.replace(settings, backbone=AUTO)
        st.caption("Columns are taken as given here: a paid choice compares no maps of columns.")
    split = (
        core.split(dataclasses.replace(settings, public=PART))
        if PART in names
        else pc.split(core.features(settings))
    )
    named = {question.title(name): name for name in names if name != PART}
    candidates = {title: core.candidate(name, settings) for title, name in named.items()}
    request = {name: getattr(settings, name) for name in ("epsilon", "delta", "relation")}
    request |= {"backbones": question.backbones(settings, names), "metric": metric}

    def train() -> receipts.Trained:
        choice = pc.choose(split, candidates, **request, seed=None)
        changes = {
            "method": choice.method,
            "k": RULE,
            "backbone": choice.backbone or settings.backbone,
            "public": NONE if choice.public == NONE else named.get(choice.public, PART),
        }
        public = (
            "no public rows"
            if choice.public == NONE
            else f"*{plain.text(question.title(choice.public))}* as public data"
        )
        backbone = choice.backbone or choice.split.features.backbone
        through = (
            f", {plain.text(pc.BACKBONES[backbone].title)}"
            if pc.BACKBONES[backbone or "identity"].takes != "numbers"
            else ""
        )
        spent = (
            f"ε ≤ {round_up(choice.guarantee.epsilon.upper)} was spent on choice and training"
            " together"
        )
        words = (
            f"Your rows chose {public}{through} and {pc.METHODS[choice.method].title}:"
            f" {choice.expected.words}; {spent}."
        )
        said = {"words": words, "settings": changes, "reasons": list(choice.reasons)}
        return choice.record, choice.split, said

    _offer(
        train,
        settings,
        split,
        "A choice and a training",
        key="answer-paid",
        label="Choose within ε and train",
        epsilon=settings.epsilon,
    )


def _offer(
    train: receipts.Train,
    settings: Settings,
    split: SemiPrivateSplit,
    learner: str,
    *,
    key: str,
    label: str,
    epsilon: float,
) -> None:
    """The button of a training that spends ε, what is to be known before it, and its receipt."""
    if mode.binds():
        st.caption(f"Models cannot be taken away from a public server. {mode.ADVICE}")
        return
    account = receipts.account(settings)
    sight = IN_SIGHT if local.value(LOOK, False) else account.sight
    if sight == IN_SIGHT:
        st.markdown(
            "You have **already looked** at test results for these rows, or at the rows without"
            " noise: the file records that."
        )
    elif sight:
        st.markdown(
            "You have already looked at a ranking of public sets with a **known seed**: the file"
            " records that."
        )
    if account.rankings:
        epsilon_paid = account.epsilon_of_rankings(delta=settings.delta, relation=settings.relation)
        upper = round_up(epsilon_paid, 3)
        st.markdown(
            f"You paid **ε ≤ {upper}** on Public data for these rows: the file adds it to the"
            " model's."
        )

    def train_and_say() -> receipts.Trained:
        latest_sight = sight if sight == IN_SIGHT else account.sight or sight
        record, trained_on, choice = train()
        return account.count(record, sight=latest_sight), trained_on, choice

    hint = (
        "Noise from the operating system, recorded nowhere. One zip: weights, how raw rows become"
        " numbers, a statement to sign, a model card, and code that uses it with numpy alone."
    )
    training = training_on(
        split,
        learner,
        (epsilon, settings.delta, settings.relation),
        data=uploads.title_of(settings.data),
    )
    receipts.offer(settings, training, train_and_say, key=key, label=label, hint=hint)


def test_panel(settings: Settings, advice: Advice) -> None:
    """The switch; then ε, figure and what they cost, the button, and what the tests of the model
    said."""
    data = core.features(settings)
    if mode.binds() or data.y_test is None:
        return
    with st.container(border=True, key="private-test"):
        if not local.toggle(
            receipts.TEST,
            of=settings.data,
            label="Test it privately",
            help="Spends an ε on the test rows for a figure that may be shown and signed. Until"
            " then no exact figure of these rows is shown here.",
            unlinked="A link spends no ε of whoever opens it.",
        ):
            st.caption("Test rows are people, too: a noisy figure of them may be shown and signed.")
            return
        epsilon, metric = controls(data.n_classes, default=advice.metric)
        most = None if data.persons is None else data.persons.most
        if not data.test_drawn:
            local.toggle(
                "answer-test-coin",
                label="A secret coin decided for each row or person alone",
                help=(
                    "Whether it is a training or a test row. Then ε of training and tests is the"
                    " larger of the two; otherwise they add up."
                ),
                unlinked="Only whoever drew the rows can state it.",
            )
        has_coin = receipts.has_coin(data)
        persons = f" No person may have more than {most} of the test rows." if most else ""
        unit = settings.relation, bool(most)
        cost = _cost(settings, epsilon, unit, has_coin, is_drawn=bool(data.test_drawn))
        st.caption(f"{cost}{persons}")
        request: Form = {
            "epsilon": epsilon,
            "metric": metric,
            "rows_per_person": most,
            "relation": settings.relation,
        }
        low, high = expected_ends(advice.predicted, len(data.y_test), data.n_classes, **request)
        st.caption(
            f"Of a model that reaches {100 * advice.predicted:.0f} %, expect an interval from"
            f" {100 * low:.0f} to {100 * high:.0f} %, wider where classes are unequal."
        )
        model = receipts.last_model(settings)
        st.button(
            label="Spend it and test",
            key="answer-test-run",
            help="It tests the model that you trained above.",
            icon=":material/lock:",
            type="primary",
            disabled=model is None,
            on_click=_spend,
            args=(settings, request),
        )
        if model is None:
            if receipts.account(settings).spent:
                st.caption("A model whose file is not in this cache is tested by its file.")
                navigation.link("check", f"Test its zip on {navigation.title('check')}")
            else:
                st.caption("First train a model above; then press.")
            _list_earlier(_tests(settings))
            return
        _results(settings, *model)


def controls(n_classes: int, *, of: str = "", default: str = "accuracy") -> tuple[float, str]:
    """(ε, figure) of a private test, as their controls say. of: what further ones are for. default:
    the figure at first."""
    left, right = st.columns(2)
    titles = {
        name: private_tests.title_of(name) for name in FIGURES if name != "auc" or n_classes == 2
    }
    epsilon = float(
        local.slider(
            "answer-test-epsilon",
            of=of,
            place=left,
            label="ε of the test rows",
            help="2 points of noise need about 1,400 test rows at ε = 0.1 and 140 at 1.",
            default=1.0,
            options=[0.1, 0.3, 1.0, 3.0],
            form="{:g}",
        )
    )
    return epsilon, local.choice(
        "answer-test-metric",
        titles,
        of=of,
        place=right,
        label="Figure",
        help=(
            "Accuracy has the narrowest interval. In the balanced one each class counts alike. AUC"
            " is for two classes."
        ),
        default=default if default in titles else "accuracy",
        unlinked="AUC is there for two classes alone.",
    )


def threshold_panel(settings: Settings) -> None:
    """What the model that was just trained reaches on public rows with labels, or on test rows once
    you look at them."""
    if (last := receipts.last_model(settings)) is None or len(last[1].classes) != 2:
        return
    model = last[1]
    is_seen = bool(local.value(LOOK, False)) and not receipts.is_locked(settings)
    with (
        st.expander("Choose a threshold", icon=":material/rule:", key="answer-threshold"),
        failures.show_refusal("No threshold can be chosen."),
    ):
        split = splitting.unmapped(core.split(_as_trained(settings, model)))
        x, y = split.features.x_test, split.features.y_test
        is_seen = is_seen and y is not None
        x, y = (x, y) if is_seen else (split.public_x, split.public_y)
        if x is None or y is None or len(set(y.tolist())) < 2:
            st.caption(
                "It takes labels of both classes on the public rows, or a look at the test rows."
            )
            return
        names = dict(enumerate(model.classes))
        place = int(
            local.choice(
                "answer-positive",
                names,
                int(2 * y.sum() <= len(y)),  # the rarer
                label="Class to find",
                help="The threshold is on its probability.",
                unlinked="It belongs to a model that is here for this visit alone.",
            )
        )
        wanted = float(
            local.slider(
                "answer-sensitivity",
                label="Share of them to find, at least",
                help=(
                    "The sensitivity. The more of them are found, the more of the other class are"
                    " taken for them."
                ),
                default=0.9,
                options=[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99],
                form="percent",
                unlinked="It belongs to a model that is here for this visit alone.",
            )
        )
        p = model.predict_proba(x)[:, place]
        threshold, *shares = threshold_at(p, y == place, wanted)
        found, right = (
            f"{100 * share:.1f} % ({100 * low:.0f} to {100 * high:.0f})"
            for share, low, high in shares
        )
        badges.show(Provenance.NON_PRIVATE if is_seen else Provenance.PUBLIC)
        st.markdown(
            plain.text(
                f"From a probability of {threshold:.4f} on, it finds {found} of {names[place]} and"
                f" is right on {right} of {names[1 - place]}."
            )
        )
        count = int((y == place).sum())
        kind = "test" if is_seen else "public"
        learner = pc.METHODS[model.card["method"]]
        trained = learner.public_use is PublicUse.LABELLED and not is_seen
        told = " Their labels trained the model, so that private rows may do worse." * trained
        st.caption(
            plain.text(
                f"It rests on {count:,} {kind} rows of {names[place]} and {len(y) - count:,} of"
                f" {names[1 - place]}. In brackets: 95 % intervals of other rows drawn alike.{told}"
            )
        )
        command = (
            f"python -m pillar_core predict model.zip ROWS --threshold {threshold:.4f} --positive"
            f" {shlex.quote(names[place])}"
        )
        st.code(command, language="bash", wrap_lines=True)


def curves_panel(settings: Settings) -> None:
    """What the model that was just trained does with a column, where its columns went through
    ramps or bins."""
    if (model := receipts.last_model(settings)) is None or "map" not in model[1].card["input"]:
        return
    with zipfile.ZipFile(io.BytesIO(receipts.content(model[0]))) as archive:
        if CURVES not in archive.namelist():
            return
        curves, page = json.loads(archive.read(CURVES)), archive.read(CURVES_PAGE)
    title = "What the model does with a column"
    with st.expander(title, icon=":material/show_chart:", key="answer-curve"):
        columns = by_spread(curves)
        place = local.choice(
            "answer-column",
            {str(place): column["name"] for place, column in enumerate(columns)},
            "0",
            label="Column",
            help=f"Each column of a model of ramps or bins has a curve. {FIRST}",
            unlinked="It belongs to a model that others do not have.",
        )
        draw_figure(
            plots.column_curves,
            table_of([columns[int(place)]], curves["classes"]),
            FigureInfo("answer_column", settings, [badges.PRIVATE]),
            caption=curves["noise"],
        )
        st.caption(f"{curves['meaning']} They cost no ε.")
        st.download_button(
            label="All curves as a page",
            key="answer-curves",
            help="The zip of the model holds it, too, with the numbers as `curves.json`.",
            icon=":material/download:",
            file_name="curves.html",
            mime="text/html",
            on_click="ignore",
            data=page,
        )


def _spend(settings: Settings, request: Form) -> None:
    """A test of the model that was taken away last, or is being trained; its release is in the
    cache before Streamlit is asked again."""
    with failures.note_refusal("Nothing was spent"), receipts.at_work(settings):
        if (last := receipts.last_model(settings)) is not None:
            rows = core.features(_as_trained(settings, last[1]))
            pc.private_test(last[1], rows, seed=None, **request)


def _as_trained(settings: Settings, model: Model) -> Settings:
    """The settings with the backbone that this model was trained through, whatever the sidebar says
    since.

    Raises DataError: its backbone has other weights here.
    """
    form = model.card["input"]
    made_by = form.get("backbone", {})
    name = (made_by or texts.encoder_of(form.get("recipe")) or {}).get("name", AUTO)
    name = "raw_pixels" if form["kind"] == "pixels" else name
    if core.features(settings).made_by == made_by:
        return settings
    through = dataclasses.replace(settings, backbone=name)
    if made_by and core.features(through).made_by != made_by:
        raise DataError(
            f"the backbone {name} has other weights here than the model was trained with."
        )
    return through


def _results(settings: Settings, name: str, model: Model) -> None:
    """What tests of this model said, whether it is what was expected, and its file with them in the
    statement."""
    expected = model.card["deployment"].get("expected_accuracy")
    tests, tested = _tests(settings), private_tests.model_of(model.classifier)
    own = [test for test in tests if test.model == tested]
    for place, test in enumerate(reversed(own)):
        value = (
            f"{100 * test.value:.1f} % ({100 * test.low:.1f}–{100 * test.high:.1f})"
            if test.low > 0 or test.high < 1
            else "cannot tell"
        )
        st.metric(
            f"{private_tests.title_of(test.metric)}, ε = {test.epsilon:.3g}",
            value,
            help=plain.text(test.words),
        )
        badges.show(Provenance.PRIVATE)
        if doubt := private_tests.doubt(test, expected, n_classes=len(model.classes)):
            st.warning(doubt, icon=":material/warning:")
        if test.unclear:
            st.caption(plain.text(test.rare))
        if test.metric == "auc":
            table = roc(test)
            draw_figure(
                private_roc, table, FigureInfo(f"private_roc_{place}", settings, [badges.PRIVATE])
            )
    _list_earlier([test for test in tests if test.model != tested])
    if not own:
        return
    promise, of_tests = model.card["guarantee"], receipts.of_tests(settings)
    lines, _ = private_tests.stated(tests, tested, promise, **of_tests)
    st.markdown("\n".join(f"- {plain.text(line)}" for line in lines))
    st.download_button(
        label="Download the model again, with its tests in the statement",
        key="answer-tested",
        help="The same weights as before: no further training, no further ε.",
        icon=":material/download:",
        file_name="model-tested.zip",
        mime="application/zip",
        on_click="ignore",
        data=receipts.tested_file(settings, name),
    )


def _list_earlier(tests: Sequence[PrivateTest]) -> None:
    for test in tests:
        said = f"A test of an earlier model, ε = {test.epsilon:.3g}: {test.words}"
        st.markdown(plain.text(said))


def _cost(
    settings: Settings,
    epsilon: float,
    unit: tuple[str, bool],
    has_coin: bool | str,
    *,
    is_drawn: bool,
) -> str:
    """What training, earlier tests and this one cost together, of what protects this unit."""
    account = receipts.account(settings)
    if account.spent and unit not in map(private_tests.unit_of, account.spent):
        return private_tests.UNITS_APART
    trained, tested = (
        sum(item.epsilon for item in items if private_tests.unit_of(item) == unit)
        for items in (account.spent, account.tests)
    )
    trained = trained or settings.epsilon
    if account.rankings:
        trained += account.epsilon_of_rankings(delta=settings.delta, relation=unit[0])
    total, why = private_tests.epsilon_together(
        trained, tested + epsilon, unit[0], has_coin=has_coin
    )
    this = f"ε = {tested + epsilon:.3g} of this test and earlier ones" if tested else "this test"
    drawn = (
        " The app drew the test rows class by class: a switch for such a coin stands where you"
        " bring the rows."
        if is_drawn and why == private_tests.SUM
        else ""
    )
    return f"If you spend it, training and {this}: ε = {round_up(total, 3)} together, {why}.{drawn}"


def _tests(settings: Settings) -> tuple[PrivateTest, ...]:
    return receipts.account(settings).tests
