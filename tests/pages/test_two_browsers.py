"""Two browsers at one machine are one person: what one brought is in the other; a link to rows that are not here shows nobody else's."""

from pathlib import Path

import pillar_core as pc
from page_reading import Start, linked, offered, words
from pages.frame.settings import Settings
from pillar_core.data import uploads
from plugin_package import install, site

TITLE = "ward-seven.csv"
NUMBERS = "a,b,label\n" + "\n".join(f"{index % 2 + 0.01 * index:.2f},{(index % 2) * 2 - 1},{index % 2}" for index in range(60))


def test_what_one_browser_brought_is_in_every_browser_until_it_is_forgotten(start: Start) -> None:
    first = start("data")
    first.file_uploader(key="upload").set_value([(TITLE, NUMBERS.encode(), "text/csv")]).run()
    first.radio(key="upload-public").set_value(first.radio(key="upload-public").options[0]).run()
    name = str(linked(first.button(key="use-upload").click().run())["data"])
    second = start("data")
    assert TITLE in start("explore").sidebar.selectbox[0].options
    pc.sweep({"dataset": name, "method": "pillar", "epsilon": 2.0, "k": 1, "public_fraction": 0.2, "seed": 0})
    runs = start("runs", data=name)
    assert TITLE in str([item.value for item in runs.dataframe])
    second.button(key=f"kept-forget-{uploads.key_of(name)}").click().run()
    assert f"{name} is not on this machine" in words(start("explore", data=name))


def test_a_link_to_rows_that_are_not_here_says_so_and_shows_no_other_sets_results(start: Start) -> None:
    """The page drew Fashion-MNIST's results in the place of the rows that the link named."""
    name = "stored:" + "0" * 32
    for page, link in (("explore", {"data": name}), ("compare", {"public": name}), ("geometry", {"data": name})):
        app = start(page, **link)
        assert f"{name} is not on this machine" in words(app)
        assert not [*app.metric, *app.dataframe, *app.get("plotly_chart")]
        assert len(app.get("bidi_component")) <= 1, "the app's own, which reads the width of the window"
        (kind,) = link
        assert linked(app)[kind] == name, "the link stays what it was, for when the rows are here"
    app.button(key="go-on").click().run()
    assert linked(app)["data"] == Settings().data
    assert "not on this machine" not in words(app)


__all__ = ["site"]


def test_items_of_an_installed_package_are_offered_where_their_kind_is(start: Start, site: Path) -> None:
    install(site)
    app = start("explore", method="tiny_learner")
    assert "A tiny learner" in offered(app)
    assert app.session_state["set.method"] == "tiny_learner"
    offers = {"compare": ["A tiny learner"], "data": ["A tiny set", "A tiny backbone"], "screen": ["A tiny score"]}
    for page, titles in offers.items():
        app.switch_page(f"pages/{page}.py").run()
        missing = [title for title in titles if title not in offered(app)]
        assert not missing, page
