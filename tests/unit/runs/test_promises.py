"""What is known of a set that you brought reaches every text of a model's zip, through the store,
and none of them says otherwise."""

import dataclasses
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import pillar_core as pc
from pages.frame import odds
from pillar_core.data import checked_features, encoding, persons, read_images, uploads
from pillar_core.data.parts import COLOUR_SEEN, COLUMNS_SEEN, SIZE_SEEN
from pillar_core.runs.assumptions import FORM_PUBLIC, PERSON_APART, PERSON_STATED
from pillar_core.runs.models import model_bytes
from unit.image_files import sizes
from users import texts_in

TEXTS = ("statement.txt", "README.md", "model.json")


pytestmark = pytest.mark.usefixtures("own_cache")


def _texts(private, public):
    """The texts of a release's zip, its sets out of the store."""
    one, other = (uploads.load(uploads.keep(data)) for data in (private, public))
    record = pc.run(
        "noisy_gd", pc.split(one, public=other, allow_overlap=True), epsilon=1.0, seed=None
    )
    texts = texts_in(model_bytes(record, classes=one.classes))
    return {name: texts[name] for name in TEXTS}


def _visits(prefix, n):
    rows = np.arange(n)
    frame = pd.DataFrame(
        {
            "patient": [f"{prefix}{row // 3}" for row in rows],
            "age": rows % 50,
            "dose": rows * 7 % 90,
        }
    )
    return frame.assign(label=np.where(rows // 3 % 2, "yes", "no"))


def _brought(most, *, names):
    """A private table and a public one, in which one person of it is named, as the app reads
    them."""
    frame, known = _visits("p", 300), pd.concat([_visits("x", 90), _visits("P", 3)])
    known = known if names else known.drop(columns="patient")
    theirs, is_whole = persons.named_in(known, "patient")
    frame = persons.first_rows(
        frame, "patient", persons.names_of_persons(frame["patient"]), most=most, theirs=theirs
    )
    columns = encoding.columns_of(frame.drop(columns="patient"), "label", public=known)
    recipe = encoding.learn_recipe(known, columns, label="label", left_out=[])
    recipe = dataclasses.replace(recipe, person="patient", rows_per_person=most)
    private = checked_features(encoding.private_parts(frame, recipe), name="visits")
    public = checked_features(encoding.public_parts(known, recipe), name="open")
    return private, (
        dataclasses.replace(public, apart_from=(private.fingerprint,)) if is_whole else public
    )


@pytest.mark.parametrize(("most", "unit"), [(1, "person"), (3, "person with up to 3 rows")])
def test_page_statement_and_card_name_one_unit(most, unit):
    """At one row a person the page said that ε protects a person; statement, card and README said
    one example (a row)."""
    private, public = _brought(most, names=True)
    texts, card = _texts(private, public), json.loads(_texts(private, public)["model.json"])
    assert odds.unit(uploads.keep(private)) == unit == card["guarantee"]["privacy_unit"]
    assert "Unit of protection: one person" in texts["statement.txt"]
    assert "all examples of one person added to" in texts["statement.txt"]
    assert card["deployment"]["privacy_unit"].startswith("one person")
    assert not any(
        "one example (a row)" in text or "Who has k examples" in text for text in texts.values()
    )


def test_a_person_with_one_row_may_be_replaced_and_private_decisions_are_said_in_every_text():
    record = pc.run(
        "noisy_gd", pc.split(_brought(1, names=False)[0]), epsilon=1.0, relation="replace_one"
    )
    assert record.guarantee.rows_per_person == 1
    assert (
        "all examples of one person among the training rows replaced by any other"
        in pc.statement(record).text
    )
    # One colour image among grey ones: the app noted that no ε covers it, and the statement said
    # that nobody had looked.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(60):
            picture = io.BytesIO()
            shape = (5, 4) if number else (6, 6, 3)
            Image.fromarray(np.random.default_rng(number).integers(0, 256, shape, np.uint8)).save(
                picture, "png"
            )
            archive.writestr(f"{'ab'[number % 2]}/{number}.png", picture.getvalue())
    images = read_images(stream.getvalue(), filename="x.zip")
    table = dataclasses.replace(_brought(3, names=False)[0], caveats=(COLUMNS_SEEN,))
    for data, caveats in ((images, (SIZE_SEEN, COLOUR_SEEN)), (table, (COLUMNS_SEEN,))):
        public = dataclasses.replace(
            data, x_train=data.x_train[10:40], y_train=data.y_train[10:40], persons=None
        )
        for text in _texts(data, public).values():
            assert all(caveat in text for caveat in caveats)
            assert FORM_PUBLIC not in text
    plain = dataclasses.replace(table, caveats=())
    assert all(FORM_PUBLIC in text for text in _texts(plain, plain).values())
    assert plain.fingerprint == table.fingerprint
    assert uploads.keep(plain) != uploads.keep(table), "the first that is kept would speak for both"


@pytest.mark.parametrize("names", [True, False])
def test_that_nobody_is_on_both_sides_is_stated_by_you_or_was_compared(names):
    private, public = _brought(1, names=names)
    assert sum(sizes(private)) == (99 if names else 100)
    said, other = (PERSON_APART, PERSON_STATED) if names else (PERSON_STATED, PERSON_APART)
    assert all(said in text and other not in text for text in _texts(private, public).values())
    elsewhere = dataclasses.replace(
        private, x_train=private.x_train + 1
    )  # with these rows nothing was compared
    assert all(PERSON_STATED in text for text in _texts(elsewhere, public).values())
