"""The learners, one file each: importing this registers them all.

The order of the imports is the order of every list, family by family.
"""

# isort: off
from pillar_core.methods.public_subspace import pillar, gep, dp_fc
from pillar_core.methods.closed_form import pillar_one_shot, pillar_kalman, dp_ls
from pillar_core.methods.public_gradients import (
    adamix,
    pillar_kalman_labelled,
    adamix_theory,
    pda_dpmd,
    dope_sgd,
    ppgd,
    adadps,
)
from pillar_core.methods.baselines import (
    dp_sgd,
    noisy_gd,
    dp_raft,
    dp_pca,
    jl,
    only_public,
    non_private,
)
from pillar_core.methods.voting import pate, private_knn, prototypes
from pillar_core.methods.halfspaces import pillar_noisy_sgd, semi_private_halfspace, disjunction
from pillar_core.methods.deep import second_phase, private_fine_tuning, from_scratch

# isort: on
from pillar_core.methods.method import METHODS, Method, Plan
