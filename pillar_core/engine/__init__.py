"""Linear heads trained in closed form: per-example gradient norms without per-example gradients,
one head or a whole grid."""

from pillar_core.engine.classifier import LinearClassifier, independent_noise, noise_left
from pillar_core.engine.device import devices_used, on_gpu, training_device
from pillar_core.engine.gradient import clipped_sum, cross_entropy_residuals
from pillar_core.engine.train import (
    Clipping,
    Head,
    HeadPlan,
    NoisySum,
    Step,
    heavy_ball,
    per_head,
    train_heads,
)
