"""Labels of new rows with numpy and Python (3.10 or newer) alone: `python use.py ROWS [--threshold
T] [--positive NAME]` prints a csv.

ROWS: a csv, whose columns are found by their names; or an npz, npy or csv of numbers in the order
of the model's features. Of images: an npz or npy of uint8 images, or a folder of image files, which
Pillow reads. Of texts alone: a txt with one a line, too. A backbone or network runs in model.onnx,
by onnxruntime. The files beside this one are compared with SHA256SUMS first.
"""

import argparse
import collections
import csv
import functools
import hashlib
import itertools
import json
import operator
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

import numpy as np

from pillar_core.backbones.column_map import ColumnMap
from pillar_core.data.cells import COMMA, GAPS, GAPS_OF_WORDS, NUMBER, POINT, readings, with_commas
from pillar_core.data.parts import IMAGE_ENDINGS
from pillar_core.data.tables import LABEL_NAMES
from pillar_core.errors import DataError
from pillar_core.splits.transform import Transform
from pillar_core.texts.bert import Bert
from pillar_core.texts.token_vectors import TokenVectors

Numbers = np.ndarray[Any, Any]
Card = Mapping[str, Any]
HERE = Path(__file__).parent
AT_ONCE, IMAGES_AT_ONCE, SENTENCES_AT_ONCE = 8192, 64, 32
ROWS = ("x", "X", "x_test", "x_train")
FEATURES = """import numpy, pillar_core as pc
x = pc.load_model("model.zip").features({rows!r})
numpy.savez("features.npz", x=x)"""
UNKNOWN = "Words that are none of the categories count as none"
FILLED = "Cells without a number took the model's value for gaps"
OUTSIDE = "Numbers outside the model's range count as its nearest end"
DECIMAL = "A decimal comma is read (1.041,50 as 1041.5)"
THOUSANDS = "Commas between thousands were taken off (1,041 as 1041)"
PARTS = ("mean", "scale", "projection")
LARGEST_FLOAT = float(np.finfo(np.float32).max)
NUMBERS = re.compile(rf"(?:(?:{NUMBER.pattern})\n)*")
BOOLEANS = {
    **dict.fromkeys(["True", "TRUE", "true"], "1"),
    **dict.fromkeys(["False", "FALSE", "false"], "0"),
}
FORMULA = re.compile(r"(^|[;\t\r\n])(?![+-]?[\d.]+(?:e[+-]?\d+)?(?:;|$))(?=[=+\-@\t\r＝＋－＠])")
"""Before what spreadsheets take for the start of a formula, numbers apart: some of them begin a
cell after these signs, too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(description="Labels and probabilities of new rows, as a csv.")
    parser.add_argument("rows", type=Path, help="csv, npz or npy")
    parser.add_argument(
        "--threshold",
        type=float,
        help="of two classes: the second (or --positive) from this probability on",
    )
    parser.add_argument("--positive", help="the class that the threshold is about")
    options = parser.parse_args(arguments)
    csv.field_size_limit(2**31 - 1)  # a cell may hold a long text
    try:
        for line in (HERE / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if hashlib.sha256((HERE / name).read_bytes()).hexdigest() != digest:
                raise DataError(f"{name} is not the file that was written: unpack the zip again.")
        card = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
        if "network" in card or ("backbone" in card["input"] and _holds_images(options.rows)):
            blocks = _through_onnx(options.rows, card["input"]["shape"])
        else:
            blocks = _through_numpy(options.rows, card)
        write(
            sys.stdout,
            blocks,
            card["classes"],
            threshold=options.threshold,
            positive=options.positive,
        )
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _through_numpy(path: Path, card: Card) -> Iterator[Numbers]:
    """(m, C) probabilities of rows that the arrays beside this file take as they are."""
    with np.load(HERE / "model.npz", allow_pickle=False) as file:
        arrays = dict(file)
    mean, scale, projection = (arrays.get(name) for name in PARTS)
    weights, facts = arrays["weights"], card["transform"]
    width = len(weights if projection is None else projection)
    given = card["input"].get("map", {"columns": width})["columns"]
    columns = ColumnMap.of_arrays(arrays, given)
    transform = Transform(mean, scale, projection, facts["normalise"], columns)
    for x in read(path, card["input"], given):
        yield probabilities(scores(transform, weights, arrays["bias"], x))


def _through_onnx(path: Path, shape: Sequence[int]) -> Iterator[Numbers]:
    """(m, C) probabilities of images, by the file model.onnx."""
    if not (file := HERE / "model.onnx").is_file():
        raise DataError(
            "images need model.onnx beside this file, which is not there. README.md says how to"
            " get it."
        )
    try:
        import onnxruntime
    except ImportError as error:
        raise DataError("images need onnxruntime here: pip install onnxruntime pillow.") from error
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    for images in _of_images(path, shape) if path.is_dir() else _of_arrays(path):
        if images.dtype != np.uint8 or list(images.shape[1:]) != list(shape):
            raise DataError(
                f"images must be uint8 of shape {('n', *shape)}, or files in a folder; got"
                f" {images.dtype} {images.shape}."
            )
        for start in range(0, len(images), IMAGES_AT_ONCE):
            yield session.run(None, {"images": images[start : start + IMAGES_AT_ONCE]})[0].astype(
                np.float64
            )


def _holds_images(path: Path) -> bool:
    return path.is_dir() or (
        path.suffix.lower() in (".npz", ".npy") and next(_of_arrays(path)).ndim > 2
    )


def _of_images(folder: Path, shape: Sequence[int]) -> Iterator[Numbers]:
    """(m, h, w[, 3]) uint8 images of a folder in the order of their paths."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise DataError("files of images need Pillow here: pip install pillow.") from error
    files = [
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in IMAGE_ENDINGS and file.is_file()
    ]
    files.sort(key=lambda file: PurePosixPath(file.relative_to(folder).as_posix()))
    if not files:
        raise DataError(f"{folder} holds no images.")
    size = (shape[1], shape[0])

    def pixels(file: Path) -> Numbers:
        with Image.open(file) as image:
            if image.mode.startswith(("I", "F")):
                raise DataError(
                    f"{file} has more than 8 bits a pixel: the library says which of its values are"
                    " black and white."
                )
            image.draft(None, size[::-1] if image.getexif().get(0x0112) in (5, 6, 7, 8) else size)
            upright = ImageOps.exif_transpose(image)
            if upright.has_transparency_data:
                upright = Image.alpha_composite(
                    Image.new("RGBA", upright.size, "white"), upright.convert("RGBA")
                )
            return np.asarray(upright.convert("RGB" if len(shape) == 3 else "L").resize(size))

    for start in range(0, len(files), IMAGES_AT_ONCE):
        yield np.stack([pixels(file) for file in files[start : start + IMAGES_AT_ONCE]])


def scores(transform: Transform, weights: Numbers, bias: Numbers, x: Numbers) -> Numbers:
    """(n, C) float64 scores of rows x (n, d)."""
    return transform(x).astype(np.float64) @ weights.astype(np.float64) + bias


def probabilities(scores: Numbers) -> Numbers:
    """(n, C) float64: the softmax of each row of scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def positive_place(
    classes: Sequence[str], *, threshold: float | None = None, positive: str | None = None
) -> int | None:
    """Which class a threshold is about; None without one, where the likeliest class is taken."""
    if threshold is None and positive is None:
        return None
    if len(classes) != 2:
        raise DataError(
            f"a threshold needs a model of two classes; this one has {len(classes)}. Leave it out."
        )
    if positive is not None and positive not in classes:
        raise DataError(f"positive must be one of {', '.join(classes)}; got {positive!r}.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise DataError(f"threshold must be a probability from 0 to 1; got {threshold}.")
    return 1 if positive is None else list(classes).index(positive)


def write(
    out: TextIO,
    blocks: Iterable[Numbers],
    classes: Sequence[str],
    *,
    threshold: float | None,
    positive: str | None,
) -> None:
    """Writes row, label and the probability of each class: the likeliest, or of two the positive
    one from the threshold on."""
    place = positive_place(classes, threshold=threshold, positive=positive)
    least = 0.5 if threshold is None else threshold
    writer = csv.writer(out, lineterminator="\n")
    names, row = [without_formula(name) for name in classes], itertools.count()
    for number, p in enumerate(
        blocks
    ):  # the header after the first block: what is refused at once writes nothing
        if not number:
            writer.writerow(["row", "label", *(without_formula(f"p_{name}") for name in classes)])
        labels = (
            p.argmax(axis=1) if place is None else np.where(p[:, place] >= least, place, 1 - place)
        )
        writer.writerows(
            [next(row), names[label], *map("{:.9g}".format, values)]
            for label, values in zip(labels, p.tolist(), strict=True)
        )


def without_formula(text: str) -> str:
    """A text that no spreadsheet runs as a formula."""
    return FORMULA.sub(r"\1'", text).replace(
        "\r", "\n"
    )  # a lone carriage return is written without quotes: it would begin a row


def pixels(rows: Numbers, shape: Sequence[int]) -> tuple[Numbers, str]:
    """((n, d) float32 pixels in [0, 1], a note where that is not certain) of images or flat rows,
    of 0 to 255 or of 0 to 1."""
    if rows.ndim > 2 and tuple(rows.shape[1:]) in (tuple(shape), (*shape, 1)):
        rows = rows.reshape(len(rows), -1)
    is_whole = rows.dtype == np.uint8
    if rows.size and rows.dtype.kind in "iuf" and not is_whole:
        low, high = rows.min(), rows.max()
        is_whole = bool(high > 1 and (rows == np.rint(rows)).all())
        if low < 0 or high > (255 if is_whole else 1):
            raise DataError(
                f"the model takes pixels of 0 to 1, or whole ones of 0 to 255; got {low:g} to"
                f" {high:g}. Scale them."
            )
    if not is_whole:
        return rows, ""
    note = (
        ""
        if rows.dtype == np.uint8
        else "Pixels of 0 to 255 were divided by 255, as the model takes them from 0 to 1."
    )
    return rows.astype(np.float32) / np.float32(255), note


def read(path: Path, form: Card, width: int) -> Iterator[Numbers]:
    """(m, d) float32 rows of a file, some thousand at a time."""
    lines = FEATURES.format(rows=path.name)
    if path.is_dir() and form["kind"] == "pixels":
        blocks = _of_images(path, form["shape"])
    elif path.suffix.lower() in (".npz", ".npy"):
        blocks = _of_arrays(path)
    elif texts := [
        column["name"]
        for column in form.get("recipe", {"columns": ()})["columns"]
        if column["kind"] == "text" and not _vectors_of(column).is_file()
    ]:
        raise DataError(
            f"the model reads texts (column {texts[0]!r}). Make features of them with the"
            f" library:\n{lines}"
        )
    elif path.suffix.lower() in (".csv", ".tsv", ".txt"):
        blocks = _of_table(path, form)
    else:
        raise DataError(
            f"{path.name} is no csv, npz or npy. Make features of images, or of other tables, with"
            f" the library:\n{lines}"
        )
    if form["kind"] == "pixels":  # all at once: a dark block alone would not show that white is 255
        x, note = pixels(np.concatenate(list(blocks)), form["shape"])
        sys.stderr.write(f"note: {note}\n" if note else "")
        blocks = (x[start : start + AT_ONCE] for start in range(0, len(x), AT_ONCE))
    for x in blocks:
        if (
            x.ndim != 2
            or x.shape[1] != width
            or x.dtype.kind not in "biuf"
            or not np.isfinite(x).all()
        ):
            raise DataError(
                f"rows must be finite numbers of shape (n, {width}); got {x.dtype} {x.shape}, or"
                " NaN among them."
            )
        yield x.astype(np.float32)


def _of_arrays(path: Path) -> Iterator[Numbers]:
    file: Any = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npz":
        names = [name for name in ROWS if name in file]
        if not names:
            raise DataError(f"the npz needs one of {', '.join(ROWS)}; it holds {', '.join(file)}.")
        file = file[names[0]]
    if not len(file):
        raise DataError("the file holds no rows.")
    yield from (file[start : start + AT_ONCE] for start in range(0, len(file), AT_ONCE))


def _vectors_of(column: Card) -> Path:
    """The file of what encodes a column of texts."""
    return HERE / f"{column.get('encoder', {}).get('name')}.safetensors"


def _opened(vectors: Path) -> TokenVectors | Bert:
    tokenizer = vectors.with_suffix(".tokenizer.json")
    if json.loads(tokenizer.read_text(encoding="utf-8"))["model"].get("merges"):
        return TokenVectors(vectors, tokenizer)
    return Bert(vectors.read_bytes(), tokenizer.read_bytes())


def _of_table(path: Path, form: Card) -> Iterator[Numbers]:
    with path.open(encoding=_encoding_of(path), errors="replace", newline="") as file:
        line = file.readline()
        separator = next(
            (sign for sign in "\t;|" if len(next(csv.reader([line], delimiter=sign))) > 1), ","
        )
        mark = '"' if separator == "," else ","  # without it no number of the file has a comma
        has_mark = mark in line or any(mark in more for more in file)
        commas = _commas_of(_rows_of(file, separator), separator) if has_mark else set[int]()
        rows = _rows_of(file, separator)
        header = [name.strip() for name in next(rows, [])]
        unnamed = [f"x{place}" for place in range(len(header))]
        columns = form.get("recipe", {}).get("columns", ())
        named = {column["name"] for column in columns}
        is_first_row = all(map(NUMBER.fullmatch, header)) and header != [n[1:] for n in unnamed]
        if named <= {*unnamed} - {*header} if columns else is_first_row:
            rows, header = itertools.chain([header], rows), unnamed
        columns = columns or _columns_of_numbers(header)
        if [column.get("kind") for column in columns] == ["text"]:
            name = columns[0]["name"]
            if path.suffix.lower() == ".txt" and (len(header) < 2 or name not in header):
                file.seek(0)
                rows = ([text] for line in file if (text := line.strip()))
                header = [name]
            header = [name] if len(header) == 1 else header
        places, times = {name: place for place, name in enumerate(header)}, Counter(header)
        if wrong := [column["name"] for column in columns if times[column["name"]] != 1]:
            raise DataError(
                f"the table lacks the columns {', '.join(wrong)}, or has them twice; it has"
                f" {', '.join(header)}."
            )
        gaps = form.get("recipe", {}).get("gaps", ())
        empty, tokens = {*gaps, *map(str, gaps)}, dict[str, list[int]]()
        encoders = {
            column["name"]: _opened(_vectors_of(column))
            for column in columns
            if column.get("kind") == "text"
        }
        is_slow = any(isinstance(encoder, Bert) for encoder in encoders.values())
        n_before, counts = 0, collections.defaultdict[str, Counter[str]](Counter)
        while block := list(itertools.islice(rows, SENTENCES_AT_ONCE if is_slow else AT_ONCE)):
            if long := [
                n_before + place
                for place, row in enumerate(block)
                if any(text.strip() for text in row[len(header) :])
            ]:
                raise DataError(
                    f"row {long[0]} has more cells than the header has names: put cells with"
                    f" {separator!r} inside in quotes."
                )
            parts: list[Numbers] = []
            for column in columns:
                place = places[column["name"]]
                texts = [row[place].strip() if place < len(row) else "" for row in block]
                name = column["name"]
                if column.get("kind") == "text":
                    texts = ["" if text in empty else text for text in texts]
                    parts.append(encoders[name].means(texts, tokens))
                    continue
                if column["categories"] is None:
                    values, done = _numbers(texts, column, gaps, n_before, place in commas)
                    parts.append(values)
                    for what, count in done.items():
                        counts[what][name] += count
                    continue
                meant = {text: _word(text, column["categories"], gaps) for text in set(texts)}
                words = [meant[text] for text in texts]
                known = ("", *column["categories"])
                counts[UNKNOWN][name] += sum(word not in known for word in words)
                parts += [
                    (np.array(words) == category).astype(np.float32)
                    for category in column["categories"]
                ]
            n_before += len(block)
            yield np.column_stack(parts)
    if not n_before:
        raise DataError("the table holds no rows.")
    sys.stderr.writelines(f"note: {note}\n" for note in notes_on(counts))


def _encoding_of(path: Path) -> str:
    """How a text is written: UTF-16 if it says so, UTF-8 if all of it is that, else Latin-1."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        with path.open(encoding="utf-8") as text:
            collections.deque(text, maxlen=0)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _rows_of(file: TextIO, separator: str) -> Iterator[list[str]]:
    """The rows of a csv from its start on, but empty ones."""
    file.seek(0)
    rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
    return (row for row in rows if any(text.strip() for text in row))


def _commas_of(rows: Iterator[list[str]], separator: str) -> set[int]:
    """The places of the columns whose numbers have a decimal comma; with commas between cells,
    plain columns stay as they are."""
    next(rows, None)
    ways: dict[int, set[tuple[tuple[bool, bool, bool], bool]]] = collections.defaultdict(set)
    for row in rows:
        for place, text in enumerate(row):
            ways[place].add(_ways(text.strip()))
    return with_commas(
        {
            place: [way for way, _ in of]
            for place, of in ways.items()
            if separator != "," or not all(is_plain for _, is_plain in of)
        }
    )


@functools.lru_cache(maxsize=2**16)
def _ways(text: str) -> tuple[tuple[bool, bool, bool], bool]:
    """(how a cell can be read, whether it is plain)."""
    return readings(text), not text or NUMBER.fullmatch(text) is not None


def notes_on(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """What was done to cells, in words, with how many of each column."""
    cells = {
        what: [f"{count:,} of {name!r}" for name, count in of.items() if count]
        for what, of in counts.items()
    }
    return [f"{what}: {', '.join(some)}." for what, some in cells.items() if some]


def _columns_of_numbers(header: list[str]) -> list[Card]:
    """The columns of a table of numbers, all but row numbers, labels and split."""
    label = next(
        (name for called in LABEL_NAMES for name in header if name.lower() == called), None
    )
    names = [
        name
        for place, name in enumerate(header)
        if name != label and name.lower() != "split" and (place or name)
    ]
    return [{"name": name, "categories": None, "fill": None, "low": None} for name in names]


def _numbers(
    texts: list[str], column: Card, gaps: Sequence[str | float], start: int, has_commas: bool
) -> tuple[Numbers, dict[str, int]]:
    """The numbers of a column, and of how many cells what was done."""
    if all(text in BOOLEANS for text in texts):
        texts = [BOOLEANS[text] for text in texts]
    done = Counter[str]()
    pattern, taken, way = (COMMA, ".", DECIMAL) if has_commas else (POINT, ",", THOUSANDS)
    if has_commas or any("," in text for text in texts):
        written = texts
        texts = [
            text.replace(taken, "").replace(",", ".") if pattern.fullmatch(text) else text
            for text in written
        ]
        done[way] = sum(map(operator.ne, texts, written))
    is_plain = not gaps and NUMBERS.fullmatch("\n".join([*texts, ""])) is not None
    values = np.array(texts, dtype=np.float64) if is_plain else np.full(len(texts), np.inf)
    for place, text in enumerate(texts if not (np.abs(values) <= LARGEST_FLOAT).all() else ()):
        is_number = NUMBER.fullmatch(text) is not None
        if not is_number and text.lower() not in GAPS and text not in gaps:
            raise DataError(
                f"column {column['name']!r} holds {text!r} in row {start + place}: write a plain"
                " number such as 1041.5."
            )
        value = float(text) if is_number else np.nan
        if not is_number or value in gaps or text in gaps:
            if column["fill"] is None:
                raise DataError(
                    f"column {column['name']!r} is empty in row {start + place}, and the model has"
                    " no value for gaps."
                )
            value = column["fill"]
            done[FILLED] += 1
        elif abs(value) > LARGEST_FLOAT:
            raise DataError(
                f"column {column['name']!r} holds an infinite number in row {start + place}:"
                " correct the cell, or empty it."
            )
        values[place] = value
    if column["low"] is not None:
        done[OUTSIDE] = int(((values < column["low"]) | (values > column["high"])).sum())
        values = np.clip((values - column["low"]) / (column["high"] - column["low"]), 0, 1)
    else:
        values = values - column.get("centre", 0.0)
    return values.astype(np.float32), done


def _word(text: str, categories: Sequence[str], gaps: Sequence[str | float]) -> str:
    """The category that a cell names, a number however it is written; "" for a gap."""
    value = float(text) if NUMBER.fullmatch(text) else None
    if text.lower() in GAPS_OF_WORDS or text in gaps or value in gaps:
        return ""
    if value is None or text in categories:
        return text
    return {float(word): word for word in categories if NUMBER.fullmatch(word)}.get(value, text)


if __name__ == "__main__":
    sys.exit(main())
