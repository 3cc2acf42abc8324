"""Contract 6 on every learner: its claim survives the ideal attacker; a claim that is too good does not."""

from __future__ import annotations

import dataclasses

import pytest

from contract import audit
from contract.cases import IMAGES, case_for, small_split
from contract.test_methods import ALLOCATED, MODES
from contract.test_planted_faults import Pieces, faulty_case
from pillar_core import ledger
from pillar_core.methods import METHODS
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import RunSpec

AUDITED = [name for name in METHODS if METHODS[name].is_private and not evidence.supports(name)]


@pytest.mark.parametrize(("name", "sampled"), [mode for mode in MODES if mode[0] not in IMAGES])
def test_no_claim_is_rejected(name, sampled):
    audit.is_not_rejected(case_for(METHODS[name], sampled=sampled, choice_epsilon=1.0))


@pytest.mark.parametrize("name", ALLOCATED)
def test_no_claim_of_random_allocation_is_rejected(name):
    """Seven steps: two passes of three and the first step of a third."""
    audit.is_not_rejected(case_for(METHODS[name], sampled=True, sampling="random_allocation", steps=7))


def test_more_steps_a_pass_than_there_are_is_rejected():
    """Forty for three: advantage 0.37 for 0.72."""
    case = case_for(METHODS["dp_sgd"], sampled=True, sampling="random_allocation", steps=6, noise_multiplier=0.5)
    audit.is_not_rejected(case, trials=audit.MANY)

    def too_good(settings, facts):
        return ledger.repeated(ledger.allocated(settings.noise_multiplier, 40), 2)

    with pytest.raises(AssertionError, match="rejected"):
        audit.is_not_rejected(dataclasses.replace(case, method=dataclasses.replace(case.method, cost=too_good)), trials=audit.MANY)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sampled"), [mode for mode in MODES if mode[0] in IMAGES])
def test_no_deep_claim_is_rejected(name, sampled):
    """Half of the trials: a fit takes a tenth of a second."""
    audit.is_not_rejected(case_for(METHODS[name], sampled=sampled), trials=audit.TRIALS // 2)


@pytest.mark.parametrize("name", AUDITED)
def test_the_apps_own_audit_does_not_reject_either(name):
    """Through `evidence.canary_audit`, which pages offer: descent on one head, at ε = 4."""
    found = evidence.canary_audit(
        RunSpec.asked(name, epsilon=4.0, steps=4), small_split(n=300), trials=200, significance=audit.SIGNIFICANCE
    )
    assert not found.is_rejected
    assert found.claimed_epsilon <= 4.0


def test_half_of_the_noise_is_rejected():
    """The claim is made for twice the noise that the loop adds; the same loop with an honest claim passes."""
    case = faulty_case(Pieces(), poisson=False)
    case = dataclasses.replace(case, settings=dataclasses.replace(case.settings, noise_multiplier=0.5))
    audit.is_not_rejected(case, trials=audit.MANY)
    honest = case.method.cost

    def too_good(settings, facts):
        return honest(dataclasses.replace(settings, noise_multiplier=2 * settings.noise_multiplier), facts)

    with pytest.raises(AssertionError, match="rejected"):
        audit.is_not_rejected(dataclasses.replace(case, method=dataclasses.replace(case.method, cost=too_good)), trials=audit.MANY)
