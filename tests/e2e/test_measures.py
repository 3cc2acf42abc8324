"""Sliders in a real browser: a moved control is in the link, Back undoes it, and the star goes ahead of a drag."""

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


STAR = """() => {
  const node = document.querySelector(".pillar-figure"), drawn = node._fullData.find((trace) => trace.meta === "here");
  const box = node.querySelector(`.trace${drawn.uid} .point`).getBoundingClientRect(), { xaxis } = node._fullLayout;
  return [drawn.x[0], xaxis.p2d(box.left + box.width / 2 - node.getBoundingClientRect().left - xaxis._offset)];
}"""
"""The k of the star as it was drawn last, and the k at which it is seen."""


def test_the_star_goes_ahead_while_a_slider_is_dragged(page: Any, address: str) -> None:
    opened(page, f"{address}/explore")
    expect(page.locator(".pillar-figure .point").first).to_be_visible()
    slider = page.get_by_role("slider", name="k, directions kept")
    trained = int(slider.get_attribute("aria-valuetext"))
    box = slider.locator("xpath=ancestor::*[@data-testid='stSlider']").bounding_box()
    share = int(slider.input_value()) / int(slider.get_attribute("max"))
    page.mouse.move(box["x"] + share * box["width"], slider.bounding_box()["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], slider.bounding_box()["y"] + 4, steps=5)
    expect(slider).not_to_have_attribute("aria-valuetext", str(trained))
    page.wait_for_function(f"k => Math.abs(({STAR})()[1] / k - 1) < 0.02", arg=int(slider.get_attribute("aria-valuetext")))
    assert page.evaluate(STAR)[0] == trained, "nothing was trained before the release"
    page.mouse.up()
    page.wait_for_function(f"k => ({STAR})()[0] !== k", arg=trained)
    settled(page)
    expect_no_error(page)
