"""What the lessons of Learn measure while somebody waits: each function takes the control's values and gives a tidy table."""

from collections.abc import Callable, Mapping

import pandas as pd

from pillar_core.studies.lessons import clothes, digits

MEASURES: Mapping[str, Callable[..., pd.DataFrame]] = {
    measure.__name__: measure
    for measure in (
        *(digits.guesses, digits.without_projection, digits.directions, digits.public_rows, digits.rows, digits.releases),
        *(clothes.public_images, clothes.domains, clothes.learners, clothes.screenings, clothes.diluted_images, clothes.shared_budget),
        *(clothes.attack_rates, clothes.audit_bounds, clothes.bounds_of_less_noise, clothes.certified_once),
        *(clothes.audit_power, clothes.guesses_from_releases),
    )
}
"""By the name that a lesson's words give."""
