"""How much of the way from public-only to the paragon is still to go: AdaMix's performance boost."""

import math

from pillar_core.errors import DataError


def performance_boost(error_public: float, error_paragon: float, error_dp: float) -> float | None:
    """PB = (err_public − err_paragon) / (err_DP − err_paragon) (Golatkar et al., AdaMix, section 4.1).

    1 says that private rows under noise changed nothing, more that they helped, below 1 that they hurt; inf where the private
    model reaches the paragon. None where the public rows alone reach it: then there is no way to go.

    Args:
        error_public: test error in [0, 1] of training on the public rows alone.
        error_paragon: of training on public and private rows without noise.
        error_dp: of the private learner.

    Raises:
        DataError: an error outside [0, 1].
    """
    for name, value in (("error_public", error_public), ("error_paragon", error_paragon), ("error_dp", error_dp)):
        if not 0 <= value <= 1:
            raise DataError(f"{name} must be in [0, 1]; got {value!r}.")
    if error_public <= error_paragon:
        return None
    if error_dp <= error_paragon:
        return math.inf
    return (error_public - error_paragon) / (error_dp - error_paragon)
