"""Private fine-tuning: DP-SGD from a pre-trained network, on all of it, named layers, biases,
low-rank additions or the head.

Guarantee: every step releases one sum of rows' gradients, each clipped to l2_clip_norm over all
trained parameters together, on a Poisson sample at q = batch_size / n_private; add/remove or
replace-one by the accountant, exact composition. The start is taken to be public. With trainable =
head it is the linear probe on the network's frozen features. Source: semi-private paper, Fig. 2; De
et al. 2022, section 4; Bu et al. 2022 (bias only); Yu et al. 2022 (LoRA). Cost: a forward pass, and
a backward pass down to the lowest trained layer, of every row in the batch.
"""

import dataclasses

from pillar_core.ledger import Ledger
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent
from pillar_core.methods.parts.deep import settings as deep
from pillar_core.methods.parts.deep.networks import TIMM
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import TrainResult

RANDOM_START = (
    "This network has a random start: nothing was pre-trained. Name one with weights:"
    " timm:<name>?weights=<file>."
)


def fit(settings: deep.ChosenSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The network after its private steps; said where it has a random start."""
    result = deep.fit(settings, view, streams, ledger)
    return (
        result
        if settings.network.startswith(TIMM)
        else dataclasses.replace(result, notes=(RANDOM_START, *result.notes))
    )


METHODS.register(
    Method(
        name="private_fine_tuning",
        title="Private fine-tuning",
        source="De et al. 2022; semi-private paper, Fig. 2",
        idea="A pre-trained network goes on learning from private images, as a whole or in chosen"
        " layers.",
        settings=deep.ChosenSettings,
        cost=descent.cost,
        fit=fit,
        unsupported_reason=deep.unsupported_reason,
        assumptions=(deep.ROWS_APART, deep.PUBLIC_START),
        is_exact=True,
        version=2,
        presets={
            "paper": {
                "steps": 1000,
                "batch_size": 1024,
                "learning_rate": 1.0,
                "copies": 8,
                "mirror": True,
                "ema_decay": 0.9999,
            },
            "linear_probe": {"trainable": "head"},
        },
    )
)
