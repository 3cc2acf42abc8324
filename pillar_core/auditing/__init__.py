"""Attacks, audits and individual privacy: what evidence can show about a guarantee, and what it
cannot.

>>> rate = pc.auditing.clopper_pearson(90, 100)
>>> rate.low < 0.9 < rate.high
True
"""

from pillar_core import checks
from pillar_core.auditing import (
    fault_injection,
    hypothesis_test,
    lira,
    membership,
    noise,
    one_run,
    score_leak,
    trajectory,
)
from pillar_core.auditing.fault_injection import (
    BLIND_SPOTS,
    FAULT_WORDS,
    Audit,
    BlindSpot,
    Fault,
    Finding,
    audit,
)
from pillar_core.auditing.hypothesis_test import Counts, noticed_epsilon, power
from pillar_core.auditing.low_bits import attack_low_bits
from pillar_core.auditing.membership import (
    Rate,
    auc,
    clopper_pearson,
    loss_threshold_auc,
    roc,
    tpr_at_fpr,
)
from pillar_core.auditing.trajectory import HeadRows, ReleaseTape, canary_scores, individual_mu

claims, sabotage = hypothesis_test, fault_injection  # their public names
Rows = HeadRows

__all__ = checks.guarded_names(__name__)
