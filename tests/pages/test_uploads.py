"""What is brought on one page is offered on every other, as private and as public rows, under its
own title, until it is forgotten."""

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import pillar_core as pc
from page_reading import (
    Start,
    bring_on_data,
    choose,
    fill,
    labelled,
    linked,
    links,
    look,
    markup,
    press,
    say,
    send,
    understood,
    unfold,
    widget,
    words,
)
from pages.frame.settings import NONE, PART, Settings
from pillar_core import accounting, store
from pillar_core.data import encoding, persons, reader, uploads
from pillar_core.data.parts import COLUMNS_SEEN, NO_EPSILON
from pillar_core.jobs import api
from pillar_core.ledger import of_person
from pillar_core.methods import METHODS
from pillar_core.rng import stream
from pillar_core.runs.receipts import Account, account_of
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.types import BY_COIN, PublicFacts
from unit.image_files import npz, npz_of_squares

SMALL = "m:linear_head;n:100;k:2;e:no;s:gsd;v:angles;c:drawn_noise"
NUMBERS = "a,b,label\n" + "\n".join(
    f"{index % 2 + 0.01 * index:.2f},{(index % 2) * 2 - 1},{index % 2}" for index in range(60)
)


def box(app, label: str):
    return next(item for item in app.selectbox if item.label == label)


def test_screen_follows_the_private_data_that_were_brought_after_it_was_first_seen(start):
    app = start("public_data", screen=SMALL)
    assert box(app, "Private set").value == "digits"
    app.switch_page("pages/rows.py").run()
    name = bring_on_data(app, npz_of_squares(), "x-rays.npz")
    app.switch_page("pages/public_data.py").run()
    assert box(app, "Private set").value == name
    assert "here instead" not in words(app)
    unfold(look(app), "below-screening")
    assert f"--private {name}" in next(
        item.value for item in app.code if "pillar_core" in item.value
    )
    box(app, "Private set").set_value("digits").run()
    assert box(app, "Private set").value == "digits"


def test_images_brought_on_screen_are_candidates_and_offered_in_the_sidebar_and_on_data(start):
    app = start("public_data", screen="p:digits;c:drawn_noise;e:no;s:class_signal")
    send(app, "upload-candidates", {"x-rays.npz": npz_of_squares(n=60)})
    press(app, "use-public")
    assert not app.error
    assert [upload.getvalue() for upload in app.session_state["upload-candidates"]] == [b""], (
        "Streamlit holds no rows that are kept"
    )
    name = linked(app)["public"]
    assert name in next(item.value for item in app.button_group if item.label == "Candidates")
    app.switch_page("pages/rows.py").run()
    assert "x-rays.npz" in box(app, "Private data").options
    assert "x-rays.npz" in box(app, "Public data").options
    press(app, f"kept-private-{name.removeprefix('stored:')}")
    assert (linked(app)["data"], linked(app)["public"]) == (name, NONE)
    assert "x-rays.npz" in [item.value for item in app.header]


def test_every_candidate_that_was_brought_is_weighed(start):
    """Of two, the second was left out: reading had drawn test rows of it, as private rows have
    them."""
    app = start("answer", data="digits")
    files = {f"{count}.npz": npz_of_squares(n=count, has_test=False) for count in (60, 70)}
    send(app, "upload-candidates", files)
    press(app, "use-public")
    cards = {upload.name: (upload.n_train, upload.n_test) for upload in uploads.list_uploads()}
    assert sorted(cards.values()) == [(60, 0), (70, 0)]
    assert set(widget(app, "local-widget.answer-public").value) == set(cards)


def test_a_table_that_was_brought_is_screened_and_numbers_that_ship_are_not(start):
    app = start("rows", screen=SMALL)
    bring_on_data(app, NUMBERS, "cells.csv")
    app.switch_page("pages/public_data.py").run()
    assert box(app, "Private set").value == linked(app)["data"]
    assert "is compared here instead" in " ".join(
        item.value for item in start("public_data", data="breast_cancer").info
    )


def test_several_sets_live_side_by_side_and_one_is_forgotten_everywhere(start):
    app = start("rows", screen=SMALL)
    first = bring_on_data(app, npz_of_squares(), "x-rays.npz")
    second = bring_on_data(app, npz_of_squares(12), "x-rays.npz")
    numbers = bring_on_data(app, NUMBERS, "cells.csv")
    offered = box(app, "Private data").options
    assert {"x-rays.npz", "x-rays.npz (2)", "cells.csv"} <= set(offered)
    # Beside numbers of two features there are no images as public rows.
    assert not {"x-rays.npz", "cells.csv"} & set(box(app, "Public data").options)
    assert linked(app)["public"] == PART  # which `bring_on_data` chose for the last set
    press(app, f"kept-private-{first.removeprefix('stored:')}")
    assert linked(app)["public"] == NONE
    box(app, "Public data").set_value(PART).run()
    box(app, "Private data").set_value(numbers).run()
    assert linked(app)["public"] == NONE, "nobody chose a public part of these rows"
    press(app, f"kept-forget-{first.removeprefix('stored:')}")
    assert "x-rays.npz" not in box(app, "Private data").options
    assert not pc.store.default().has("arrays", first.removeprefix("stored:"))
    app.switch_page("pages/public_data.py").run()
    assert {"x-rays.npz", "x-rays.npz (2)"} & set(box(app, "Private set").options) == {
        "x-rays.npz (2)"
    }
    app.switch_page("pages/rows.py").run()
    press(app, "forget")
    assert linked(app)["data"] == Settings().data
    assert pc.store.default().has("arrays", second.removeprefix("stored:"))
    assert not pc.store.default().has("arrays", numbers.removeprefix("stored:"))


def test_forgetting_takes_what_was_made_of_one_set_out_of_memory_and_no_more(start, monkeypatch):
    made = []

    def watched(read, name_of):
        def reading(*given, **named):
            found = read(*given, **named)
            made.append((name_of(*given), weakref.ref(found)))
            return found

        return reading

    monkeypatch.setattr(uploads, "load_rows", watched(uploads.load_rows, lambda name: name))
    monkeypatch.setattr(
        reader.Reading, "_read", watched(reader.Reading._read, lambda *_: "a table")
    )
    start("why")
    app = start("rows")
    rows = [
        f"p{index // 2},{index % 4},{index % 2 + 0.01 * index:.2f},{(index // 2) % 2}"
        for index in range(240)
    ]
    own = bring_on_data(app, "\n".join(["patient,a,b,label", *rows]), "cells.csv")
    app.switch_page("pages/why.py").run()
    public = linked(app)["public"]
    assert {name for name, _ in made} == {own, public, "digits", "a table"}
    app.switch_page("pages/rows.py").run()
    press(app, "forget")
    gc.collect()
    assert {name for name, kept in made if kept() is not None} - {Settings().data} == {
        public,
        "digits",
    }
    start("why")
    assert [name for name, _ in made].count("digits") == 1


def test_a_forgotten_sets_title_is_on_no_page(start, monkeypatch):
    monkeypatch.setattr(api, "_attend", lambda *_: None)
    app = start("rows")
    name = bring_on_data(app, NUMBERS, "cells.csv")
    look(app.switch_page("pages/curves.py").run())
    pc.jobs.submit(
        {
            "kind": "sweep",
            "grid": {"dataset": name, "method": "dp_fc", "epsilon": [1.0], "public_fraction": 0.1},
        }
    )

    def everything_on_runs():
        app.switch_page("pages/runs.py").run()
        return words(app) + "".join(str(table.value.to_dict()) for table in app.dataframe)

    assert "cells.csv" in everything_on_runs()
    app.switch_page("pages/rows.py").run()
    press(app, "forget")
    assert "cells.csv" not in everything_on_runs()


def rows(n: int, *, seed: int = 0, classes: int = 2) -> bytes:
    """Labelled rows of six numbers as npz."""
    return npz(x_train=stream(seed, "rows").normal(size=(n, 6)), y_train=np.arange(n) % classes)


def test_files_that_look_wrong_raise_questions_and_private_rows_cannot_be_the_public_ones(start):
    app = start("answer")

    def judged(private, public):
        """What Answer says of two files before any of them is kept."""
        send(app, "upload", {"mine.npz": private})
        return words(send(app, "upload-candidates", {"mine.npz": public}))

    swapped, unequal = (
        "Were private and public files swapped?",
        "Are these labels numbers to predict?",
    )
    for private, public, asked in (
        (rows(300), rows(600, seed=1), swapped),
        (rows(300), rows(100, seed=1), ""),
        (rows(600, classes=300), rows(100, seed=1), unequal),
    ):
        said = judged(private, public)
        assert [question for question in (swapped, unequal) if question in said] == [asked] * bool(
            asked
        )
        assert ("The public set's labels are not used: its classes are 0, 1" in said) == (
            asked == unequal
        )
    judged(rows(300), rows(300))
    press(app, "use-upload")
    assert "mine.npz holds the private rows themselves" in words(app)
    assert linked(app)["data"] == "digits"


def test_large_images_pass_the_network_that_comes_along_unless_pixels_are_asked_for(start):
    app = start("answer", epsilon="1")
    send(app, "upload", {"scans.npz": npz_of_squares(side=112, n=60)})
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    assert "Features through EfficientNet-Lite0" in words(app)
    assert not app.error
    fill(app, "extract-backbone", "raw_pixels")
    press(app, "use-backbone")
    assert linked(app)["backbone"] == "raw_pixels"
    assert re.search("(?i)expect|no useful prediction", words(app))


VISITS = [
    f"p{index // 3},{index % 2 + 0.01 * index:.2f},{(index // 3) % 2}" for index in range(180)
]


def bring(start: Start, private: str, public: str = "", **query: Any) -> AppTest:
    """Rows with a private table that is not kept yet, and perhaps a public one beside it."""
    app = start("rows", **query)
    send(app, "upload", {"mine.csv": private})
    if public:
        send(app, "upload-candidates", {"open.csv": public})
    return app


def of_visits(
    start: Start, rows: list[str] = VISITS, header: str = "patient,a,label", **query: Any
) -> AppTest:
    """Data with a table of visits that is not kept yet."""
    return bring(start, "\n".join([header, *rows]), **query)


def test_of_a_person_one_row_is_kept_and_epsilon_is_a_persons(start):
    app = of_visits(start)
    assert understood(app)["Role"].to_dict() == {"patient": "person", "a": "use", "label": "label"}
    assert understood(app)["Looks like"]["patient"] == "words", "a role takes nothing from sight"
    said = words(app)
    assert "180 rows of 60 persons" in said
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    kept, public = (uploads.load(linked(app)[role]) for role in ("data", "public"))
    assert len(kept.x_train) + len(kept.x_test) + len(public.x_train) == 60
    assert kept.d == 1
    assert kept.persons is not None
    assert kept.persons.most == 1
    assert public.apart_from == (kept.fingerprint,)
    assert (
        "120 rows are left out. Used would be 120 with 2 of a person, 180 with 3 of a person"
        in said
    )
    assert "one person took part" in markup(app)
    assert "one person added or removed" in markup(app)


def test_persons_are_told_from_names_as_written_and_asked_for_in_numbers(start):
    """Read as numbers, 1.1 and 1.10 were one person: who leaves then brought in another's rows."""
    names = [f"{site}.{number}" for site in range(1, 4) for number in range(1, 21)]
    rows = [
        f"{name},{visit + 0.01 * index:.2f},{index % 2}"
        for index, name in enumerate(names)
        for visit in range(3)
    ]
    app = of_visits(start, rows)
    assert "180 rows of 60 persons" in words(app)
    rows = [
        f"{index // 3},{index % 2 + 0.01 * index:.2f},{['no', 'yes'][index // 3 % 2]}"
        for index in range(180)
    ]
    app = of_visits(start, rows, "who,a,sick")
    assert "Label: sick, the only column of words." in words(app)
    assert understood(app)["Role"].to_dict() == {"who": "use", "a": "use", "sick": "label"}
    say(app, "who", Role="person")
    assert "180 rows of 60 persons" in words(app)


def test_several_rows_of_a_person_are_kept_and_every_epsilon_is_a_persons(start):
    rows = [
        f"p{index // 3},{index % 2 + 0.01 * index:.2f},{index % 2 * 3},{(index // 3) % 2}"
        for index in range(600)
    ]
    app = of_visits(start, rows, "patient,a,b,label", epsilon=2.0, method="noisy_gd")
    labelled(app, "number_input", "rows of a person").set_value(2).run()
    assert "600 rows of 200 persons: the first 2 of each, 400 rows, are used" in words(app)
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    name = linked(app)["data"]
    card = uploads.card(name)
    assert card is not None
    assert card.rows_per_person == 2
    assert card.n_train + card.n_test + len(uploads.load(linked(app)["public"]).x_train) == 400
    assert "one person with up to 2 rows took part" in markup(app)
    app.switch_page("pages/curves.py").run()
    assert not app.metric, "nobody asked for exact figures yet"
    assert not account_of(uploads.load(name), name).sight
    look(app)
    assert not app.error
    assert "ε of a person with up to 2 rows" in words(app)
    (entry,) = (
        one
        for key in store.default().keys("record")
        if name in str(one := store.default().get_json("record", key))
    )
    record, n_private = entry["guarantee"], entry["facts"]["n_private"]
    assert record["rows_per_person"] == 2
    cost = METHODS["noisy_gd"].cost(
        METHODS["noisy_gd"].settings(**entry["settings"]), PublicFacts(n_private, 1, 2, 2)
    )
    of_row = accounting.epsilon(cost, delta=1e-5, relation="add_or_remove_one").upper
    # what a person with two rows may lose is the budget, and a row alone loses less than that
    assert (
        accounting.epsilon(of_person(cost, 2), delta=1e-5, relation="add_or_remove_one").upper
        == record["epsilon"]["upper"]
        <= 2.0
    )
    assert of_row < 1.0


@pytest.mark.parametrize("is_named", [True, False])
def test_persons_of_a_public_file_are_no_private_persons(start, is_named, monkeypatch):
    alike = persons._canonical_names
    others = [
        f"P{index // 2},{index % 2 + 0.02 * index:.2f},{(index // 2) % 2}" for index in range(20)
    ]
    app = of_visits(start)
    header = "patient,a,label" if is_named else "nobody,a,label"
    send(app, "upload-candidates", {"open.csv": "\n".join([header, *others])})
    said = words(app)
    assert "180 rows of 60 persons" in said
    assert ("10 of them have public rows, too, and none here" in said) == is_named
    assert ("was not compared by persons' names" in said) != is_named
    read = []
    monkeypatch.setattr(
        persons, "_canonical_names", lambda *names: read.append(names) or alike(*names)
    )
    labelled(app, "number_input", "rows of a person").set_value(2).run()
    labelled(app, "number_input", "rows of a person").set_value(1).run()
    press(app, "use-upload")
    assert not read, "names are read once"
    kept, public = (uploads.load(linked(app)[role]) for role in ("data", "public"))
    assert len(kept.x_train) + len(kept.x_test) == (50 if is_named else 60)
    assert public.apart_from == ((kept.fingerprint,) if is_named else ())


@pytest.mark.parametrize("prefix", ["P", "x"])
def test_persons_of_a_public_file_that_comes_later_are_compared_with_the_kept_ones(start, prefix):
    """It was said not to name them, and whoever stood in both was found in one order alone."""
    app = of_visits(start)
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    private = linked(app)["data"]
    rows = [f"{prefix}{row // 2},{row % 2 + 0.02 * row:.2f},{row // 2 % 2}" for row in range(120)]
    send(app, "upload-candidates", {"later.csv": "\n".join(["patient,a,label", *rows])})
    said = words(app)
    assert "was not compared" not in said
    assert ("have public and private rows, by their names" in said) == (prefix == "P")
    assert "--public" not in said, "a page names no option of a command"
    if prefix == "x":
        press(app, "use-public")
        public = uploads.load(linked(app)["public"])
        assert public.apart_from == (uploads.load(private).fingerprint,)


def test_a_public_set_beside_persons_is_said_to_hold_none_of_them(start):
    app = of_visits(start)
    choose(app, "upload-public", 1)
    say(app, "a", May_hold="0, 3")
    fill(app, "upload-other", "breast_cancer")
    assert "Breast cancer was not compared by persons' names" in words(app)


def test_a_table_whose_persons_are_written_in_two_ways_is_asked_for(start):
    rows = [
        f"{'Pp'[index % 2]}{index // 3},{index % 2 + 0.01 * index:.2f},{(index // 3) % 2}"
        for index in range(180)
    ]
    app = of_visits(start, rows)
    assert "'P0', 'p0'" in words(app) + words(app, "error")
    say(app, "patient", Role="leave out")
    say(app, "a", Role="person")
    assert "p0" not in words(app) + words(app, "error")
    assert "180 rows of 180 persons" in words(app)


@pytest.mark.parametrize("is_shared", [False, True])
def test_one_private_row_decides_no_column(start, is_shared):
    """A column of zeros, but for one row: it was left out or not, so that a model's width told
    whether that person was there."""
    widths = []
    for first in (0, 1):
        rows = [
            f"{age % 50},{age * 7 % 90},{first if age == 0 else 0},{'ab'[age % 2]}"
            for age in range(80)
        ]
        others = [f"{age % 50},{age * 7 % 90},{age % 2},{'ab'[age % 2]}" for age in range(40)]
        header = "age,pressure,hiv,label"
        public = "\n".join([header, *others]) if is_shared else ""
        app = bring(start, "\n".join([header, *rows]), public)
        if is_shared:
            widths.append(understood(app)["Role"].to_dict())
        else:
            choose(app, "upload-public", 1)
            for column in ("age", "pressure", "hiv"):
                say(app, column, Role="use", May_hold="0, 100")
            widths.append(NO_EPSILON.format(COLUMNS_SEEN) in words(app))
    used = {"age": "use", "pressure": "use", "hiv": "use", "label": "label"}
    assert widths == ([used, used] if is_shared else [True, True])


def test_what_was_understood_of_a_file_is_said_and_absent_columns_are_called_so(start):
    text = "a;b;ward;label\n" + "".join(
        f"{row};{f'1.{row:03}' if row < 69 else ''};{'xy'[row % 2]};{row // 2 % 2}\n"
        for row in range(10, 70)
    )
    app = bring(start, text)
    choose(app, "upload-public", 0)
    assert understood(app).loc["b"]["Looks like"] == "numbers, 1 empty"
    assert understood(app)["First values"]["a"] == "10, 11, 12"
    assert "semicolons between cells" in words(app)
    assert "stand between thousands" in words(app)
    public = "".join(line.partition(";")[2] + "\n" for line in text.splitlines()[:40])
    app = send(app, "upload-candidates", {"public.csv": public})
    row = understood(app).loc["a"]
    assert (row["Role"], row["Looks like"]) == ("leave out", "missing in the public file")
    assert understood(app).loc["b"]["Looks like"] == "numbers, 1 empty", "not the public file's 0"
    say(app, "a", Role="use")
    assert "column 'a' is missing in the public file: leave it out." in words(app)
    assert app.button(key="use-upload").disabled


def test_a_share_that_is_too_small_is_enlarged_by_a_button_beside_the_readers_notes(start):
    rows = "a,b,label\n" + "".join(
        f"{row % 2 + 0.01 * row:.2f},{row},{row % 2}\n" for row in range(24)
    )
    app = bring(start, rows)
    choose(app, "upload-public", 0)
    assert not app.error
    assert "No rows are named as test rows" in words(app), "the reader's own note"
    assert app.button(key="use-upload").disabled
    press(app, "upload-elsewhere")
    assert app.radio(key="upload-public").value == app.radio(key="upload-public").options[1]
    choose(app, "upload-public", 0)
    press(app, "upload-larger-share")
    press(app, "use-upload")
    assert uploads.load(linked(app)["data"]).n_classes == 2


def test_a_secret_coin_draws_the_test_rows_of_rows_that_are_brought(start):
    app = bring(start, NUMBERS)
    choose(app, "upload-public", 0)
    fill(app, "upload-coin", True)
    press(app, "use-upload")
    assert app.session_state["upload"].getvalue() == b"", "Streamlit holds no rows that are kept"
    drawn = uploads.load(linked(app)["data"])
    assert (drawn.test_drawn, len(drawn.x_train) + len(drawn.x_test)) == (BY_COIN, 60)
    app.switch_page("pages/answer.py").run()
    fill(app, f"local-widget.answer-test-{linked(app)['data']}", True)
    assert not [item for item in app.toggle if item.key == "local-widget.answer-test-coin"], (
        "nobody has to state what the app knows"
    )
    assert "together, the larger of the two, as this library drew the test rows" in words(app)
    app.switch_page("pages/rows.py").run()
    assert "Train on them on Answer" in links(app), "Curves would show exact figures"


def test_a_public_column_in_another_unit_is_said_once_a_range_is_stated(start):
    rows = (f"{100 + 1.5 * index},{(-1) ** index},{index // 2 % 2}" for index in range(40))
    public = "\n".join(["a,b,label", *rows])
    app = bring(start, NUMBERS, public)
    say(app, "a", May_hold="0, 200")
    assert encoding.MISFITS not in words(app)
    say(app, "a", May_hold="0, 2")
    assert f"{encoding.MISFITS}: 40 of 40 of 'a' (0 to 2)" in words(app)
    editor = next(item for item in app.dataframe if "Role" in item.value)
    assert set(editor.value["May hold"]) == {""}, "a browser takes back what it is sent again"
    say(app, "a", May_hold="100")
    assert "must be two numbers, the smaller first" in words(app)
    say(app, "a", May_hold="0, 2")
    press(app, "use-upload")
    recipe = uploads.load(linked(app)["data"]).recipe
    assert [column["name"] for column in recipe["columns"]] == ["b"]
    assert "a" in recipe["left_out"]


def test_arrays_whose_names_do_not_say_it_get_their_roles_in_the_table(start):
    app, places = start("rows"), np.arange(80)
    odd = npz(measured=stream(2, "rows").normal(size=(80, 3)), kind=places % 2, extra=places)
    send(app, "upload", {"odd.npz": odd})
    say(app, "measured", Role="rows")
    assert "Which arrays are the rows" in words(app)
    say(app, "kind", Role="labels")
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    assert uploads.load(linked(app)["data"]).n_classes == 2


def test_a_number_to_predict_is_cut_where_its_cell_says_and_one_column_is_the_label(start):
    rows = [f"{row % 7},{row * 37 % 180 / 10},{'ab'[row % 2]}" for row in range(180)]
    app = bring(start, "\n".join(["x,days,ward", *rows]))
    choose(app, "upload-public", 0)
    say(app, "days", Role="label")
    assert understood(app)["Role"]["ward"] == "use"
    assert "days is a number to predict, of 180 values" in words(app)
    say(app, "days", May_hold="5, 10")
    say(app, "x", Role="label")
    assert "the columns x, days have the role 'label': keep one." in words(app)
    say(app, "x", Role="use")
    press(app, "use-upload")
    assert uploads.load(linked(app)["data"]).classes == ("5 to 10", "above 10", "up to 5")


def test_medians_beside_public_ones_are_a_look_at_private_rows(start):
    public = "\n".join(
        ["a,b,label", *(f"{10 + index},{(-1) ** index},{index // 2 % 2}" for index in range(40))]
    )
    app = bring(start, NUMBERS, public)
    press(app, "use-upload")
    app.switch_page("pages/answer.py").run()
    settings = Settings(data=linked(app)["data"])
    assert not app.dataframe
    assert not Account(settings.data).sight
    fill(app, "local-widget.answer-look", True)
    medians = next(item.value for item in app.dataframe if "private rows" in item.value)
    assert medians.loc["a"].max() == 29.5
    assert medians.loc["a", "private rows"] < 2
    assert Account(settings.data).sight == IN_SIGHT


def test_words_among_numbers_are_named_by_their_row_and_the_column_left_out(start):
    rows = [f"{'<0.5' if row == 17 else row / 10},{row % 7},{'ab'[row % 2]}" for row in range(60)]
    app = bring(start, "\n".join(["crp,x,label", *rows]))
    choose(app, "upload-public", 0)
    assert not app.error
    assert "'<0.5' in row 17" in words(app)
    say(app, "crp", Role="leave out")
    press(app, "use-upload")
    assert uploads.load(linked(app)["data"]).names == ("x",)


def test_another_draw_of_the_private_file_is_weighed_as_public_only_if_somebody_says_so(start):
    """Both hold the same people: the advice read them as public rows."""
    draw = stream(3, "rows")
    test_rows = ((draw.normal(size=(20, 3)), np.arange(20) % 2),) * 2
    sets = [
        pc.features(draw.normal(size=(80, 3)), np.arange(80) % 2, *tested)
        for tested in (*test_rows, ())
    ]
    first, second, other = (
        uploads.keep(rows, title=title)
        for rows, title in zip(sets, ("ward.csv", "ward.csv", "open.csv"), strict=True)
    )
    app = start("answer", data=second, epsilon="1")
    chosen = widget(app, "local-widget.answer-public").value
    assert (other in chosen, first in chosen) == (True, False)
