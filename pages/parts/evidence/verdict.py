"""One sentence over all views of the Evidence page: the claim, what audits certified of it so far, and the best attack tried."""

import math

from pages.frame import core
from pages.frame.settings import Settings
from pages.frame.shares import UsedUpError
from pages.parts.evidence import attacks, audits
from pillar_core.errors import UnsupportedError
from pillar_core.studies.evidence import verdict
from pillar_core.studies.evidence.attacks import rates_under


def sentence(settings: Settings) -> str:
    """The sentence on the sidebar's run; it waits for one training with canaries, and for what you asked for already."""
    if math.isinf(settings.epsilon):
        return verdict.without_claim()
    record = core.run(settings)
    try:
        single, many = audits.audits_so_far(settings)
    except UsedUpError:
        raise
    except UnsupportedError as reason:
        return verdict.without_audit(record.guarantee.epsilon.upper, str(reason))
    return verdict.sentence(single, many, rates_under(attacks.attacks_so_far(settings), attacks.ceiling_of(record)))
