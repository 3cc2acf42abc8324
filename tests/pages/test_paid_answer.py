"""Explore's paid answer to "what would it take?": a button, one release, what was spent and promised, and a way on without labels."""

import pytest

from page_reading import Start, metric, unexplained, words
from pillar_core import mode
from pillar_core.studies import paying


def opened(start: Start, **query: str):
    app = start("explore", view="solve", **query)
    app.session_state["paid-panel"] = True
    return app.run()


@pytest.mark.parametrize(("target", "epsilon"), [("70", "2"), ("8", "inf")])
def test_one_click_pays_for_the_first_epsilon_that_passes(start: Start, target: str, epsilon: str) -> None:
    app = opened(start, target=target, epsilon=epsilon)
    assert not app.exception
    assert "DP: spends ε" not in words(app).partition("Answers off curves")[2]
    app.button(key="pay").click().run()
    assert not app.exception
    cap = "8" if epsilon == "inf" else epsilon
    first, said = metric(app, "First ε that passes"), words(app)
    assert f"at ε = {first} from the start" in said
    assert f"ε ≤ {cap} but for a chance of δ" in said
    assert "experiment, not for release" in said
    tried = next(table.value for table in app.dataframe if "ε tried" in table.value)
    assert list(tried["ε tried"])[-1] == first
    *before, last = tried.iloc[:, 1].astype(float)
    assert last >= float(target) > max(before, default=0)
    assert not unexplained(app)


def test_none_may_pass(start: Start) -> None:
    app = opened(start, target="99", epsilon="0.5")
    app.button(key="pay").click().run()
    assert metric(app, "First ε that passes") == "none"
    assert "the whole cap" in words(app)


def test_without_public_labels_the_page_says_what_is_needed_and_offers_it(start: Start) -> None:
    app = opened(start, public="drawn_letters")
    assert not app.exception
    assert paying.NO_TEST in words(app)
    app.button(key="pay-part").click().run()
    assert not app.exception
    app.button(key="pay").click().run()
    assert not app.exception
    assert metric(app, "First ε that passes")


def test_visitors_have_experiments_too(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mode.DEMO, "1")
    app = opened(start, target="50", epsilon="1")
    app.button(key="pay").click().run()
    assert not app.exception
    assert "experiment, not for release" in words(app)
