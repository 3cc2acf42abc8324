"""Accounting, Evidence, Geometry and Theory in a real browser: a moved control is in the link, and a link restores it."""

from __future__ import annotations

import re
from typing import Any

from e2e.browser import expect, expect_in_link, expect_no_error, metric, move, opened, settled

SMALL = "data=digits&epsilon=1"


def test_steps_move_the_noise_and_back_undoes_it(page: Any, address: str) -> None:
    opened(page, f"{address}/accounting?{SMALL}")
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


def test_a_fault_is_chosen_and_caught(page: Any, address: str) -> None:
    opened(page, f"{address}/evidence?{SMALL}&controls=evidence-view:sabotage")
    page.get_by_role("radio", name="half the noise").click()
    expect(page.get_by_text("Caught.")).to_have_count(1)
    settled(page)
    page.get_by_role("radio", name="nothing").click()
    expect(page.get_by_text("No alarm")).to_have_count(1)
    expect_in_link(page, "fault:none")


def test_what_a_score_leaks_is_drawn(page: Any, address: str) -> None:
    opened(page, f"{address}/evidence?{SMALL}&controls=evidence-view:score")
    page.wait_for_selector(".js-plotly-plot")
    expect(metric(page, "Right, with all digits")).to_have_text("100 %")
    expect_no_error(page)


def test_the_geometry_of_a_link_is_restored(page: Any, address: str) -> None:
    opened(page, f"{address}/geometry?{SMALL}&k=8&controls=geometry-view:spectrum;n_public:50")
    page.wait_for_selector(".js-plotly-plot")
    expect(page.get_by_role("slider", name="Public rows used")).to_have_attribute("aria-valuetext", "50")
    move(page, "Public rows used", "ArrowLeft", to="20")
    expect_in_link(page, "n_public:20")
    expect_no_error(page)


def test_a_theorem_outside_its_range_says_so(page: Any, address: str) -> None:
    word = "theory-view:theorems;theorem:pillar_theorem_1;pillar_theorem_1.epsilon:0.5"
    opened(page, f"{address}/theory?{SMALL}&controls={word}")
    expect(page.get_by_text("Outside the theorem's range")).to_have_count(1)
    page.get_by_role("spinbutton", name="ε, budget").fill("0.01")
    page.get_by_role("spinbutton", name="ε, budget").press("Enter")
    expect(page.get_by_text("Inside every range")).to_have_count(1)
    expect_in_link(page, "pillar_theorem_1.epsilon:0.01")
