"""DP-SGD on a linear head: clip each row's gradient, sum, add Gaussian noise, step.

Guarantee: every step releases one sum of rows clipped to l2_clip_norm (weights and bias jointly) on
a Poisson sample at q = batch_size / n_private, or each row in one random step of each pass
(add/remove only); exact composition. Public rows, if any, only standardise and centre. Source:
Abadi et al. 2016, Algorithm 1. Cost: two matrix products a step.
"""

from pillar_core.methods.method import METHODS, FitMany, Method
from pillar_core.methods.parts import descent, rules

fit_many: FitMany[descent.DescentSettings] = descent.fit_many_with(
    descent.all_features, descent.PREPROCESSING
)

METHODS.register(
    Method(
        name="dp_sgd",
        title="DP-SGD",
        source="Abadi et al., CCS 2016",
        idea="Train on all features with clipped, noised gradients: the baseline that uses no"
        " public data for learning.",
        settings=descent.DescentSettings,
        cost=descent.cost,
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=rules.resolve_hyperparameters,
        is_head_descent=True,
        is_exact=True,
        version=3,
        presets={
            "paper": {
                **descent.PAPER,
                "bias": True,
                "normalise": False,
            }
        },
    )
)
