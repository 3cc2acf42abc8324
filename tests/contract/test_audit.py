"""Contract 6 on every learner: its claim survives the ideal attacker; a claim that is too good does
not."""

import dataclasses

import pytest

from contract import audit
from contract.cases import IMAGES, case_for, small_split
from contract.tapes import Recorder
from contract.test_methods import MODES
from pillar_core import ledger
from pillar_core.methods import METHODS
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import RunSpec

AUDITED = [name for name in METHODS if METHODS[name].is_private and not evidence.supports(name)]


SHAPES = [
    (name, {"sampled": sampled})
    for name in ("dp_sgd", "gep", "dp_pca", "pillar_noisy_sgd")
    for sampled in (False, True)
] + [
    ("pillar_one_shot", {}),
    ("prototypes", {}),
    ("dp_sgd", {"sampled": True, "sampling": "random_allocation", "steps": 7}),
]
"""One learner a shape of release (`shape`), and seven steps of allocation: two passes of three and
the first of a third."""


@pytest.mark.parametrize(("name", "changes"), SHAPES)
def test_no_claim_is_rejected(name, changes):
    audit.is_not_rejected(case_for(METHODS[name], choice_epsilon=1.0, **changes))


def test_every_shape_of_release_is_audited():
    audited = {shape(name, **changes) for name, changes in SHAPES}
    missing = [
        mode
        for mode in MODES
        if mode[0] not in IMAGES and shape(mode[0], sampled=mode[1]) not in audited
    ]
    assert not missing, f"add one of {missing} to SHAPES"


def shape(name, **changes):
    """Kinds of calls and of events that a fit of the learner makes."""
    case, tape = case_for(METHODS[name], **changes), Recorder()
    _, fitted = case.fit(case.view, tape)
    return frozenset(
        (call.kind, type(event)) for call, (_, event) in zip(tape.calls, fitted.lines, strict=True)
    )


def test_more_steps_a_pass_than_there_are_is_rejected():
    """Forty for three: advantage 0.37 for 0.72."""
    case = case_for(
        METHODS["dp_sgd"], sampled=True, sampling="random_allocation", steps=6, noise_multiplier=0.5
    )
    counts = audit.alarms(case, trials=audit.MANY)
    assert (
        audit.p_value(counts, case.method.cost(case.settings, case.view.facts)) > audit.SIGNIFICANCE
    )
    assert (
        audit.p_value(counts, ledger.repeat(ledger.allocation_pass(0.5, 40), 2))
        < audit.SIGNIFICANCE
    )


@pytest.mark.parametrize("name", AUDITED)
def test_the_apps_own_audit_does_not_reject_either(name):
    """Through `evidence.canary_audit`, which pages offer: descent on one head, at ε = 4."""
    found = evidence.canary_audit(
        RunSpec.of(name, epsilon=4.0, steps=2),
        small_split(n=300),
        trials=100,
        significance=audit.SIGNIFICANCE,
    )
    assert not found.is_rejected
    assert 0 <= found.certified_epsilon <= found.claimed_epsilon <= 4.0
    assert found.noticed_epsilon > found.claimed_epsilon


def test_half_of_the_noise_is_rejected():
    """The claim is made for twice the noise that is added; an honest claim passes."""
    case = case_for(METHODS["dp_sgd"], bias=False, steps=3)
    honest, too_good = (
        dataclasses.replace(case.settings, noise_multiplier=noise) for noise in (0.5, 1.0)
    )
    counts = audit.alarms(dataclasses.replace(case, settings=honest), trials=audit.MANY)
    assert audit.p_value(counts, case.method.cost(honest, case.view.facts)) > audit.SIGNIFICANCE
    assert audit.p_value(counts, case.method.cost(too_good, case.view.facts)) < audit.SIGNIFICANCE
