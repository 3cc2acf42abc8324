"""The app in a real browser: a cold deep link first, history, reload, live sliders, a phone."""

import re
from collections.abc import Callable
from typing import Any

from e2e.browser import expect, expect_in_link, expect_no_error, metric, move, opened, settled

SMALL = "data=digits&epsilon=1"


def test_the_first_request_of_a_server_may_be_a_deep_link(page: Any, address: str) -> None:
    """This is the first test that asks for the server."""
    opened(page, f"{address}/explore?{SMALL}&k=7")
    expect(page.get_by_role("slider", name="k, directions kept")).to_have_attribute("aria-valuetext", "7")
    expect(page.get_by_role("link", name="Public data")).to_have_count(1)
    expect_in_link(page, "v=2")
    expect(metric(page, "Directions")).to_have_text("7")
    expect_no_error(page)


def test_a_phone_has_pages_k_and_epsilon_at_hand(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{address}/explore?{SMALL}&k=2")
    sliders = page.locator(".st-key-near")
    expect(sliders.get_by_role("slider", name="ε, privacy budget")).to_have_attribute("aria-valuetext", "1")
    move(page, "k, directions kept", "ArrowRight", to="5")
    expect(metric(page, "Directions")).to_have_text("5")
    page.get_by_role("link", name="Learn", exact=True).click()
    expect(page.get_by_text("Guess first.")).to_be_visible()
    expect_no_error(page)


def test_the_chart_stays_while_its_star_walks(page: Any, address: str) -> None:
    opened(page, f"{address}/explore?{SMALL}&k=5")
    star = page.locator(".st-key-chart-accuracy_against_k .scatterlayer .trace").last.locator(".point")
    before = star.get_attribute("transform")
    page.locator(".st-key-chart-accuracy_against_k .js-plotly-plot").evaluate("node => { node.dataset.kept = 'yes' }")
    move(page, "k, directions kept", "ArrowRight", to="20")
    expect(star).not_to_have_attribute("transform", before)
    expect(page.locator(".st-key-chart-accuracy_against_k .js-plotly-plot")).to_have_attribute("data-kept", "yes")
    expect(page.get_by_role("figure", name=re.compile("Line chart of test accuracy"))).to_be_visible()


def test_copy_link_copies_the_short_address_and_says_so(new_page: Callable[[], Any], address: str) -> None:
    page = new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened(page, f"{address}/explore?{SMALL}&k=5")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}/explore?v=2&data=digits&k=5&epsilon=1"


def test_pages_are_one_step_of_the_history_and_back_forward_and_reload_keep_the_settings(page: Any, address: str) -> None:
    opened(page, f"{address}/explore?{SMALL}&k=5")
    epsilon = metric(page, "ε, upper bound")
    for value in ("0.7", "0.5"):
        move(page, "ε, privacy budget", "ArrowLeft", to=value)
        expect(epsilon).to_have_text(value)
        expect_in_link(page, f"epsilon={value}")
    page.go_back()
    expect(epsilon).to_have_text("0.7")
    settled(page)
    page.go_forward()
    expect(epsilon).to_have_text("0.5")
    page.reload()
    expect(epsilon).to_have_text("0.5")
    expect(metric(page, "Directions")).to_have_text("5")
    page.get_by_role("link", name="My data").click()
    page.wait_for_selector("text=What is private")
    expect_in_link(page, "k=5")
    expect(page).to_have_url(re.compile(r"/data\?"))
    settled(page)
    page.go_back()
    page.wait_for_selector("text=Which k, and which privacy budget ε?")
    expect(page).to_have_url(re.compile(r"/explore\?"))
    expect(metric(page, "Directions")).to_have_text("5")


def test_nothing_is_wider_than_the_window_or_asked_of_another_server(page: Any, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("", "data", "explore"):
        opened(page, f"{address}/{path}?{SMALL}")
        page.wait_for_function("() => document.querySelector('[data-testid=\"stMain\"]').scrollWidth <= window.innerWidth")
    foreign = [url for url in asked if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))]
    assert foreign == []
