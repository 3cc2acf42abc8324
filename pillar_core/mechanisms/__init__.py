"""The only places that draw privacy noise or a private sample; each charges the ledger before it
draws."""

from pillar_core.mechanisms.bingham import BinghamMechanism
from pillar_core.mechanisms.exponential import ExponentialMechanism, epsilon_of, exponential
from pillar_core.mechanisms.gaussian import GaussianMechanism, release_joint
from pillar_core.mechanisms.poisson import Batches, draw_batch, poisson_sample
