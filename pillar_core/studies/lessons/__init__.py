"""What the lessons of Learn measure while somebody waits: each function takes the control's values and gives a tidy table."""

from collections.abc import Callable, Mapping

import pandas as pd

from pillar_core.studies.lessons import audits, digits, public

MEASURES: Mapping[str, Callable[..., pd.DataFrame]] = {
    one.__name__: one
    for one in (
        *(digits.guesses, digits.without_projection, digits.directions, digits.public_rows, digits.rows, digits.releases),
        *(public.public_images, public.domains, public.learners, public.screenings, public.diluted, public.shared_budget),
        *(audits.attacked, audits.audited, audits.weakened, audits.certified_once, audits.noticed, audits.repeated),
    )
}
"""By the name that a lesson's words give."""
