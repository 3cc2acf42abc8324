"""Paid rankings: kept for good, and counted in every training that follows."""

import math

import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.errors import StoreError
from pillar_core.runs import rankings
from pillar_core.runs.rankings import Ranking
from pillar_core.store import Store

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_the_training_counts_every_ranking_before_it(relation: str) -> None:
    paid = [Ranking(("near", "far"), 10.0, False), Ranking(("near",), 20.0, True)]
    for one in paid:
        rankings.keep("mine", one)
    store.default().prune(max_bytes=0)
    assert rankings.of_rows("mine") == tuple(paid), "what was spent is never removed to make room"
    assert rankings.of_rows("others") == ()
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    record = pc.run("pillar", split, epsilon=1.0, seed=None, relation=relation)
    counted = rankings.count_rankings(record, rankings.of_rows("mine"))
    moved = 1 if relation == "add_or_remove_one" else 2
    mu = math.hypot(pc.accounting.mu_of(1.0, 1e-5), moved / 10, moved / 20)
    alone = rankings.epsilon_of(paid, delta=1e-5, relation=relation)
    assert alone == pytest.approx(pc.accounting.epsilon_of_mu(math.hypot(moved / 10, moved / 20), 1e-5))
    said = pc.statement(counted)
    assert said.fields["gaussian_mu"] == pytest.approx(mu, rel=1e-3)
    assert counted.guarantee.epsilon.upper == pytest.approx(pc.accounting.epsilon_of_mu(mu, 1e-5), rel=1e-3)
    assert "public sets (near, far) were ranked" in said.text
    assert "every tenth row" in said.text
    assert counted.guarantee.covers_choice
    assert rankings.count_rankings(record, ()) is record


def test_a_ranking_that_was_not_written_down_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "put_json", lambda *_: False)
    with pytest.raises(StoreError, match="nothing was shown"):
        rankings.keep("mine", Ranking(("near",), 10.0, False))
