"""Ways to choose a step size: each keeps the budget it names, and the unpaid one says that it does
not."""

import dataclasses

import pytest

import pillar_core as pc
from pillar_core.errors import UnsupportedError
from pillar_core.runs.models import model_bytes
from pillar_core.studies import tuning as tuned
from pillar_core.studies.tuning import Choosing
from pillar_core.types import RunSpec
from users import raises


@pytest.fixture(scope="module")
def split():
    return pc.split(pc.load_dataset("digits"), public_fraction=0.3)


@pytest.mark.parametrize("choosing", list(Choosing))
def test_every_way_stays_within_the_budget_and_names_its_price(split, choosing):
    found = tuned.tune_step_size(RunSpec.of("pillar", epsilon=1.0, k=10), split, choosing=choosing)
    assert found.guarantee.epsilon.upper <= 1.0
    assert found.record.guarantee.epsilon == found.guarantee.epsilon
    assert found.record.settings["k"] == 10
    assert set(tuned.SAID) == set(Choosing)
    assert {name for name, said in tuned.SAID.items() if "price" in said} == set(Choosing) - {
        Choosing.RULES
    }
    assert found.record.guarantee.covers_choice == (choosing is not Choosing.PAPERS)
    assert (tuned.UNPAID in found.record.guarantee.assumptions) == (choosing is Choosing.PAPERS)


def test_what_pays_leaves_less_and_the_unpaid_choice_is_the_best_on_test_rows(split):
    def record(choosing, epsilon):
        spec = RunSpec.of("pillar", epsilon=epsilon, k=10)
        return tuned.tune_step_size(spec, split, choosing=choosing).record

    relative = {
        choosing: one["noise_multiplier"] / one["steps"] ** 0.5
        for choosing in (Choosing.RULES, Choosing.PAPERS, Choosing.STOPPING)
        for one in [record(choosing, 1.0).settings]
    }
    assert relative[Choosing.PAPERS] == pytest.approx(relative[Choosing.RULES], rel=1e-6)
    assert relative[Choosing.STOPPING] > 1.3 * relative[Choosing.RULES]
    rules, papers = (record(choosing, 0.5) for choosing in (Choosing.RULES, Choosing.PAPERS))
    assert papers.accuracy >= rules.accuracy


def test_an_unpaid_choice_keeps_the_relation_and_is_no_model_to_hand_out(split):
    found = tuned.tune_step_size(
        RunSpec.of("pillar", epsilon=1.0, k=10, seed=None), split, choosing=Choosing.PAPERS
    )
    raises(UnsupportedError, "unpaid", model_bytes, found.record, classes=split.features.classes)
    asked = RunSpec.of("pillar", epsilon=1.0, relation="replace_one", accountant="rdp", k=10)
    found = tuned.tune_step_size(asked, split, choosing=Choosing.PAPERS)
    assert (found.guarantee.relation, found.guarantee.accountant) == ("replace_one", "rdp")


def test_ways_that_cannot_be_are_refused_with_the_reason(split):
    bare = dataclasses.replace(split, public_y=None)
    assert "public labels" in tuned.supports(RunSpec("pillar"), bare, choosing=Choosing.STOPPING)
    assert "removing" in tuned.supports(
        RunSpec.of("pillar", relation="replace_one"), split, choosing=Choosing.STOPPING
    )
    assert not tuned.supports(
        RunSpec.of("pillar", relation="replace_one"), bare, choosing=Choosing.RULES
    )
    with pytest.raises(UnsupportedError, match="descent"):
        tuned.tune_step_size(
            RunSpec.of("pillar_one_shot", epsilon=1.0), split, choosing=Choosing.STOPPING
        )
    with pytest.raises(UnsupportedError, match="public labels"):
        tuned.tune_step_size(RunSpec.of("pillar", epsilon=1.0), bare, choosing=Choosing.STOPPING)
