"""DP-SGD on a linear head: clip each row's gradient, sum, add Gaussian noise, step.

Guarantee: every step releases one sum of rows clipped to l2_clip_norm (weights and bias jointly) on
a Poisson sample at q = batch_size / n_private, or each row in one random step of each pass
(add/remove only); exact composition. Public rows, if any, only standardise and centre. Source:
Abadi et al. 2016, Algorithm 1. Cost: two matrix products a step.
"""

from pillar_core.methods.method import METHODS, FitMany
from pillar_core.methods.parts import descent, rules

fit_many: FitMany[descent.DescentSettings] = descent.fit_many_with(
    descent.all_features, descent.PREPROCESSING
)

METHODS.register(
    descent.learner("dp_sgd", descent.DescentSettings, fit_many, rules.resolve_hyperparameters)
)
