"""From a budget to noise, back to certified ends of ε, and an audit that tries to refute them:
`python examples/calibrate_and_audit.py`."""

import pillar_core as pc
from pillar_core.studies.evidence.one_run import one_run_audit
from pillar_core.types import RunSpec

Q, STEPS, DELTA = 0.02, 1000, 1e-5
sigma = pc.noise_multiplier(2.0, sampling_probability=Q, steps=STEPS, delta=DELTA)
bounds = pc.epsilon(sigma, sampling_probability=Q, steps=STEPS, delta=DELTA)
print(
    f"ε = 2 over {STEPS} steps at q = {Q}: noise multiplier {sigma:.4f}; certified"
    f" {bounds.lower:.4f} ≤ ε ≤ {bounds.upper:.4f}"
)

split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
audit = one_run_audit(RunSpec("pillar", epsilon=4.0), split, canaries=200)
print(f"one run, {audit.canaries} canaries, {audit.guesses} coins called, {audit.correct} rightly")
print(
    f"certified ε ≥ {max(audit.certified):.2f} of {audit.claimed_epsilon:.2f} claimed; hoped for at"
    f" best {max(audit.expected):.2f}"
)
print("REFUTED: the run leaks more than it claims" if audit.is_rejected else "the claim stands")
