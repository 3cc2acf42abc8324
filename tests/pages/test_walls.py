"""Two browsers at one server: what one brought is on no page, in no list and behind no link of the other, unless it was shared."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from streamlit.testing.v1 import AppTest

import pillar_core as pc
from page_reading import Start, linked, words
from pages.frame import exports, owner
from pages.frame.settings import Settings
from pillar_core.data import uploads

TITLE = "ward-seven.csv"
NUMBERS = "a,b,label\n" + "\n".join(f"{index % 2 + 0.01 * index:.2f},{(index % 2) * 2 - 1},{index % 2}" for index in range(60))
PAGES = ("data", "explore", "screen", "compare", "runs", "evidence", "geometry", "accounting")


def brought(app: AppTest) -> str:
    """The name of rows that were uploaded on Data and are private from now on."""
    app.file_uploader(key="upload").set_value([(TITLE, NUMBERS.encode(), "text/csv")]).run()
    app.radio(key="upload-public").set_value(app.radio(key="upload-public").options[0]).run()
    app.button(key="use-upload").click().run()
    assert not app.exception
    return str(linked(app)["data"])


def everything(app: AppTest) -> str:
    """Whatever the page holds: words, options, keys, tables."""
    tables = "\n".join(table.value.to_csv() for table in app.dataframe)
    return f"{words(app)}\n{app}\n{tables}"


def test_everything_finds_the_title_where_it_is_shown(start: Start) -> None:
    app = start("data")
    name = brought(app)
    pc.sweep({"dataset": name, "method": "pillar", "epsilon": 2.0, "k": 1, "public_fraction": 0.2, "seed": 0})
    assert TITLE in everything(app)
    for page in ("explore", "runs"):
        assert TITLE in everything(start(page, data=name)), "a second tab and a reload are one person"


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_another_browser_what_one_brought(start: Start, page: str) -> None:
    name = brought(start("data"))
    pc.sweep({"dataset": name, "method": "pillar", "epsilon": 2.0, "k": 1, "public_fraction": 0.2, "seed": 0})
    screen = f"m:linear_head;n:100;k:2;e:no;s:gsd;v:angles;p:{name};c:drawn_noise,{name}"
    filters = f"view:results;dataset:{name}" if page == "runs" else ""
    app = start("home", browser="b", data="digits", public=name, screen=screen, runs=filters, controls=f"plan-data:{name}")
    assert f"{name} is not yours" in words(app)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert TITLE not in everything(app)
    assert (f"{name} is not yours" in everything(app)) == (page == "screen"), "its own part of the link names the set, too"
    assert linked(app)["public"] == "part"
    assert not [button.key for button in app.button if button.key and uploads.key_of(name) in button.key]


def test_a_link_to_rows_of_others_says_the_same_whether_they_exist_or_not(start: Start) -> None:
    name, nobodys = brought(start("data")), f"stored:{'0' * 32}"
    said = []
    for one in (name, nobodys):
        app = start("home", browser="b", data=one)
        assert linked(app)["data"] == Settings().data
        said.append(everything(app).replace(one, "NAME"))
    assert "NAME is not yours" in said[0]
    assert [line for line in said[0].split("\n") if "NAME" in line] == [line for line in said[1].split("\n") if "NAME" in line]


def test_the_settings_file_of_one_opens_the_rows_of_one(start: Start) -> None:
    name = brought(start("data"))
    file = exports.settings_yaml(Settings(data=name, epsilon=2.0))
    assert yaml.safe_load(file)["data"] == name
    for browser, data in (("a", name), ("b", Settings().data)):
        app = start("data", browser=browser)
        app.file_uploader(key="upload-settings").set_value([("settings.yaml", file.encode(), "text/yaml")]).run()
        app.button(key="use-settings").click().run()
        assert (linked(app)["data"], linked(app)["epsilon"]) == (data, "2")
        assert ("is not yours" in words(app)) == (browser == "b")


def test_paths_into_the_cache_and_pinned_settings_do_not_lead_round_the_wall(start: Start) -> None:
    first = start("data")
    name = brought(first)
    first.button(key="pin").click().run()
    app = start("data", browser="b", a=linked(first)["a"])
    assert linked(app)["a"] == ""
    kept = next(pc.store.default().root.rglob(f"{uploads.key_of(name)}.npz"))
    app.text_input(key="upload-path").set_value(str(kept)).run()
    assert "what other people brought" in words(app)
    assert "Ready" not in words(app)


def test_sharing_is_on_purpose_and_can_be_taken_back(start: Start) -> None:
    first = start("data")
    name = brought(first)
    key = uploads.key_of(name)
    first.toggle(key=f"kept-share-{key}").set_value(True).run()
    assert not first.exception
    second = start("data", browser="b", data=name)
    assert linked(second)["data"] == name
    assert TITLE in everything(second)
    assert second.button(key="forget").disabled
    assert second.toggle(key=f"kept-share-{key}").disabled
    assert TITLE not in everything(start("data", browser="b"))
    first.toggle(key=f"kept-share-{key}").set_value(False).run()
    second.run()
    assert linked(second)["data"] == Settings().data
    assert TITLE not in everything(second)
    assert "is not yours" in words(second)


def test_who_forgot_a_set_is_told_when_a_link_names_it(start: Start) -> None:
    app = start("data")
    name = brought(app)
    app.button(key="forget").click().run()
    assert "was forgotten on" in words(start("home", public=name))


@pytest.mark.parametrize("is_local", [True, False])
def test_only_a_browser_at_this_machine_reads_where_a_set_would_lie(start: Start, is_local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "is_at_server", lambda: is_local)
    app = start("data")
    app.selectbox(key="local-widget.paper-set").set_value("kagskin").run()
    assert (str(pc.store.default().root) in everything(app)) is is_local


@pytest.mark.parametrize(
    ("headers", "is_local"),
    [
        ({}, True),
        ({"Host": "127.0.0.1:8501"}, True),
        ({"Host": "localhost:8501"}, True),
        ({"Host": "[::1]:8501"}, True),
        ({"Host": "rows.example.org"}, False),
        ({"Host": "localhost.example.org:8501"}, False),
        ({"Host": "localhost:8501", "X-Forwarded-Proto": "https"}, False),
        ({"Host": "localhost:8501", "CF-Connecting-IP": "192.0.2.1"}, False),
    ],
)
def test_only_who_asks_for_this_machine_by_its_own_name_is_at_it(
    headers: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(headers=headers)
    monkeypatch.setattr(owner, "st", SimpleNamespace(get_option=lambda _: "127.0.0.1", context=context))
    assert owner.is_at_server() is is_local
