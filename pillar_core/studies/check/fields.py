"""The numbers of a run that Check asks for, and what may stand for each."""

import dataclasses

from pillar_core.params import declare, params_of


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The numbers of a run that is checked, with the values that a form starts from."""

    n: int = declare(50_000, "Training rows.", label="Rows, n", low=1)
    batch_size: int = declare(
        500,
        "Rows that one noisy step sums over, on average; all that are accumulated for it.",
        label="Batch size",
        low=1,
    )
    epochs: float = declare(
        20.0, "Passes over the data.", label="Epochs", low=0, low_open=True, high=1e6
    )
    steps: int = declare(2_000, "Noisy steps.", label="Steps", low=1, high=10_000_000)
    noise_multiplier: float = declare(
        1.0,
        "σ: noise standard deviation over the clip norm, before any division by the batch.",
        label="Noise multiplier σ",
        low=0,
        high=1e6,
    )
    epsilon: float = declare(
        3.0,
        "The ε that the library solves σ for.",
        label="Target ε",
        low=0,
        low_open=True,
        high=1e6,
    )
    delta: float = declare(
        1e-6,
        "The small slack beyond which ε holds; far below 1/n.",
        label="δ, slack in ε",
        low=1e-30,
        high=1,
        high_open=True,
    )
    l2_clip_norm: float = declare(
        1.0,
        "Largest norm of one row's gradient. ε hangs on there being one, not on its size.",
        label="Clip norm",
        low=0,
    )


FIELDS = params_of(Numbers)
ALTERNATIVES = {
    "steps": "epochs",
    "epochs": "steps",
    "noise_multiplier": "epsilon",
    "epsilon": "noise_multiplier",
}
LIMITS = {
    name: dataclasses.replace(field, none_means="not known") for name, field in FIELDS.items()
}
