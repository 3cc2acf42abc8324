"""Every registered learner keeps the contract."""

import contextlib
import dataclasses
from unittest.mock import patch

import pytest
import torch

import pillar_core as pc
from contract import checks
from contract.cases import (
    BOOLEAN,
    IMAGES,
    can_sample,
    case_for,
    settings_for,
    small_split,
    split_for,
    variants,
)
from pillar_core import params
from pillar_core.errors import PillarError, SettingError
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.methods.parts.deep import train
from pillar_core.runs import run as runs
from pillar_core.runs.run import solve
from pillar_core.types import NeighboringRelation

PRIVATE = [name for name, method in METHODS.items() if method.is_private]
SAMPLED = [name for name in PRIVATE if can_sample(METHODS[name])]
ALLOCATED = [name for name in SAMPLED if "sampling" in params.params_of(METHODS[name].settings)]
MODES = [(name, False) for name in PRIVATE] + [(name, True) for name in SAMPLED]
WITHOUT_GRADIENTS = patch.object(
    train.MicroBatches,
    "gradients",
    lambda self, x, y, moves, n: (
        [torch.zeros(n, part.numel()) for part in self.parameters],
        torch.zeros(n).double(),
    ),
)
"""Of networks, on which no sample hangs, and which take most of the time."""


@pytest.mark.parametrize(("name", "sampled"), MODES)
def test_privacy_contract(name, sampled):
    checks.keeps_the_contract(case_for(METHODS[name], sampled=sampled))


@pytest.mark.parametrize(
    "name", [name for name in ALLOCATED if name not in IMAGES or name == "from_scratch"]
)
def test_privacy_contract_with_random_allocation(name):
    """Four steps: a pass of three and the first of the next. Networks share one loop; what each
    declares is asked below."""
    checks.keeps_the_contract(
        case_for(METHODS[name], sampled=True, sampling="random_allocation", steps=4)
    )


@WITHOUT_GRADIENTS
@pytest.mark.parametrize("name", ALLOCATED)
def test_each_row_enters_one_step_of_each_pass(name):
    """In 60 passes: sizes that do not spread are seen from 51 on."""
    case = case_for(METHODS[name], sampled=True, sampling="random_allocation", steps=180, copies=0)
    for check in (checks.samples_as_charged, checks.declared_is_spent, checks.charged_as_called):
        check(case)


@WITHOUT_GRADIENTS
@pytest.mark.parametrize("name", SAMPLED)
def test_samples_as_charged(name):
    """Networks, which share one loop, take the 60 steps in which tests/contract/faults.py sees its
    faults."""
    checks.samples_as_charged(
        case_for(METHODS[name], sampled=True, steps=60 if name in IMAGES else 200, copies=0)
    )


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("name", [one for one in PRIVATE if one not in (*IMAGES, *BOOLEAN)])
def test_a_budget_is_kept_under_both_relations_and_teaches(name, relation):
    record = pc.run(name, small_split(n=900, d=6), epsilon=20.0, relation=relation)
    assert record.guarantee.relation is relation
    assert 0.95 * 20 <= record.guarantee.epsilon.upper <= 20
    assert record.accuracy > 0.6, "three classes that lie apart"


@pytest.mark.parametrize("name", list(METHODS))
def test_repeats_and_leaves_inputs(name):
    checks.repeats_and_leaves_inputs(case_for(METHODS[name]))


@pytest.mark.parametrize("name", list(METHODS))
def test_bad_settings_are_refused_by_name(name):
    method = METHODS[name]
    for setting, value in checks.bad_settings(method):
        with pytest.raises(SettingError, match=setting):
            params.check_settings(method.settings(**{setting: value}))


def test_what_public_facts_rule_out_is_refused_before_the_noise_is_solved():
    late = []
    for name in PRIVATE:
        rows, own = split_for(METHODS[name]), params.params_of(METHODS[name].settings)
        bare = dataclasses.replace(rows, public_x=rows.public_x[:0], public_y=None, memo=Memo())
        asks = [(rows, {"k": 10_000})] + [
            (bare, {switch: True}) for switch in ("standardise", "centre")
        ]
        asks += [(bare, {"k": 1})] if name == "dp_raft" else []
        for split, asked in asks:
            if asked.keys() <= own.keys():
                with (
                    patch.object(runs, "calibrate_setting", side_effect=Late),
                    contextlib.suppress(PillarError),
                ):
                    try:
                        solve(name, split, epsilon=1.0, **asked)
                    except Late:
                        late.append(f"{name}: {asked}")
    assert not late


class Late(Exception):
    """The noise is being solved."""


def test_a_refusal_names_a_setting_that_the_learner_has():
    own = [
        name
        for name in PRIVATE
        if {"public_learning_rate", "initialisation"}
        <= params.params_of(METHODS[name].settings).keys()
    ]
    for name in own:
        with pytest.raises(SettingError, match=r"^public_learning_rate"):
            pc.run(
                name,
                split_for(METHODS[name]),
                noise_multiplier=1.0,
                initialisation="public",
                public_learning_rate=1e5,
            )


def unlike_with_other_private_rows(name):
    """What a solved run has otherwise beside private rows that an adversary would choose, for plain
    settings and each variant."""
    method = METHODS[name]
    rows, found = split_for(method), []
    asks = {
        "plain": {"epsilon": 1.0},
        **{
            words: settings_for(method, rows, **changes)
            for words, changes in variants(method).items()
        },
    }
    for words, asked in asks.items():
        one, *others = (
            decided(method, split, asked) for split in (rows, *checks.hostile_splits(rows))
        )
        found += [
            f"{name}, {words}: {field}"
            for field in one
            if any(other.get(field) != one[field] for other in others)
        ]
    return found


def decided(method, split, asked):
    try:
        solved = solve(method.name, split, **asked)
    except PillarError as refusal:
        return {"refusal": str(refusal)}
    return {
        "settings": solved.settings,
        "facts": solved.view.facts,
        "cost": solved.cost,
        "guarantee": solved.guarantee,
        "why": solved.why,
    }


def test_nothing_that_is_solved_reads_private_rows():
    assert not [line for name in PRIVATE for line in unlike_with_other_private_rows(name)]


VARIANTS = [
    (name, variant)
    for name in PRIVATE
    if name not in IMAGES
    for variant in variants(METHODS[name])
    if "sampling" not in variant
]
"""Random allocation is above, on batches: a pass of one step, all rows, is none."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_privacy_contract_in_every_variant(name, variant):
    checks.keeps_the_contract(case_for(METHODS[name], **variants(METHODS[name])[variant]))


def test_the_printed_variant_takes_the_printed_steps():
    checks.takes_the_printed_steps(case_for(METHODS["pillar_noisy_sgd"], variant="as_printed"))
