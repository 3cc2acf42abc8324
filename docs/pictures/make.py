"""The README's pictures, made from the running app: `python docs/pictures/make.py
http://127.0.0.1:8501`.

Needs Playwright and a Chromium (`PILLAR_CHROMIUM`, default /usr/bin/chromium). Every frame is a
screenshot of the app after it settled.
"""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
SIZE = {"width": 1200, "height": 960}
WIDTH, COLOURS = 840, 160
BUSY = (
    '[data-testid="stStatusWidget"], [data-testid="stSpinner"], [data-testid="stSkeleton"],'
    ' [data-stale="true"], .pillar-figure:empty'
)


def settled(tab: Any) -> None:
    tab.wait_for_timeout(700)
    tab.wait_for_function("selector => document.querySelectorAll(selector).length === 0", arg=BUSY)
    tab.wait_for_timeout(600)


def opened(tab: Any, address: str) -> None:
    tab.goto(address)
    tab.wait_for_selector('[data-testid="stMain"] h1')
    settled(tab)


def pressed(tab: Any, slider: str, key: str, times: int) -> Iterator[int]:
    """Presses a key on a slider so often, and yields how long each state is to be seen, in
    milliseconds."""
    for _ in range(times):
        tab.get_by_role("slider", name=slider).press(key)
        settled(tab)
        yield 700


def scenes(tab: Any, address: str) -> Iterator[int]:
    """Goes through the app and yields for each state how long it is to be seen, in milliseconds:
    twenty seconds in all."""
    opened(tab, address)
    yield 1300
    yield from pressed(tab, "k by the left and right arrow", "ArrowLeft", 2)
    yield from pressed(tab, "k by the left and right arrow", "ArrowUp", 1)
    opened(tab, f"{address}/curves?v=2&k=3")
    yield 1300
    yield from pressed(tab, "k, directions kept", "ArrowRight", 6)
    yield from pressed(tab, "ε, privacy budget", "ArrowLeft", 2)
    yield from pressed(tab, "ε, privacy budget", "ArrowRight", 2)
    opened(tab, f"{address}/curves?v=2&k=15&view=odds")
    yield 2000
    opened(tab, f"{address}/lessons?v=2&lesson=3")
    tab.wait_for_selector("text=about the same")
    yield 1800
    tab.get_by_text("better: as private as before", exact=False).click()
    settled(tab)
    tab.get_by_role("button", name="Reveal").click()
    tab.wait_for_selector("text=Right:")
    settled(tab)
    yield 1300
    yield from pressed(tab, "k, directions kept", "ArrowLeft", 4)


def main(address: str) -> None:
    frames, times = [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=os.environ.get("PILLAR_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.set_default_timeout(180_000)
        for seen in scenes(tab, address):
            frames.append(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"))
            times.append(seen)
        opened(tab, f"{address}/curves?v=2&k=15")
        tab.wait_for_selector(".pillar-figure .main-svg")
        settled(tab)
        tab.screenshot(path=str(FOLDER / "explore.png"))
        browser.close()
    height = round(SIZE["height"] * WIDTH / SIZE["width"])
    small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    together = Image.new("RGB", (WIDTH, height * len(small)))
    for place, frame in enumerate(small):
        together.paste(frame, (0, height * place))
    colours = together.quantize(
        COLOURS, method=Image.Quantize.MAXCOVERAGE
    )  # of all frames: one palette keeps what stays as it is
    drawn = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in small]
    drawn[0].save(
        FOLDER / "tour.gif",
        save_all=True,
        append_images=drawn[1:],
        duration=times,
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
