"""What a page shows, read out of Streamlit's test driver."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from pages.frame import settings as codec
from pages.frame.navigation import PAGES
from pages.parts.count import noisy_steps
from pages.parts.playgrounds import theorems
from pages.parts.why import projection

Start = Callable[..., AppTest]
LETTERS = {
    "α": "error",
    "β": "failure",
    "γ": "margin",
    "Δ": "Gap|eigengap",
    "δ": "chance|slack",
    "ε": "privacy budget",
    "η": "share|outside|failure",
    "θ": "nuisance",
    "λ": "eigenvalue",
    "μ": "outweigh|weighs|direction|Gaussian|budget",
    "ξ": "miss|Missed|share",
    "ρ": "privacy|closeness",
    "σ": "noise|Noise|singular",
    "χ": "Compatibility",
}
"""What the words beside a letter's first appearance on a page say, as patterns."""


RUNNING = ("markdown", "caption", "warning", "error", "info", "title", "header")
"""Kinds of elements that a page's running text and messages are."""


VIEWS: dict[str, list[dict[str, str]]] = {
    **{page: [{}] for page, _, _ in PAGES},
    "curves": [{"view": view} for view in codec.choices("view")],
    "count": [
        {"controls": f"accounting-view:{view};accounting-from:epsilon"}
        for view in noisy_steps.VIEWS
    ],
    "audit": [
        {"controls": f"evidence-view:{view}"}
        for view in ("attack", "rows", "image", "score", "audit", "sabotage")
    ],
    "why": [{"controls": f"geometry-view:{view}"} for view in projection.VIEWS],
    "playgrounds": [{"controls": f"theory-view:{view}"} for view in theorems.VIEWS],
    "runs": [{"runs": f"view:{view}"} for view in ("results", "plan", "jobs")],
}
"""The settings in a link to each view of each page."""


def metric(app: AppTest, label: str) -> str:
    """The value that a page shows under `label`."""
    return next(item.value for item in app.metric if item.label.startswith(label))


def widget(app: AppTest, key: str) -> Any:
    """The widget with this key; of one whose value the app changed, the one that stands there now
    (see `session.draw`)."""
    return next(
        node for node in app._tree if str(getattr(node, "key", "")).partition("~")[0] == key
    )


def labelled(app: AppTest, kind: str, label: str) -> Any:
    """The first element of a kind whose label holds these words."""
    return next(item for item in app.get(kind) if label in item.label)


def table(app: AppTest, column: str) -> Any:
    """The first table with a column of this name."""
    return next(item.value for item in app.dataframe if column in item.value)


def linked(app: AppTest) -> dict[str, str]:
    """Every setting that the link of a page says, those that it leaves out too."""
    return {
        **codec.LEFT_OUT[codec.VERSION],
        **{name: app.query_params[name] for name in app.query_params},
    }


def links(app: AppTest) -> dict[str, dict[str, str]]:
    """The settings in each link of a page, by its label."""
    found = [item.proto for item in app.get("page_link")]
    return {link.label: dict(parse_qsl(link.query_string)) for link in found}


def charts(app: AppTest) -> dict[str, str]:
    """Plotly's JSON of a page's charts, by their keys."""
    return {item.key: item.proto.spec for item in app.get("plotly_chart")}


def markup(part: Any) -> str:
    """All HTML of a page, or of a part of one."""
    return "".join(item.proto.body for item in part.get("html"))


def words(app: AppTest, *kinds: str) -> str:
    """What a page says in running text and messages, or in these kinds of elements alone, as people
    read it: a sign behind a backslash is that sign."""
    shown = [str(item.value) for kind in kinds or RUNNING for item in app.get(kind)]
    if not kinds:
        shown += [item.label for item in app.expander]
    return re.sub(r"\\([!-/:-@\[-`{-~])|\u2060", r"\1", "\n".join(shown))


def offered(app: AppTest) -> str:
    """Every option of every control that offers some, as shown, and the page's words."""
    controls = [*app.selectbox, *app.multiselect, *app.radio, *app.button_group, *app.select_slider]
    return "\n".join(
        [words(app), *(str(option) for control in controls for option in control.options)]
    )


def unexplained(app: AppTest) -> dict[str, str]:
    """Greek letters whose first appearance in a page's own part, sidebar and hints aside, stands in
    no words that say what they are."""
    first: dict[str, str] = {}
    for text in (_shown(node) for node in app.main):
        for letter in re.findall("[α-ωΑ-Ω]", text):
            first.setdefault(letter, text)
    return {
        letter: text
        for letter, text in first.items()
        if not re.search(LETTERS.get(letter, "(?!)"), text)
    }


def coded(app: AppTest) -> list[str]:
    """Small numbers that a page's sentences, hints and figures write as code does: “= 1e-05”."""
    nodes = [
        node.proto
        for node in (*app.main, *app.sidebar)
        if node.proto is not None and node.type not in ("code", "number_input")
    ]
    texts = [value for proto in nodes for _, value in proto.ListFields() if isinstance(value, str)]
    return re.findall(r"(?m)(?:^|(?:=|<|≤|is|of|at|than|below) )\d[\d.]*e-\d+", "\n".join(texts))


def _shown(node: Any) -> str:
    """What an element or block says by itself; of a figure, titles and notes."""
    fields = (
        []
        if node.proto is None
        else [(field.name, value) for field, value in node.proto.ListFields()]
    )
    values = [
        value
        for name, value in fields
        if name in ("label", "body", "text", "caption", "options", "html")
    ]
    figures = [
        json.dumps(json.loads(value)["layout"], ensure_ascii=False)
        for name, value in fields
        if name == "spec"
    ]
    return " ".join(
        [
            *(value if isinstance(value, str) else " ".join(map(str, value)) for value in values),
            *figures,
        ]
    )


def press(app: AppTest, key: str) -> AppTest:
    """The page after a click on a button."""
    return app.button(key=key).click().run()


def fill(app: AppTest, key: str, value: Any) -> AppTest:
    """The page after a control got a value."""
    return widget(app, key).set_value(value).run()


def look(app: AppTest) -> AppTest:
    """Asks for the exact figures of rows that were brought."""
    return labelled(app, "toggle", "Show exact figures of these rows").set_value(True).run()


def send(app: AppTest, key: str, files: Mapping[str, str | bytes]) -> AppTest:
    """The page after a browser sent files there, by their names."""
    contents = [
        (name, content.encode() if isinstance(content, str) else content, "")
        for name, content in files.items()
    ]
    return fill(app, key, contents)


def unfold(app: AppTest, *boxes: str) -> AppTest:
    """The page after somebody opened these boxes, by their keys."""
    for key in boxes:
        app.session_state[key] = True
    return app.run()


def choose(app: AppTest, key: str, place: int) -> AppTest:
    """The page after the option at a place of a radio was chosen."""
    return fill(app, key, app.radio(key=key).options[place])


def understood(app: AppTest) -> Any:
    """The table of what was understood of a brought file, by column, with what was said."""
    editor = next(item for item in app.dataframe if str(item.key).startswith("upload-columns"))
    shown = editor.value.set_index("Column").astype(object)
    for place, cells in _edits(app, editor.key).items():
        for name, value in cells.items():
            shown.loc[shown.index[place], name] = value
    return shown


def say(app: AppTest, column: str, **cells: Any) -> AppTest:
    """The page after cells of a brought file's column were edited; _ stands for a blank."""
    key = next(item.key for item in app.dataframe if str(item.key).startswith("upload-columns"))
    place, rows = list(understood(app).index).index(column), dict(_edits(app, key))
    new = {name.replace("_", " "): value for name, value in cells.items()}
    rows[place] = {**rows.get(place, {}), **new}
    app.session_state[key] = {"edited_rows": rows, "added_rows": [], "deleted_rows": []}
    return app.run()


def _edits(app: AppTest, key: str) -> Any:
    return app.session_state[key]["edited_rows"] if key in app.session_state else {}


def bring_on_data(app: AppTest, content: str | bytes, filename: str) -> str:
    """The name of a file that was uploaded on Rows and is private from now on."""
    send(app, "upload", {filename: content})
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    return linked(app)["data"]
