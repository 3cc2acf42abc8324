"""Start's picture in a browser: pulled by mouse, finger and keys; its labels and those of Curves
stay legible."""

import itertools
import re

from e2e.browser import expect, expect_in_link, expect_no_error, opened, settled
from pillar_core import plots
from pillar_core.plots.theme import narrow_copy, script
from pillar_core.runs import starter

MEETING = """texts => {
  const boxes = texts.filter((text) => text.textContent.trim()).map((text) => [text.textContent, text.getBoundingClientRect()]);
  const overlap = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  return boxes.flatMap(([a, box], place) => boxes.slice(place + 1)
    .filter(([, next]) => Math.min(overlap(box, next, "left", "right"), overlap(box, next, "top", "bottom")) > 1).map(([b]) => `${a} | ${b}`));
}"""
"""Pairs of texts whose boxes overlap by more than a pixel both ways."""
DRAWN = f"""async ([figure, width]) => {{
  const {{ data, layout }} = JSON.parse(figure);
  await Plotly.react("figure", data, {{ ...layout, width }}, {{ displayModeBar: false }});
  return ({MEETING})([...document.querySelectorAll("#figure text")]);
}}"""
METHODS = [grid["method"] for grid in starter.GRIDS]


def dot_of(page):
    return page.get_by_role("slider", name="k by the left and right arrow")


def said_of(page):
    """(k, ε) as the dot says them."""
    k, epsilon = re.match(
        r"k = (\d+), ε = ([\d.]+):", dot_of(page).get_attribute("aria-valuetext")
    ).groups()
    return int(k), float(epsilon)


def press_to_the_end(page, key):
    for _ in starter.HERO_K:
        page.keyboard.press(key)


def pull(page, right, down):
    """Pulls the dot so many pixels."""
    while (box := dot_of(page).bounding_box()) is None:  # while the page is drawn anew
        expect(dot_of(page)).to_be_visible()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=5)
    page.mouse.up()


def test_the_dot_and_a_curve_are_pulled_and_images_and_guesses_follow(page, address):
    opened(page, address)
    dot = dot_of(page)
    expect(dot).to_be_visible()
    assert said_of(page) == (40, 0.3)
    pull(page, 260, 0)
    expect(dot).not_to_have_attribute("aria-valuetext", re.compile("^k = 40,"))
    expect_in_link(page, f"home-k:{(most := said_of(page)[0])}")
    assert said_of(page)[1] == 0.3
    promise = page.locator(".promise").text_content()
    pull(page, -150, -300)
    expect(page.locator(".promise")).not_to_have_text(promise)
    expect_in_link(page, "home-epsilon:3", "epsilon=3")
    k, epsilon = said_of(page)
    assert k < most
    assert epsilon == 3
    dot.focus()
    press_to_the_end(page, "ArrowRight")
    assert said_of(page) == (starter.HERO_K[-1], 3)
    right = page.locator(".tests .right").count()
    press_to_the_end(page, "ArrowLeft")
    assert said_of(page) == (starter.HERO_K[0], 3)
    assert page.locator(".tests .right").count() < right
    page.get_by_text("Table, description and exports").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="SVG").click()
    assert waiting.value.suggested_filename == "hero.svg"
    page.get_by_role("link", name="What an attacker learns").click()
    expect(page).to_have_url(re.compile("epsilon=3"))
    expect_no_error(page)


def test_a_finger_chooses_a_budget_and_every_label_stays_legible(page, address):
    for width in (1440, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        opened(page, address)
        dot_of(page).focus()
        press_to_the_end(page, "ArrowDown")
        for epsilon in starter.HERO_EPSILONS:
            for turn in range(len(starter.HERO_K)):
                if turn:
                    page.keyboard.press("ArrowLeft")
                assert page.locator(".curves text").evaluate_all(MEETING) == [], said_of(page)
            press_to_the_end(page, "ArrowRight")
            assert said_of(page) == (starter.HERO_K[-1], epsilon)
            page.keyboard.press("ArrowUp")
    touching = page.context.browser.new_context(
        has_touch=True, viewport={"width": 390, "height": 844}
    )
    try:
        phone = touching.new_page()
        opened(phone, address)
        settled(phone)
        phone.locator("text[data-epsilon='1']").tap()
        expect(dot_of(phone)).to_have_attribute("aria-valuetext", re.compile("ε = 1:"))
    finally:
        touching.close()


def test_no_texts_of_curves_meet_on_any_set_that_ships(new_page):
    """Labels once stood on each other, and on lines that were not theirs."""
    page = new_page()
    page.set_content("<div id=figure></div>")
    page.add_script_tag(content=script())
    sets = {starter.SHARED["dataset"]: starter.GRIDS}
    for grid in starter.grids():
        if grid["dataset"] in starter.OPENING_K and grid.get("method") in METHODS:
            sets[grid["dataset"]] = (*sets.get(grid["dataset"], ()), grid)
    for name, grids in sets.items():
        table = starter.hero_table(grids)
        measured = table[table["method"] == "pillar"]
        ends = measured[["k", "epsilon"]].agg(["min", "max"])
        for k, epsilon in itertools.product(ends["k"], ends["epsilon"]):
            rows = measured[(measured["k"] == k) & (measured["epsilon"] == epsilon)]
            here = plots.Here(int(k), epsilon, float(rows["accuracy"].iloc[0]))
            figure = plots.accuracy_against_k(table, present=here)
            for width, drawn in (
                (945, figure),
                (660, narrow := narrow_copy(figure)),
                (330, narrow),
            ):
                texts = page.evaluate(DRAWN, [drawn.to_json(validate=False), width])
                assert texts == [], (name, k, epsilon, width)
