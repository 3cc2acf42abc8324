"""The false alarms and misses of all tests together, and that fresh draws are found."""

import pytest

from pillar_core import rng
from statistical import errors


def test_fewer_than_one_run_in_a_thousand_is_wrong(request):
    assert sum(sum(errors.of(item.nodeid) or ()) for item in request.session.items) <= errors.MOST


@pytest.mark.parametrize(
    "draw", [lambda: rng.stream(None), lambda: rng.Streams(None).secret("noise").random(1)]
)
def test_a_test_that_draws_what_no_seed_repeats_is_told_to_state_its_errors(
    draw, request, monkeypatch
):
    monkeypatch.setattr(errors, "of", lambda test: None)
    call = next(
        one
        for one in request.config.hook.pytest_runtest_call.get_hookimpls()
        if one.plugin_name.endswith("tests/conftest.py")
    )
    checked = call.function(request.node)
    next(checked)
    draw()
    with pytest.raises(pytest.fail.Exception, match=r"errors\.csv"):
        checked.send(None)
    monkeypatch.undo()
    draw()
