"""Networks on images under differential privacy: what second_phase, private_fine_tuning and
from_scratch share."""
