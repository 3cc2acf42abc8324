"""Images as people keep them: turned, transparent, deep, in folders and lists of many kinds, and
what they must become."""

import io
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pillar_core as pc
from pillar_core.data import read_images
from pillar_core.errors import DataError
from pillar_core.types import Dataset
from unit.image_files import sizes, zipped
from users import is_noted, refuses

CLASSES = ("cat", "dog")


def encoded(image: Image.Image, kind: str = "PNG", **how: Any) -> bytes:
    """The bytes of an image file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def grey(value: int = 100, size: tuple[int, int] = (8, 8)) -> bytes:
    """A plain grey picture."""
    return encoded(Image.new("L", size, value))


def in_classes(
    content: Callable[[], bytes],
    count: int = 5,
    ending: str = "png",
    classes: Iterable[str] = CLASSES,
) -> dict[str, bytes]:
    """Class folders with `count` copies each."""
    return {f"{label}/{number}.{ending}": content() for label in classes for number in range(count)}


def read(files: dict[str, bytes]) -> Dataset:
    """What a zip of the files becomes."""
    return read_images(zipped(files), filename="rows.zip")


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_photographs_stand_as_their_camera_was_held(orientation):
    upright = np.zeros((64, 96, 3), dtype=np.uint8)
    upright[:16] = 255  # the sky
    turns = {1: 0, 3: 2, 6: 1, 8: 3}[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(np.rot90(upright, turns).copy())
    data = read(in_classes(lambda: encoded(stored, "JPEG", quality=95, exif=exif), ending="jpg"))
    assert data.x_train.shape[1:] == upright.shape
    assert data.x_train[0, :8].mean() > 240 > 15 > data.x_train[0, 24:].mean()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_black_lines_on_transparency_stay_lines_on_white(mode):
    drawing = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    drawing.paste((0, 0, 0, 255), (2, 0, 4, 8))
    how = {}
    if mode == "P":
        drawing = Image.fromarray(np.array(drawing)[..., 3] // 255, "P")
        drawing.putpalette([0, 0, 0, 0, 0, 0])
        how = {"transparency": 0}
    image = drawing if mode == "P" else drawing.convert(mode)
    rows = read(in_classes(lambda: encoded(image, **how))).x_train
    assert rows[0, 0, 0].min() == 255
    assert rows[0, :, 2:4].max() == 0


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_twelve_bits_in_sixteen_keep_their_greys(kind):
    ramp = np.linspace(0, 4095, 64 * 64).reshape(64, 64).astype(np.uint16)
    data = read(in_classes(lambda: encoded(Image.fromarray(ramp), kind), ending=kind.lower()))
    assert len(np.unique(data.x_train[0])) == 256
    assert is_noted(data.notes, "4095")


@pytest.mark.parametrize(
    ("train", "test", "others"),
    [
        ("Training", "Test images", ("Validation",)),
        ("train", "test", ("samples",)),
        ("seg_train/seg_train", "seg_test/seg_test", ("seg_pred",)),
        (
            "archive/asl_alphabet_train/asl_alphabet_train",
            "archive/asl_alphabet_test/asl_alphabet_test",
            (),
        ),
        ("data/train", "data/test", ("data/valid",)),
    ],
)
def test_splits_of_usual_unzips_are_no_classes(train, test, others):
    files = {f"{train}/{name}": content for name, content in in_classes(grey, 6).items()}
    files |= {f"{test}/{name}": content for name, content in in_classes(grey, 2).items()}
    files |= {
        f"{other}/{name}": content
        for other in others
        for name, content in in_classes(grey, 3).items()
    }
    data = read(files | {"__MACOSX/x.png": b""})
    assert data.classes == CLASSES
    assert sizes(data) == (12, 4)
    assert all(any(other.split("/")[-1] in note for note in data.notes) for other in others)


ASKED = {
    r"holdout": {
        f"{top}/{name}": grey() for top in ("train", "test", "holdout") for name in in_classes(grey)
    },
    r"It holds train\.csv: unzip": {"train.csv": b"a,label\n1,x\n"},
    r"labels\.csv does not name them": (
        {f"{number}.png": grey() for number in range(10)}
        | {"labels.csv": b"file,label\nx,cat\ny,dog\n"}
    ),
    r"mogrify": in_classes(bytes, ending="heic"),
}


@pytest.mark.parametrize("words", ASKED)
def test_what_is_not_certain_is_asked_for(words):
    refuses(words, read, ASKED[words])


@pytest.mark.parametrize("tops", [("fold1", "fold2", "fold3"), ("Training", "Holdout")])
def test_folders_that_hold_the_same_classes_are_asked_about(tops):
    with pytest.raises(DataError, match="which folders are the classes is not certain"):
        read(
            {f"{top}/{name}": content for top in tops for name, content in in_classes(grey).items()}
        )
    nested = {
        f"{label}/{place}/{number}.png": grey()
        for label, place in (("cat", "left"), ("dog", "right"))
        for number in range(5)
    }
    assert read(nested).classes == ("cat", "dog")


def test_a_class_may_have_any_name_and_one_that_seems_misread_is_asked_about():
    assert read(in_classes(grey, classes=("bus", "train"))).classes == ("bus", "train")
    # Backslashes between folders, and UTF-8 names without the flag that says so.
    content = zipped(
        {f"{label}\\{number}.png": grey() for label in ("Hu", "other") for number in range(5)}
    )
    content = content.replace(b"Hu\\", "ü\\".encode())
    assert set(read_images(content, filename="old.zip").classes) == {"ü", "other"}
    # Old tools write Latin-1 without saying so: H\u00fcndin comes as H\u207fndin.
    garbled = {
        name.replace("dog", "Hündin").encode("latin-1").decode("cp437"): content
        for name, content in in_classes(grey).items()
    }
    assert is_noted(read(garbled).notes, "misread", "Hⁿndin")
    for name in ("Hündin", "Σ", "größe", "собака", "👩\u200d⚕️ nurse", "a\u00a0b"):
        data = read(in_classes(grey, classes=(name, "cat")) | {f"{name}/Icon\r": b""})
        assert set(data.classes) == {name, "cat"}
        assert not is_noted(data.notes, "misread")


def test_unlabelled_test_images_and_stray_ones_are_left_out_and_named():
    files = {f"train/{name}": content for name, content in in_classes(grey, 6).items()}
    data = read(files | {"test/0.png": grey(), "test/1.png": grey(), "preview.png": grey()})
    assert len(data.x_train) + len(data.x_test if data.x_test is not None else ()) == 12
    assert is_noted(data.notes, "preview.png")
    assert is_noted(data.notes, "2 test images")
    assert is_noted(
        read(in_classes(grey) | {"cat/a.HEIC": b"", "dog/b.heic": b""}).notes, "2 of them are HEIC"
    )


@pytest.mark.parametrize("name", ["0.png", "0"])
def test_a_table_names_the_classes_of_a_flat_folder(name, tmp_path):
    ending = name.removeprefix("0")
    lines = [f"{number}{ending},{CLASSES[number % 2]}" for number in range(10)]
    table = "\n".join(["file,label", *lines]).encode()
    flat = {f"pictures/{number}.png": grey(10 * number) for number in range(10)}
    inside = read(flat | {"labels.csv": table})
    for path, content in flat.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / "labels.csv").write_bytes(table)
    for data in (inside, pc.load_images(tmp_path / "pictures")):
        assert data.classes == CLASSES
        assert ((data.x_train[:, 0, 0] // 10) % 2 == data.y_train).all()
    more = "\n".join([table.decode(), "absent,cat"]).encode()
    assert is_noted(read(flat | {"labels.csv": more}).notes, "absent")
