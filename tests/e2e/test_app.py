"""The app in a real browser: a cold deep link first, history, reload, live sliders, a phone."""

import contextlib
import http.client
import json
import re
import urllib.request
from typing import Any

import pandas as pd

from e2e.browser import (
    expect,
    expect_in_link,
    expect_no_error,
    metric,
    move,
    opened,
    settled,
    until,
)
from pages.frame import navigation
from pillar_core import plots
from pillar_core.plots.theme import INK

SMALL = "data=digits&epsilon=1"


def test_the_first_request_of_a_server_may_be_a_deep_link_and_copy_link_says_that_it_copied_one(
    page, address
):
    """This is the first test that asks for the server."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened(page, f"{address}/curves?{SMALL}&k=7")
    expect(page.get_by_role("slider", name="k, directions kept")).to_have_attribute(
        "aria-valuetext", "8"
    )
    expect(page.get_by_text("k = 7 is used. The slider stands at 8")).to_be_visible()
    expect(page.get_by_role("link", name="Public data")).to_have_count(1)
    expect_in_link(page, "v=2")
    expect(metric(page, "Directions")).to_have_text("7")
    expect_no_error(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == f"{address}/curves?v=2&data=digits&k=7&epsilon=1"
    )


def test_links_from_before_lead_to_the_pages_of_today_with_all_that_they_say(address):
    for former, name in navigation.FORMER.items():
        for link in ("", "?v=2&data=digits&k=7&controls=noise-step:2%3Blesson-watch:True"):
            with urllib.request.urlopen(f"{address}/{former}{link}", timeout=120) as page:
                assert page.url == f"{address}/{navigation.address(name)}{link}"


STAR = """() => {
  const node = document.querySelector(".pillar-figure"), drawn = node._fullData.find((trace) => trace.meta === "here");
  const box = node.querySelector(`.trace${drawn.uid} .point`).getBoundingClientRect(), { xaxis } = node._fullLayout;
  return [drawn.x[0], xaxis.p2d(box.left + box.width / 2 - node.getBoundingClientRect().left - xaxis._offset)];
}"""
"""The k of the star as it was drawn last, and the k at which it is seen."""


def drag_k(page: Any) -> None:
    """Drags k: the star goes ahead of the training, which begins at the release."""
    slider = page.get_by_role("slider", name="k, directions kept")
    trained = int(slider.get_attribute("aria-valuetext"))
    box = slider.locator("xpath=ancestor::*[@data-testid='stSlider']").bounding_box()
    share = int(slider.input_value()) / int(slider.get_attribute("max"))
    page.mouse.move(box["x"] + share * box["width"], slider.bounding_box()["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], slider.bounding_box()["y"] + 4, steps=5)
    expect(slider).not_to_have_attribute("aria-valuetext", str(trained))
    until(
        page,
        f"k => Math.abs(({STAR})()[1] / k - 1) < 0.02",
        int(slider.get_attribute("aria-valuetext")),
    )
    assert page.evaluate(STAR)[0] == trained, "nothing was trained before the release"
    page.mouse.up()
    until(page, f"k => ({STAR})()[0] !== k", trained)
    settled(page)


def test_a_phone_has_pages_k_and_epsilon_at_hand_and_the_star_goes_ahead(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{address}/curves?{SMALL}&k=3")
    sliders = page.locator(".st-key-near")
    expect(sliders.get_by_role("slider", name="ε, privacy budget")).to_have_attribute(
        "aria-valuetext", "1"
    )
    sliders.locator("xpath=..").evaluate(
        "place => { if (getComputedStyle(place).position !== 'sticky') throw new Error('scrolls"
        " away') }"
    )
    move(page, "k, directions kept", "ArrowRight", to="5")
    expect(metric(page, "Directions")).to_have_text("5")
    settled(page)
    drag_k(page)
    page.get_by_role("link", name="Learn", exact=True).click()
    expect(page.get_by_text("Guess first.")).to_be_visible()
    expect_no_error(page)


def test_the_chart_stays_while_its_star_walks(page, address):
    opened(page, f"{address}/curves?{SMALL}&k=5")
    star = page.locator(".st-key-chart-accuracy_against_k .scatterlayer .trace").last.locator(
        ".point"
    )
    before = star.get_attribute("transform")
    page.locator(".st-key-chart-accuracy_against_k .js-plotly-plot").evaluate(
        "node => { node.dataset.kept = 'yes' }"
    )
    move(page, "k, directions kept", "ArrowRight", to="8")
    expect(star).not_to_have_attribute("transform", before)
    expect(page.locator(".st-key-chart-accuracy_against_k .js-plotly-plot")).to_have_attribute(
        "data-kept", "yes"
    )
    expect(
        page.get_by_role("figure", name=re.compile("Line chart of test accuracy"))
    ).to_be_visible()
    expect_no_error(page)


def test_a_cell_of_the_plane_gives_its_k_and_epsilon_by_mouse_and_by_keyboard(page, address):
    """Of a heatmap, a click selects nothing."""
    opened(page, f"{address}/curves?v=2&view=plane")
    chart = page.locator(".st-key-chart-accuracy_plane .plotly .nsewdrag").first
    settled(page)
    box = chart.bounding_box()
    x, y = (
        box["x"] + 5.2 / 7 * box["width"],
        box["y"] + 1.7 / 4 * box["height"],
    )  # beside the middle of k = 80, ε = 1
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    expect_in_link(page, "k=80", "epsilon=1")
    page.locator(".st-key-below-accuracy_plane summary").press("Enter")
    page.locator(".st-key-table-accuracy_plane canvas").first.focus()
    for key in ("ArrowDown", "Shift+Space"):
        page.keyboard.press(key)
    expect_in_link(page, "k=3")


def test_pages_are_one_step_of_the_history_and_back_forward_and_reload_keep_what_was_set(
    page, address
):
    """A setting of all pages and a control of one."""
    opened(page, f"{address}/count?{SMALL}&k=5&controls=accounting-from:epsilon")
    noise = metric(page, "Noise multiplier")
    first = noise.inner_text()
    move(page, "ε, privacy budget", "ArrowLeft", to="0.7")
    expect(noise).not_to_have_text(first)
    expect_in_link(page, "epsilon=0.7")
    second = noise.inner_text()
    steps = page.get_by_role("slider", name="Steps")
    steps.focus()
    steps.press("ArrowLeft")
    expect(noise).not_to_have_text(second)
    expect(page).to_have_url(re.compile("accounting-steps"))
    third = noise.inner_text()
    assert float(third) < float(second) > float(first)
    settled(page)
    page.go_back()
    expect(noise).to_have_text(second)
    settled(page)
    page.go_forward()
    expect(noise).to_have_text(third)
    page.reload()
    expect(noise).to_have_text(third)
    page.get_by_role("link", name="My data").click()
    page.wait_for_selector("text=What is private")
    expect_in_link(page, "k=5")
    expect(page).to_have_url(re.compile(r"/rows\?"))
    settled(page)
    page.go_back()
    expect(noise).to_have_text(third)
    expect(page).to_have_url(re.compile(r"/count\?"))
    expect_no_error(page)


WITH_FIGURES = (
    "curves",
    "curves?v=2&view=epsilon",
    "curves?v=2&data=pneumonia_mnist&view=classes",
    "learners",
    "why?v=2&controls=geometry-view:margins",
)
COLLIDING = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap((plot) => {
  const words = [...plot.querySelectorAll("svg text")].filter((text) => text.textContent.trim() && text.getClientRects().length);
  const boxes = words.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const overlap = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  const meet = (a, b) => Math.min(overlap(a, b, "left", "right"), overlap(a, b, "top", "bottom")) > 3;
  return boxes.flatMap(([a, box], place) => boxes.slice(place + 1).filter(([, next]) => meet(box, next)).map(([b]) => `${a} | ${b}`));
})"""
"""Pairs of texts of a figure whose boxes overlap by more than three pixels both ways."""
FITS = """() => [...document.querySelectorAll(".js-plotly-plot")].every((plot) => {
  const width = plot.parentElement.clientWidth;
  return plot.querySelector(".main-svg").getBoundingClientRect().width <= width + 1 && width <= window.innerWidth;
})"""
NARROW = "() => document.querySelector('[data-testid=\"stMain\"]').scrollWidth <= window.innerWidth"

WHOLE = """() => [...document.querySelectorAll(".js-plotly-plot")].every((plot) => {
  const frame = plot.querySelector(".main-svg").getBoundingClientRect();
  const boxes = [...plot.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect()).filter(({ width }) => width);
  return boxes.every(({ left, right }) => left >= frame.left - 1 && right <= frame.right + 1);
})"""
"""Whether no text of a figure is cut at its left or right."""
REACHED = """(count) => {
  const links = [...document.querySelectorAll(".st-key-places a, .st-key-members a")];
  return links.length === count && links.every((link) => {
    const { x, y, width, height } = link.getBoundingClientRect(), line = parseFloat(getComputedStyle(link.querySelector("p")).lineHeight);
    return link.contains(document.elementFromPoint(x + width / 2, y + height / 2)) && link.querySelector("p").offsetHeight < 1.5 * line;
  });
}"""
"""Whether so many links of the menu are each in one line, and take a click at their middle."""
READABLE = """() => [...document.querySelectorAll('[data-testid="stMetricLabel"] p, [data-testid="stMetricValue"] *')].every(
  (text) => text.scrollWidth <= text.clientWidth + 1 || getComputedStyle(text).overflow === "visible")"""
"""Whether no number and no label of one is cut."""


def test_every_place_is_in_reach_at_every_width_and_a_page_without_controls_has_no_sidebar(
    page, address
):
    """At 200 % zoom a window of 1440 pixels has 720."""
    opened(page, f"{address}/curves?{SMALL}&k=3")
    for width in (1440, 1024, 900, 899, 769, 768, 720, 641, 640, 360):
        page.set_viewport_size({"width": width, "height": 900})
        for condition in (REACHED, READABLE, NARROW):
            until(page, condition, 10)
    page.set_viewport_size({"width": 1024, "height": 900})
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.hover()
    page.get_by_role("button", name="Collapse sidebar").click()
    page.get_by_role("button", name="Expand sidebar").wait_for()
    until(page, REACHED, 10)
    page.get_by_role("button", name="Expand sidebar").click()
    expect(sidebar.get_by_role("slider", name="ε, privacy budget")).to_be_visible()
    page.get_by_role("link", name="Public data", exact=True).click()
    page.get_by_text("Which public data should I use?").wait_for()
    settled(page)
    expect(sidebar).to_be_hidden()
    expect(page.get_by_role("button", name="Expand sidebar")).to_be_hidden()
    assert page.get_by_test_id("stMain").bounding_box()["x"] == 0


def test_bar_and_figures_follow_the_browser_from_light_to_dark(page, address):
    opened(page, f"{address}/curves?{SMALL}&k=3")
    for mode in ("dark", "light"):
        page.emulate_media(color_scheme=mode)
        ink = INK[mode]
        expect(page.locator(".st-key-navigation")).to_have_css("background-color", rgb(ink.surface))
        expect(page.locator(".st-key-chart-accuracy_against_k .gtitle")).to_have_css(
            "fill", rgb(ink.text)
        )
        settled(page)


def rgb(colour: str) -> str:
    """A colour #rrggbb as browsers say it."""
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


def test_everything_fits_the_window_no_two_labels_collide_and_no_other_server_is_asked(
    page, address
):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    widths = [1440, 1024, 390]
    for path in WITH_FIGURES:
        opened(page, f"{address}/{path}")
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        for width in widths:
            page.set_viewport_size({"width": width, "height": 844})
            settled(page)
            for condition in (
                FITS,
                WHOLE,
                f"() => ({COLLIDING})().length === 0",
                NARROW,
            ):  # Plotly draws anew for each width
                until(page, condition)
        widths.reverse()
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("", "rows", "public_data", "count", "audit", "answer"):
        opened(page, f"{address}/{path}?{SMALL}")
        until(page, NARROW)
    foreign = [
        url
        for url in asked
        if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))
    ]
    assert foreign == []


def test_a_figures_own_page_asks_nobody(new_page, tmp_path):
    page = new_page()
    bait = "http://127.0.0.1:9"
    names = [
        f"![m]({bait}/image)",
        f"<img src={bait}/tag>",
        f"{bait}/bare",
        "http://hostile.test",
        "www.hostile.test",
        "me@hostile.test",
    ]
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    table = pd.DataFrame({"class": names, "part": "private", "rows": range(1, 7)})
    (tmp_path / "figure.html").write_text(plots.class_balance(table).to_html(), encoding="utf-8")
    page.goto(f"file://{tmp_path / 'figure.html'}")
    page.locator(".xtick").nth(5).wait_for()
    assert bait in page.locator(".xaxislayer-above").text_content()
    assert page.locator("a[href*='hostile'], a[href*='127.0.0.1']").count() == 0
    buttons = {
        button.get_attribute("data-title") or button.get_attribute("aria-label")
        for button in page.locator(".modebar-btn").all()
    }
    assert "Zoom" in buttons
    assert not [title for title in buttons if "Share" in str(title)], "it uploads the figure"
    assert not [url for url in requested if not url.startswith(("file:", "data:", "blob:"))]


def test_no_page_of_another_origin_connects_to_frames_or_directs_the_app(address):
    def asked(path, **headers):
        with contextlib.closing(
            http.client.HTTPConnection(address.removeprefix("http://"))
        ) as connection:
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as answer:
                return answer.status

    with urllib.request.urlopen(f"{address}/_stcore/host-config") as answer:
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
        assert json.load(answer)["allowedOrigins"] == []
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    origins = {address: 101, "http://localhost:1": 403, "http://evil.example": 403}
    assert {
        origin: asked("/_stcore/stream", Origin=origin, **upgrade) for origin in origins
    } == origins
    assert (asked("/ready"), asked("/ready", Origin="http://evil.example")) == (
        200,
        200,
    ), "an operator's question, for everybody"


READ = """() => {
  const { data = [], layout } = document.querySelector(".st-key-figure-possible_answers .js-plotly-plot") ?? {};
  return data.flatMap(({ x }) => x.map((at) => layout.xaxis.ticktext[Math.round(at)])).join();
}"""
"""What each model answers."""
POINT = """() => {
  const node = document.querySelector(".st-key-chart-public_map .js-plotly-plot");
  if (!node?._ev?._events?.plotly_click) return false;
  node.scrollIntoView({ block: "center" });
  const { xaxis, yaxis } = node._fullLayout, [trace] = node._fullData, box = node.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.l2p(trace.x[0]), box.y + yaxis._offset + yaxis.l2p(trace.y[0])];
}"""
"""Where the first point of a map is that listens."""


def touch(fingers: Any, kind: str, *points: dict[str, float]) -> None:
    fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})


def test_a_digit_is_drawn_by_mouse_finger_and_keyboard(page, address):
    opened(page, f"{address}/curves?v=2&data=digits&view=rows&epsilon=0.3")
    page.get_by_role("button", name="possible models").click()
    expect(page.locator(".st-key-figure-possible_answers .main-svg").first).to_be_visible()
    canvas, fingers = page.locator("canvas[role=application]"), page.context.new_cdp_session(page)
    canvas.scroll_into_view_if_needed()
    settled(page)
    read = page.evaluate(READ)

    def at(right, down):
        box = canvas.bounding_box()
        return {"x": box["x"] + right * box["width"], "y": box["y"] + down * box["height"]}

    def expect_another_reading():
        nonlocal read
        until(page, f"(before) => ![before, ''].includes(({READ})())", read)
        settled(page)
        read = page.evaluate(READ)

    first = read
    page.get_by_role("button", name="Clear").click()
    expect_another_reading()
    page.mouse.move(**at(0.5, 0.2))
    page.mouse.down()
    page.mouse.move(**at(0.5, 0.8), steps=5)
    page.mouse.up()
    expect_another_reading()
    touch(fingers, "Start", at(0.1, 0.5))
    touch(fingers, "Move", at(0.9, 0.5))
    touch(fingers, "End")
    expect_another_reading()
    canvas.press("ArrowLeft")
    canvas.press("ArrowLeft")
    expect_another_reading()
    page.get_by_role("button", name="As it was").click()
    until(page, f"(first) => ({READ})() === first", first)


def test_a_tap_on_the_map_shows_the_row(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    fingers = page.context.new_cdp_session(page)
    fingers.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def tap(x, y):
        touch(fingers, "Start", {"x": x, "y": y})
        touch(fingers, "End")

    opened(page, f"{address}/rows")
    picture = page.locator('[style*="scale(2.5)"]')
    for _ in range(
        20
    ):  # a map that is drawn anew for the narrow window listens again a little later
        tap(*until(page, POINT).json_value())
        settled(page)
        if picture.is_visible():
            break
    expect(picture).to_be_visible()
    tap(5, 400)
    expect(picture).to_be_hidden()
    fingers.detach()
