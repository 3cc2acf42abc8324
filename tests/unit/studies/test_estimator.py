"""The estimator of scikit-learn: their checks, the same road as `run`, and what all fits spend."""

import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import pillar_core as pc
from pillar_core import rng
from pillar_core.errors import SettingError
from pillar_core.runs import receipts
from pillar_core.studies import estimator
from pillar_core.types import PrivacyBudget
from users import raises, refuses


@pytest.fixture(autouse=True)
def nothing_said_before():
    estimator.warn_once.cache_clear()


def table(n, seed=0):
    """Patients with a column of words, and who of them is sick."""
    draw = rng.stream(seed, "estimator")
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 90, n),
            "ward": draw.choice(["a", "b", "c"], n),
            "dose": draw.random(n),
        }
    )
    sick = frame["age"] / 90 + frame["dose"] + (frame["ward"] == "a") > 1.2
    return frame, pd.Series(np.where(sick, "sick", "well"), name="outcome")


@pytest.mark.filterwarnings("ignore::pillar_core.studies.estimator.ExactScore")
def test_the_checks_of_scikit_learn_pass():
    """Privacy forbids one of them alone, of releases: that a second fit gives the same model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, of sparse formats
        results = check_estimator(pc.PrivateClassifier(random_state=0), on_fail=None, on_skip=None)
    assert len(results) > 40
    assert {each["check_name"] for each in results if each["status"] != "passed"} <= {
        "check_array_api_input"  # skipped: scikit-learn asks for a variable of the environment
    }
    tags = get_tags(pc.PrivateClassifier()), get_tags(pc.PrivateClassifier(random_state=0))
    assert [each.non_deterministic for each in tags] == [True, False]


def test_it_is_the_road_of_run(split):
    x, y = (rows[split.private] for rows in (split.features.x_train, split.features.y_train))
    public = split.public_x, split.public_y
    model = pc.PrivateClassifier(
        "pillar", epsilon=2.0, public=public, settings={"k": 20}, random_state=3
    ).fit(x, y)
    same = pc.split(pc.features(x, y), public=public)
    record = pc.run("pillar", same, epsilon=2.0, k=20, seed=3)
    assert np.array_equal(model.record_.classifier.weights, record.classifier.weights)
    assert model.guarantee_ == record.guarantee
    assert np.array_equal(
        model.predict(split.features.x_test), record.classifier.predict(split.features.x_test)
    )
    assert np.array_equal(model.classes_, np.arange(10))
    copy = pickle.loads(pickle.dumps(model))  # which holds no row
    assert not hasattr(copy, "_split")
    assert np.array_equal(copy.predict_proba(x[:5]), model.predict_proba(x[:5]))


def test_auto_takes_what_advice_says_of_frames_with_words(tmp_path):
    x, y = table(400)
    public = table(150, seed=1)
    model = pc.PrivateClassifier(public=public, alike=True, metric="auc").fit(x, y)
    rows = x.assign(outcome=y, split="train")
    apart = public[0].assign(outcome=public[1])
    features = pc.load_features(rows, label="outcome", public=apart)
    advice = pc.advise(pc.split(features, public=apart), alike=("own",), metric="auc")
    assert model.advice_.sentence == advice.sentence
    assert "% AUC (guessing: 50 %) at" in advice.sentence
    assert model.record_.method == advice.method
    assert list(model.classes_) == ["sick", "well"]
    path = pc.save_model(model.record_, tmp_path / "model.zip")
    exported = pc.load_model(path)
    assert np.array_equal(exported.predict_proba(x), model.predict_proba(x))
    with pytest.warns(estimator.PublicRowsUnused, match="alike=True"):
        unknown = pc.PrivateClassifier(public=apart, random_state=0).fit(x, y)
    assert unknown.advice_.public is None
    assert unknown.record_.facts.n_public == 0
    refuses("categories", pc.PrivateClassifier("dp_raft").fit, x, y)
    raises(
        ValueError,
        "yet now missing:\n- dose",
        model.predict_proba,
        x.drop(columns="dose").assign(other=1)[["age", "ward", "other"]],
    )


@pytest.mark.usefixtures("own_cache")
def test_folds_add_up_on_the_ledger_of_their_rows_and_scores_say_that_they_are_exact(tmp_path):
    x = rng.stream(0, "folds").standard_normal((240, 5))
    y = (x[:, 0] > 0).astype(int)
    model = pc.PrivateClassifier("dp_raft", epsilon=1.0)
    pipeline = make_pipeline(FunctionTransformer(), model)
    with pytest.warns(estimator.ExactScore, match="no ε covers") as said:
        assert len(cross_val_score(pipeline, x[:120], y[:120], cv=4)) == 4
    assert len(said) == 1
    model.fit(x[:120], y[:120])
    spent = sum(training.epsilon for training in model.account_.trainings)
    assert len(model.account_.trainings) == 5
    assert 4.9 < spent <= 5
    assert model.guarantee_.epsilon.upper <= 1
    assert "ε = 5, δ = 5 × 10⁻⁵ in 5 trainings" in model.guarantee_.assumptions[-1]
    others = pc.PrivateClassifier("dp_raft").fit(x[120:], y[120:])
    assert len(others.account_.trainings) == 1
    assert others.guarantee_.covers_choice
    both = pc.PrivateClassifier("dp_raft").fit(x, y)  # counts for either half
    assert len(both.account_.trainings) == 7
    assert len(others.account_.trainings) == 2
    pc.save_model(both.record_, tmp_path / "both.zip", split=both._split)
    assert len(both.account_.trainings) == 7
    experiment = pc.PrivateClassifier("dp_raft", random_state=0).fit(x, y)
    assert not any("trained on before" in line for line in experiment.guarantee_.assumptions)
    assert len(both.account_.trainings) == 7


@pytest.mark.usefixtures("own_cache")
def test_an_account_holds_the_most_that_any_of_its_rows_spent_and_the_next_process_knows_it(
    monkeypatch, tmp_path
):
    x, y = rng.stream(3, "accounts").standard_normal((160, 4)), np.arange(160) % 2
    spent = lambda model: sum(training.epsilon for training in model.account_.trainings)  # noqa: E731

    def fit(epsilon, rows):
        return pc.PrivateClassifier("dp_raft", epsilon=epsilon).fit(x[rows], y[rows])

    for _ in range(2):
        fit(0.1, slice(0, 80))
    fit(10.0, slice(80, 160))
    whole = fit(1.0, slice(0, 160))
    assert 11 < spent(whole) <= 11.2
    assert "ε = 11.2" in whole.guarantee_.assumptions[-1]
    whole.predict(x[:1])
    monkeypatch.setattr(receipts, "_SHARED", {})  # as another process finds it
    monkeypatch.setattr(receipts, "_ANSWERS", set())
    again = fit(1.0, slice(0, 160))
    assert 12 < spent(again) <= 12.2
    assert again.guarantee_.chosen_in_sight
    assert 12.9 < spent(pickle.loads(pickle.dumps(fit(1.0, slice(80, 160))))) <= 13
    assert not fit(1.0, slice(80, 160)).guarantee_.chosen_in_sight
    split = pc.split(pc.features(x[:40], y[:40]))  # the road of `run` shares the sum
    pc.save_model(pc.run("dp_raft", split, epsilon=1.0, seed=None), tmp_path / "model.zip")
    assert "in 8 trainings" in again.account_.total(1e-5)
    assert "in 5 trainings" in receipts.account_of(split.features).total(1e-5)


@pytest.mark.usefixtures("own_cache")
@pytest.mark.filterwarnings("ignore::pillar_core.studies.estimator.ExactScore")
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_search_by_scores_of_these_rows_is_declared(scoring):
    x, y = table(200)
    grid = {"method": ["dp_raft", "dp_sgd"], "epsilon": [0.5, 2.0]}
    search = GridSearchCV(pc.PrivateClassifier("dp_raft", epsilon=1.0), grid, cv=2, scoring=scoring)
    best = search.fit(x[["age", "dose"]], y == y.unique()[0]).best_estimator_
    assert best.classes_.dtype == bool
    assert best.guarantee_.chosen_in_sight
    assert "in sight and not paid for" in pc.statement(best.record_).text


@pytest.mark.usefixtures("own_cache")
@pytest.mark.filterwarnings("ignore::pillar_core.studies.estimator.ExactScore")
def test_groups_are_persons_whom_one_model_protects(tmp_path):
    x, y = table(300)
    numbers, persons = x[["age", "dose"]], [f"patient {row // 3}" for row in range(300)]
    model = pc.PrivateClassifier("dp_raft", rows_per_person=2).fit(numbers, y, groups=persons)
    assert model.record_.facts.n_private == 200
    assert str(model.guarantee_.unit) == "person with up to 2 rows"
    same = pc.split(pc.features(numbers.to_numpy(), y), persons=persons, rows_per_person=2)
    record = pc.run("dp_raft", same, epsilon=1.0, seed=0)
    experiment = pc.PrivateClassifier("dp_raft", rows_per_person=2, random_state=0)
    experiment.fit(numbers.to_numpy(dtype=np.float32), y, groups=persons)
    assert experiment.guarantee_.events == record.guarantee.events
    assert np.array_equal(experiment.record_.classifier.weights, record.classifier.weights)
    pipeline = make_pipeline(FunctionTransformer(), pc.PrivateClassifier("dp_raft"))
    pipeline.fit(numbers, y, privateclassifier__groups=persons)
    assert pipeline[-1].record_.facts.n_private == 100
    request = {"groups": np.array(persons), "cv": GroupKFold(2)}
    cross_val_score(model, numbers, y, params={"groups": request["groups"]}, **request)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = pc.PrivateClassifier("dp_raft").set_fit_request(groups=True)
        cross_val_score(routed, numbers, y, params={"groups": persons}, cv=request["cv"])
    units = [training.rows_per_person for training in model.account_.trainings]
    assert sorted(units) == [1, 1, 1, 2, 2, 2]
    refuses("each of the 300 train rows", model.fit, numbers, y, groups=persons[:5])


def test_classes_are_declared_or_public_or_said_to_be_read():
    x = rng.stream(1, "classes").standard_normal((60, 3))
    y = np.arange(60) % 2 + 1
    seeded = pc.PrivateClassifier("dp_raft", random_state=0)
    assert any("read off the labels" in line for line in seeded.fit(x, y).guarantee_.assumptions)
    declared = seeded.set_params(classes=[3, 1, 2]).fit(x, y)
    assert declared.classes_.tolist() == [1, 2, 3]
    assert declared.predict_proba(x).shape == (60, 3)
    public = (x[:9] + 1, [1, 2, 4] * 3)
    of_public = pc.PrivateClassifier("adamix", public=public, random_state=0).fit(x, y)
    assert of_public.classes_.tolist() == [1, 2, 4]
    features = dataclasses.replace(pc.features(x + 1, y), name="clinic")
    assert seeded.set_params(classes=None, public=features).fit(x, y).classes_.tolist() == [1, 2]
    refuses(
        "y holds 2, and the declared classes are 1, 3", seeded.set_params(classes=[1, 3]).fit, x, y
    )


def test_what_fit_cannot_tell_apart_is_refused():
    x, y = table(60)
    refuses("column 'outcome'", pc.PrivateClassifier("dp_raft").fit, x.assign(outcome=y), y)
    numbers = x[["age", "dose"]]
    refuses(
        "persons or test rows",
        pc.PrivateClassifier("dp_raft").fit,
        numbers.assign(split=["train", "train", "test"] * 20),
        y,
    )
    raises(
        SettingError,
        "DataFrame",
        pc.PrivateClassifier("dp_raft", ranges={"age": (0, 100)}).fit,
        numbers.to_numpy(),
        y,
    )
    raises(
        SettingError,
        "random_state must be a whole number or none",
        pc.PrivateClassifier("dp_raft", random_state="a").fit,
        numbers,
        y,
    )


def test_reasons_name_the_table_and_what_can_be_done_with_an_array():
    generator = np.random.default_rng(0)
    x = pd.DataFrame(generator.normal(size=(60, 3)), columns=list("abc"))
    y = pd.Series(np.where(x["a"] > 0, "no", "yes"), name="target")
    public = x.assign(a=x["a"] + 1, label=y)
    one = public[public["label"] == "no"]
    private = pc.load_features(x.assign(label=y))
    refuses("public rows: labels must show at least two", pc.split, private, public=one)
    only = pc.PrivateClassifier("pillar", public=one)
    refuses("y holds yes, and the public rows show no", only.fit, x, y)
    model = pc.PrivateClassifier("adamix", public=public, random_state=0).fit(x, y)
    assert list(model.classes_) == ["no", "yes"], "y is called target, the public column label"
    times = np.c_[x, 1.7e9 + np.arange(60)]
    refuses("give a DataFrame", pc.PrivateClassifier("pillar", public=times).fit, times, y)
    for flags in (pd.Series(y == "no").astype("boolean"), (y == "no").tolist()):
        named = pc.PrivateClassifier("dp_raft", random_state=0).fit(x, flags)
        assert named.classes_.tolist() == [False, True]
    for epsilon in (np.float32(1), np.int64(1), np.array(1.0)):
        assert type(PrivacyBudget(epsilon).epsilon) in (int, float)
        assert pc.run("pillar", pc.split(private, public=public), epsilon=epsilon).accuracy > 0
