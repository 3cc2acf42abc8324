"""The statement to sign says what the guarantee says: its numbers, what is not protected, and that
an experiment is none."""

import dataclasses
import json
import math

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.runs import assumptions
from pillar_core.runs.statement import in_sight
from users import texts_in

FIELDS = {
    "flavor",
    "epsilon",
    "delta",
    "privacy_unit",
    "neighboring_relation",
    "deployment_model",
    "accounting",
    "unprotected_quantities",
}


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_every_number_is_the_guarantees(split, relation):
    record = pc.run("pillar", split, epsilon=2.0, relation=relation, seed=None)
    found = pc.statement(record)
    own = record.guarantee
    assert f"ε ≤ {own.epsilon.upper:.4g} at δ = 10⁻⁵" in found.text
    assert ("replaced by any other" in found.text) == (relation == "replace_one")
    assert own.accountant in found.text
    held = found.text.partition(
        "It holds if all of this is true (in brackets, who answers for it):\n"
    )[2].splitlines()
    assert held[: len(own.assumptions)] == [
        f"- {line} ({assumptions.owner_of(line)})" for line in own.assumptions
    ]
    assert all(event in found.text for event in own.events)
    assert "Not protected: public, validation and test rows" in found.text
    assert "the time and memory that training took" in found.text
    assert f"{record.facts.n_public:,} examples, used as: unlabelled" in found.text
    assert "NOT FOR RELEASE" not in found.text
    assert set(found.fields) >= FIELDS
    assert found.fields["epsilon"] == own.epsilon.upper
    json.dumps(found.fields)


def test_the_mu_and_sampling_are_those_of_the_run(split):
    record = pc.run("noisy_gd", split, epsilon=2.0, seed=None)
    exact = pc.accounting.mu_of(record.guarantee.epsilon.upper, record.guarantee.delta)
    assert pc.statement(record).fields["gaussian_mu"] == pytest.approx(exact, rel=1e-6)
    record = pc.run("dp_sgd", split, epsilon=2.0, seed=None, batch_size=64, steps=20)
    found = pc.statement(record)
    assert "own secret coin" in found.text
    assert found.fields["gaussian_mu"] > 0


def test_runs_with_random_allocation_say_so(split):
    record = pc.run(
        "pillar",
        split,
        epsilon=2.0,
        seed=None,
        batch_size=128,
        steps=20,
        sampling="random_allocation",
    )
    found = pc.statement(record)
    assert record.guarantee.events == (
        "2 × a pass of 10 steps, each row in one at random, noise multiplier "
        + f"{noise(record):.6g}",
    )
    assert "one step of every pass" in found.text
    assert 0 < found.fields["gaussian_mu"] < 2
    data = pc.load_dataset("digits")
    persons = pc.split(
        data, public_fraction=0.1, persons=np.arange(len(data.x_train)) // 3, rows_per_person=2
    )
    of_persons = pc.run(
        "pillar", persons, epsilon=2.0, batch_size=128, steps=20, sampling="random_allocation"
    )
    assert "one step of every pass" in pc.statement(of_persons).text
    passes = math.ceil(20 / round(of_persons.facts.n_private / 128))
    # no amplification is claimed for persons: as many full releases as passes, at half the noise
    assert of_persons.guarantee.events == (
        f"{passes} × Gaussian, noise multiplier {noise(of_persons) / 2:.6g}",
    )


def noise(record):
    return record.settings["noise_multiplier"]


def test_choices_and_large_deltas_are_told_and_no_release_called_so(split):
    record = pc.run("pillar", split, epsilon=2.0, seed=None)
    assert "by rules" in pc.statement(record).text
    signed = [
        line for line in pc.statement(record).text.splitlines() if line.startswith("To confirm")
    ]
    assert "after a look at the private rows, such as test accuracy" in signed[0]
    assert "Name and date: ____" in signed[0]
    assert "in sight and not paid for" in pc.statement(in_sight(record)).text
    assert "To confirm" not in pc.statement(in_sight(record)).text
    unpaid = dataclasses.replace(
        record, guarantee=dataclasses.replace(record.guarantee, covers_choice=False)
    )
    assert "not differentially private" in pc.statement(unpaid).text
    loose = pc.run("pillar", split, epsilon=2.0, delta=0.01, seed=None)
    assert "random row outright" in pc.statement(loose).text
    assert pc.statement(pc.run("pillar", split, epsilon=2.0)).text.startswith("NOT FOR RELEASE")
    assert "ε is infinite" in pc.statement(pc.run("non_private", split)).text
    public = pc.statement(pc.run("only_public", split)).text
    assert "no private row was read" in public
    assert "NOT FOR RELEASE" not in public


def test_downloaded_models_carry_it_and_no_amplification_that_is_not_computed(split, tmp_path):
    record = pc.run("pillar", split, epsilon=2.0, seed=None)
    path = pc.save_model(record, tmp_path / "model.zip", classes=split.features.classes)
    texts = texts_in(path)
    assert texts["statement.txt"] == pc.statement(record).text
    assert json.loads(texts["model.json"])["deployment"] == json.loads(
        json.dumps(pc.statement(record).fields)
    )
    record = pc.run(
        "dp_sgd",
        split,
        noise_multiplier=0.02,
        batch_size=64,
        steps=40,
        sampling="random_allocation",
        seed=None,
    )
    exact = pc.accounting.mu_of(record.guarantee.epsilon.upper, record.guarantee.delta)
    mu = pc.statement(record).fields["gaussian_mu"]
    assert mu is None or mu >= exact * (1 - 1e-6)
