"""Accounting in a real browser: a moved control is in the link, and Back undoes it."""

import re
from typing import Any

from e2e.browser import expect, expect_no_error, metric, opened, settled

SMALL = "data=digits&epsilon=1"


def test_steps_move_the_noise_and_back_undoes_it(page: Any, address: str) -> None:
    opened(page, f"{address}/accounting?{SMALL}&controls=accounting-from:epsilon")
    noise, steps = metric(page, "Noise multiplier"), page.get_by_role("slider", name="Steps")
    before = noise.inner_text()
    steps.focus()
    steps.press("ArrowLeft")
    expect(noise).not_to_have_text(before)
    expect(page).to_have_url(re.compile("accounting-steps"))
    after = noise.inner_text()
    assert float(after) < float(before)
    settled(page)
    page.reload()
    expect(noise).to_have_text(after)
    settled(page)
    page.go_back()
    expect(noise).to_have_text(before)
    expect_no_error(page)
