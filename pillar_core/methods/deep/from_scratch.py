"""From scratch: DP-SGD on a network with a random start, with augmentation multiplicity and an
average of the weights.

Guarantee: every step releases one sum of rows' gradients (the mean over a row's moved copies), each
clipped to l2_clip_norm over all parameters together, on a Poisson sample at q = batch_size /
n_private; add/remove or replace-one by the accountant, exact composition. Copies are averaged
before clipping, so they do not enter the sensitivity; the moving average is post-processing.
Source: De, Berrada, Hayes, Smith & Balle 2022, whose WRN-16-4 (group normalisation, standardised
kernels) is the network of the semi-private paper's Fig. 2. Cost: a forward and a backward pass of
every copy in the batch, per-example gradients by Opacus.
"""

from pillar_core.errors import SettingError
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import descent
from pillar_core.methods.parts.deep import settings as deep
from pillar_core.methods.parts.deep.networks import TIMM
from pillar_core.types import PrivacyBudget, PublicFacts


def resolve_schedule(
    settings: deep.DeepSettings, facts: PublicFacts, budget: PrivacyBudget | None
) -> Plan[deep.DeepSettings]:
    """The settings as they are.

    Raises SettingError for a network that starts from weights, whose guarantee would rest on where
    they come from.
    """
    if settings.network.startswith(TIMM):
        raise SettingError(
            f"from_scratch starts at random and {TIMM}… from weights; take private_fine_tuning, or"
            " small_cnn or wrn_16_4."
        )
    return Plan(settings)


METHODS.register(
    Method(
        name="from_scratch",
        title="From scratch",
        source="De et al. 2022; semi-private paper, Fig. 2",
        idea="A whole network learns from private images alone: what public data and pre-training"
        " are compared with.",
        settings=deep.DeepSettings,
        cost=descent.cost,
        fit=deep.fit,
        resolve_schedule=resolve_schedule,
        unsupported_reason=deep.unsupported_reason,
        assumptions=(deep.ROWS_APART,),
        is_exact=True,
        version=2,
        presets={
            "paper": {
                "network": "wrn_16_4",
                "steps": 1000,
                "batch_size": 1024,
                "learning_rate": 2.0,
                "copies": 8,
                "mirror": True,
                "ema_decay": 0.9999,
            }
        },
    )
)
