"""Images from npz, folders and zips: layouts, mixtures of sizes, and files that do not decode."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pillar_core.data import load_candidate, load_images, read_images, reports
from pillar_core.data.images import folders
from pillar_core.data.parts import COLOUR_SEEN, NO_EPSILON, SIZE_SEEN
from unit.image_files import written, zipped
from users import is_noted, refuses


def _png(value: int, size: tuple[int, int] = (5, 4), mode: str = "L") -> bytes:
    stream = io.BytesIO()
    Image.new(mode, size, value if mode == "L" else (value, 0, 255 - value)).save(stream, "png")
    return stream.getvalue()


def _classes(prefix: str = "", n: int = 5) -> dict[str, bytes]:
    return {
        f"{prefix}{name}/{i}.png": _png(10 * code + i)
        for code, name in enumerate(("cat", "dog"))
        for i in range(n)
    }


def test_folder_and_zip_agree(tmp_path):
    files = _classes()
    (tmp_path / "pets.zip").write_bytes(zipped(files))
    folder, packed = (
        load_images(written(tmp_path / "pets", files)),
        load_images(tmp_path / "pets.zip"),
    )
    assert folder.fingerprint == packed.fingerprint
    assert folder.classes == ("cat", "dog")
    assert folder.x_train.shape == (8, 4, 5)
    assert folder.x_train.dtype == np.uint8
    assert np.bincount(folder.y_test).tolist() == [1, 1]
    assert is_noted(folder.notes, "stratified fifth")
    np.testing.assert_array_equal(folder.x_train[:, 0, 0] >= 10, folder.y_train == 1)


def test_colour_sizes_and_files_of_every_kind_are_brought_together(tmp_path):
    files = _classes() | {"cat/big.png": _png(200, (50, 40), "RGB"), "readme.txt": b"hello"}
    dataset = read_images(zipped(files), filename="pets.zip")
    assert dataset.x_train.shape[1:] == (4, 5, 3)
    assert is_noted(dataset.notes, "resized to 4 × 5")
    assert dataset.caveats == (SIZE_SEEN, COLOUR_SEEN)
    assert all(NO_EPSILON.format(caveat) in dataset.notes for caveat in dataset.caveats)
    assert is_noted(dataset.notes, "1 files are no images")
    images = np.arange(10 * 6, dtype=np.uint8).reshape(10, 2, 3, 1)
    path = _npz(
        tmp_path, train_images=images, train_labels=(np.arange(10) % 2)[:, None], val_images=images
    )
    dataset = load_images(path)
    assert dataset.x_train.shape == (8, 2, 3)
    assert len(dataset.x_test) == 2
    assert "grey pictures, 3 wide and 2 high" in reports.understood(dataset)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no image files"),
        ({"cat/a.txt": b""}, "no image files"),
        ({"1.png": _png(1), "cat/2.png": _png(2)}, "lie in no class folder"),
        ({"cat/1.png": _png(1), "cat/2.png": _png(2)}, "at least two classes"),
        (_classes("test/"), "no train images"),
        (_classes("train/") | {"test/emu/1.png": _png(1)}, "emu"),
    ],
)
def test_bad_archives_are_refused(files, message):
    refuses(message, read_images, zipped(files), filename="pets.zip")


def _npz(tmp_path: Path, **arrays: object) -> Path:
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]  # numpy's stub wants arrays, lists are fine
    return tmp_path / "a.npz"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x_train": np.zeros((4, 3, 3)), "y_train": [0, 1, 0, 1]}, "uint8"),
        ({"x_train": np.zeros((4, 3, 3, 4), np.uint8), "y_train": [0, 1, 0, 1]}, "shape"),
        ({"x_train": np.zeros((4, 9), np.uint8), "y_train": [0, 1, 0, 1]}, "shape"),
        ({"x_train": np.zeros((4, 3, 3), np.uint8), "y_train": [0, 1, 0]}, "one label for each"),
        (
            {
                "x_train": np.zeros((4, 3, 3), np.uint8),
                "y_train": [0, 1, 0, 1],
                "x_test": np.zeros((1, 2, 2), np.uint8),
            },
            "as large as",
        ),
    ],
)
def test_bad_image_arrays_are_refused(arrays, message, tmp_path):
    refuses(message, load_images, _npz(tmp_path, **arrays))


def test_of_many_broken_files_few_are_opened(monkeypatch):
    opened = []
    whole = folders.Member.open

    def counted(self):
        opened.append(self.path)
        return whole(self)

    monkeypatch.setattr(folders.Member, "open", counted)
    content = zipped(
        {
            f"{animal}/{number:04}.png": b"no image"
            for animal in ("cat", "dog")
            for number in range(2000)
        }
    )
    refuses(
        r"256 of 256 images do not decode, more than 40 \(the other 3,744 were not opened\):"
        " cat/0000.png",
        read_images,
        content,
        filename="pets.zip",
    )
    assert len(opened) == 256


def test_only_the_formats_that_endings_name_are_opened(monkeypatch):
    """Pillow would hand PostScript, whatever its ending, to another program."""
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", None)
    postscript = (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\nshowpage\n%%EOF\n"
    )
    files = {f"c{number % 2}/{number}.png": postscript for number in range(4)}
    refuses("4 of 4 images do not decode", read_images, zipped(files), filename="a.zip")


def test_files_that_cannot_be_looked_at_are_left_out(monkeypatch, tmp_path):
    whole, root = (
        Path.stat,
        written(tmp_path, _classes() | {"cat/locked.png": b"", "dog/notes.txt": b""}),
    )

    def refused(self, **options):
        if self.name == "locked.png":
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, **options)

    monkeypatch.setattr(Path, "stat", refused)
    assert len(load_images(root).x_train) == len(
        load_images(written(tmp_path / "other", _classes())).x_train
    )


@pytest.mark.parametrize(
    "broken",
    [{"persons": np.arange(20) // 2 + 0.5}, {"persons": np.arange(19)}, {"rows_per_person": 0}],
)
def test_images_that_name_persons_are_never_taken_without_them(broken, tmp_path):
    """Whatever else of the file was refused, its images were taken without labels and persons: a
    person's ten rows entered a release."""
    images = np.random.default_rng(0).integers(0, 255, (20, 8, 8), dtype=np.uint8)
    persons = np.array([f"p{row // 2}" for row in range(20)])
    whole = {
        "x_train": images,
        "y_train": np.arange(20) % 2,
        "persons": persons,
        "rows_per_person": 2,
    }
    np.savez(tmp_path / "a.npz", **(whole | broken))
    refuses("person", load_candidate, str(tmp_path / "a.npz"))
    np.savez(tmp_path / "a.npz", **(whole | {"y_train": np.ones(20, dtype=np.int64)}))
    found = load_candidate(str(tmp_path / "a.npz"))
    assert found.y_train is None
    assert (found.persons.of == np.arange(20) // 2).all()
    assert found.persons.most == 2
    np.savez(tmp_path / "b.npz", x_train=images, y_train=np.ones(20, dtype=np.int64))
    assert load_candidate(str(tmp_path / "b.npz")).notes == ("Taken without labels.",)
