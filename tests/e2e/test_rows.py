"""Rows under the finger: a digit that you draw is read again after each stroke, and a tap on the map of public rows shows the picture."""

from collections.abc import Callable
from typing import Any

from e2e.browser import expect, opened, settled

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
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_a_digit_is_drawn_by_mouse_finger_and_keyboard(new_page: Callable[..., Any], address: str) -> None:
    tab = new_page(has_touch=True)
    opened(tab, f"{address}/explore?v=2&data=digits&view=rows&epsilon=0.3")
    tab.get_by_role("button", name="possible models").click()
    expect(tab.locator(".st-key-figure-possible_answers .main-svg").first).to_be_visible()
    canvas, fingers = tab.locator("canvas[role=application]"), tab.context.new_cdp_session(tab)
    canvas.scroll_into_view_if_needed()
    settled(tab)
    box, read = canvas.bounding_box(), tab.evaluate(READ)
    (x, y), side = (box["x"], box["y"]), box["width"]

    def expect_another_reading() -> None:
        nonlocal read
        tab.wait_for_function(f"(before) => ![before, ''].includes(({READ})())", arg=read)
        settled(tab)
        read = tab.evaluate(READ)

    first = read
    tab.get_by_role("button", name="Clear").click()
    expect_another_reading()
    tab.mouse.move(x + side / 2, y + side / 6)
    tab.mouse.down()
    tab.mouse.move(x + side / 2, y + 5 * side / 6, steps=5)
    tab.mouse.up()
    expect_another_reading()
    for kind, points in (("Start", [(0.1, 0.5)]), ("Move", [(0.9, 0.5)]), ("End", [])):
        touched = [{"x": x + side * right, "y": y + side * down} for right, down in points]
        fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touched})
    expect_another_reading()
    canvas.press("ArrowLeft")
    canvas.press("ArrowLeft")
    expect_another_reading()
    tab.get_by_role("button", name="As it was").click()
    tab.wait_for_function(f"(first) => ({READ})() === first", arg=first)


def test_a_tap_on_the_map_shows_the_row(new_page: Callable[..., Any], address: str) -> None:
    tab = new_page(**PHONE)
    opened(tab, f"{address}/data")
    picture = tab.locator('[style*="scale(2.5)"]')
    for _ in range(20):  # a map that is drawn anew for the narrow window listens again a little later
        tab.touchscreen.tap(*tab.wait_for_function(POINT).json_value())
        settled(tab)
        if picture.is_visible():
            break
    expect(picture).to_be_visible()
    tab.touchscreen.tap(5, 400)
    expect(picture).to_be_hidden()
