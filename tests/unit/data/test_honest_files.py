"""Files as people write them load, however small they are packed, and mean what they meant."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import pillar_core as pc
from pillar_core.arrays import Array
from pillar_core.data import load, read_images
from pillar_core.errors import DataError
from pillar_core.rng import stream
from users import output_of

Y = np.arange(500) % 5


def compressed(**arrays: Array) -> bytes:
    np.savez_compressed(out := io.BytesIO(), **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def bag_of_words() -> Array:
    rows = np.zeros((5000, 2000))
    words = stream(0, "words").integers(0, 2000, (5000, 12))
    np.put_along_axis(rows, words, 1.0, axis=1)
    return rows


@pytest.mark.parametrize(
    "made",
    [bag_of_words, lambda: np.tile(np.eye(1000, dtype=np.int64), (5, 1))],
    ids=["words", "one-hot rows"],
)
def test_rows_that_compress_well_are_read(made):
    rows = made()
    labels = np.arange(len(rows)) % 3
    test = {"x_test": rows[:9], "y_test": labels[:9]}
    features = load(compressed(x_train=rows, y_train=labels, **test), filename="rows.npz")
    assert (features.x_train == rows).all()
    assert (features.y_train == labels).all()


def test_masks_and_drawings_are_read():
    masks = np.zeros((1000, 128, 128), np.uint8)
    masks[:, 20:40, 30:50] = 255
    images = read_images(
        compressed(x_train=masks, y_train=np.arange(1000) % 2), filename="masks.npz"
    )
    assert (images.x_train == masks[: len(images.x_train)]).all()
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            page = np.full((1000, 1400), 255, np.uint8)
            page[100 * (number % 2) :, 200] = 0
            Image.fromarray(page).save(drawn := io.BytesIO(), "PNG")
            archive.writestr(f"{'ab'[number % 2]}/👩‍⚕️ {number}.png", drawn.getvalue())
    assert read_images(out.getvalue(), filename="scans.zip").x_train.shape == (16, 1000, 1400)


def test_a_table_of_thousands_of_genes_and_one_of_many_species_are_read():
    genes = pd.DataFrame(stream(0, "genes").random((12, 2_500)).round(2).astype(np.float32))
    genes.columns = [f"gene_{number}" for number in range(2_500)]
    table = genes.assign(cls=["BRCA", "LUAD"] * 6).to_csv(index=False).encode()
    features = load(table, filename="genes.csv")
    assert features.x_train.shape == (10, 2_500)
    assert "only column of words" not in " ".join(features.notes)
    species = pd.DataFrame(
        {
            "petal": np.arange(500) / 7,
            "class": [f"species {number % 60:02d}" for number in range(500)],
        }
    )
    features = load(species.to_csv(index=False).encode(), filename="species.csv")
    assert (len(features.classes), len(features.x_train)) == (60, 380)


def test_the_only_column_of_few_words_is_the_label_and_that_is_said(tmp_path):
    flowers = pd.DataFrame(
        {
            "Species": np.repeat(["rose", "iris"], 30),
            "petal": np.arange(60) / 7,
            "hairy": [True, False, False] * 20,
        }
    )
    note = "Label: Species, the only column of words. You can name another."
    for table in (flowers, flowers.assign(patient=np.arange(60) // 2)):
        table.to_csv(path := tmp_path / "flowers.csv", index=False)
        roles = {"person": "patient"} if "patient" in table else {}
        features = pc.load_features(path, **roles)
        assert features.classes == ("iris", "rose")
        assert note in features.notes
    options = "--person patient --public-fraction 0.3 --epsilon 1"
    assert note in output_of(f"run --method dp_ls --dataset {path} {options}").err
    assert pc.load_features(path, label="hairy", leave_out=["Species"]).classes == ("0", "1")


@pytest.mark.parametrize(
    "columns",
    [
        {"site": ["here"] * 60},
        {"when": ["2024-05-01", "2024-05-02"] * 30},
        {"patient_id": ["ann", "bob"] * 30},
        {"customer": ["ann", "bob"] * 30},
        {"kind": [f"{number % 25}th" for number in range(60)]},
        {"kind": [0, 1] * 30},
        {"kind": ["a", "b"] * 30, "site": ["here", "there", "elsewhere"] * 20},
        {"sex": ["f", "m"] * 30, "bought": [0, 0, 1] * 20},
    ],
)
def test_columns_that_may_be_no_labels_are_asked_about(columns):
    with pytest.raises(DataError, match="or is the only one of words"):
        pc.load_features(pd.DataFrame({"petal": np.arange(60) / 7, **columns}))


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_words_that_are_written_as_differences_are_read(encoding):
    table = pa.table({"a": Y / 2, "label": np.where(Y > 2, "yes", "no")})
    pq.write_table(
        table, out := io.BytesIO(), use_dictionary=False, column_encoding={"label": encoding}
    )
    assert load(out.getvalue(), filename="a.parquet").classes == ("no", "yes")


@pytest.mark.parametrize(
    ("kind", "largest"), [("tif", 1.0), ("tif", 255.0), ("pgm", 255), ("pgm", 4095)]
)
def test_grey_of_other_depths_is_read_in_its_own_range(kind, largest):
    """Float32 TIFF from a microscope, and PGM as text: the whole range of the set becomes 0 …
    255."""
    ramp = np.linspace(0, largest, 30 * 30).reshape(30, 30)
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        for number in range(20):
            page = ramp if number % 2 else ramp / 2
            if kind == "tif":
                Image.fromarray(page.astype(np.float32)).save(file := io.BytesIO(), "TIFF")
            else:
                text = "\n".join(" ".join(str(int(value)) for value in row) for row in page)
                file = io.BytesIO(f"P2\n30 30\n{largest}\n{text}\n".encode())
            archive.writestr(f"{'ab'[number % 2]}/{number}.{kind}", file.getvalue())
    images = read_images(out.getvalue(), filename="cells.zip")
    for number, brightest in ((0, 128), (1, 255)):
        of_class = images.x_train[images.y_train == number].astype(float)
        assert abs(of_class.max() - brightest) <= 1
        np.testing.assert_allclose(
            of_class[0], np.linspace(0, brightest, 900).reshape(30, 30), atol=2
        )


def test_a_learner_takes_more_than_five_thousand_features():
    rows = stream(0, "wide").normal(size=(60, 5001)).astype(np.float32)
    features = pc.features(rows, np.arange(60) % 2, rows[:10], np.arange(10) % 2)
    assert pc.run(
        "pillar_one_shot", pc.split(features, public_fraction=0.2, seed=0), epsilon=8.0
    ).metrics
