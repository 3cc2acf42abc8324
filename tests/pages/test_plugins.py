"""What another installed package adds is offered on the pages."""

from pathlib import Path

from page_reading import Start, offered
from plugin_package import install, site

__all__ = ["site"]


def test_items_of_an_installed_package_are_offered_where_their_kind_is(start: Start, site: Path) -> None:
    install(site)
    app = start("explore", method="tiny_learner")
    assert "A tiny learner" in offered(app)
    assert app.session_state["set.method"] == "tiny_learner"
    offers = {"compare": ["A tiny learner"], "data": ["A tiny set", "A tiny backbone"], "screen": ["A tiny set", "A tiny score"]}
    for page, titles in offers.items():
        app.switch_page(f"pages/{page}.py").run()
        missing = [title for title in titles if title not in offered(app)]
        assert not missing, page
