"""Accounting, Evidence, Geometry and Theory in a real browser: a moved control is in the link, and a link restores it."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.test_app import has_no_error, metric, opened, press, settled

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SMALL = "data=digits&epsilon=1"


def test_steps_move_the_noise_and_back_undoes_it(page: Any, address: str) -> None:
    opened(page, f"{address}/accounting?{SMALL}")
    before = metric(page, "Noise multiplier")
    press(page, "Steps", "ArrowLeft")
    assert "accounting-steps" in page.url
    after = metric(page, "Noise multiplier")
    assert float(after) < float(before)
    page.reload()
    page.wait_for_selector('[data-testid="stMetric"]')
    settled(page)
    assert metric(page, "Noise multiplier") == after
    page.go_back()
    settled(page)
    assert metric(page, "Noise multiplier") == before
    assert has_no_error(page)


def test_a_fault_is_chosen_and_caught(page: Any, address: str) -> None:
    opened(page, f"{address}/evidence?{SMALL}&controls=evidence-view:sabotage")
    page.get_by_role("radio", name="half the noise").click()
    settled(page)
    assert page.get_by_text("Caught.").count() == 1
    page.get_by_role("radio", name="nothing").click()
    settled(page)
    assert page.get_by_text("No alarm").count() == 1
    assert "fault:none" in page.url.replace("%3A", ":")


def test_what_a_score_leaks_is_drawn(page: Any, address: str) -> None:
    opened(page, f"{address}/evidence?{SMALL}&controls=evidence-view:score")
    page.wait_for_selector(".js-plotly-plot")
    assert metric(page, "Right, with all digits") == "100 %"
    assert has_no_error(page)


def test_the_geometry_of_a_link_is_restored(page: Any, address: str) -> None:
    opened(page, f"{address}/geometry?{SMALL}&k=8&controls=geometry-view:spectrum;n_public:50")
    page.wait_for_selector(".js-plotly-plot")
    assert page.get_by_role("slider", name="Public rows used").get_attribute("aria-valuetext") == "50"
    press(page, "Public rows used", "ArrowLeft")
    assert "n_public:20" in page.url.replace("%3A", ":")
    assert has_no_error(page)


def test_a_theorem_outside_its_range_says_so(page: Any, address: str) -> None:
    word = "theory-view:theorems;theorem:pillar_theorem_1;pillar_theorem_1.epsilon:0.5"
    opened(page, f"{address}/theory?{SMALL}&controls={word}")
    assert page.get_by_text("Outside the theorem's range").count() == 1
    page.get_by_role("spinbutton", name="ε, budget").fill("0.01")
    page.get_by_role("spinbutton", name="ε, budget").press("Enter")
    settled(page)
    assert page.get_by_text("Inside every range").count() == 1
    assert "pillar_theorem_1.epsilon:0.01" in page.url.replace("%3A", ":")
