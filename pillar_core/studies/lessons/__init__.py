"""What the lessons of Learn measure while somebody waits: each function takes the control's values and gives a tidy table."""

from collections.abc import Callable, Mapping

import pandas as pd

from pillar_core.studies.lessons import audits, digits, public

MEASURES: Mapping[str, Callable[..., pd.DataFrame]] = {
    measure.__name__: measure
    for measure in (
        *(digits.guesses, digits.without_projection, digits.directions, digits.public_rows, digits.rows, digits.releases),
        *(public.public_images, public.domains, public.learners, public.screenings, public.diluted_images, public.shared_budget),
        *(audits.attack_rates, audits.audit_bounds, audits.bounds_of_less_noise, audits.certified_once),
        *(audits.audit_power, audits.guesses_from_releases),
    )
}
"""By the name that a lesson's words give."""
