"""A column of texts: read where somebody says so, alone or beside numbers, never as categories, and
learnt from by nobody."""

import csv
import functools
import io
import json
import subprocess
import sys
import threading
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import pillar_core as pc
from pillar_core import store, texts
from pillar_core.data import encoding, frames, progress, reader, recipes, scratch, uploads
from pillar_core.data.parts import pack, unpack
from pillar_core.data.sets import embedded
from pillar_core.errors import Cancelled, DataError, MissingDependencyError, StoreError
from pillar_core.runs import loaded
from pillar_core.splits import view
from pillar_core.splits.basis import has_units, moments
from pillar_core.studies.screening import answers
from pillar_core.texts import token_vectors
from tickets import BILLING, FOREIGN, HARDWARE
from unit.image_files import all_rows, sizes
from users import is_noted, output_of, refuses, run_command

TIMES = (
    "since Monday",
    "this morning",
    "again, as last week",
    "after the update",
    "every day",
    "for no reason",
)


def tickets(
    n: int, seed: int, topics: tuple[tuple[str, ...], ...] = (HARDWARE, BILLING)
) -> pd.DataFrame:
    """Tickets with their queue, and how old the customer is."""
    draw = np.random.default_rng(seed)
    queue = draw.integers(0, len(topics), n)
    said = [
        f"{topics[place][draw.integers(4)]} {draw.choice(TIMES)}, ticket {draw.integers(10**6)}"
        for place in queue
    ]
    return pd.DataFrame(
        {
            "message": said,
            "age": draw.integers(18, 90, n),
            "queue": np.array(["hardware", "billing"])[queue % 2],
        }
    )


def labels_alone(model: str, rows: str) -> list[str]:
    """The labels of `use.py` from the unpacked zip in a process that has no library."""
    with zipfile.ZipFile(model) as archive:
        archive.extractall("alone")
    command = [sys.executable, "-I", "alone/use.py", rows]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return [row["label"] for row in csv.DictReader(io.StringIO(done.stdout))]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tickets(900, 0)[["message", "queue"]].to_csv("tickets.csv", index=False)
    tickets(300, 1)[["message"]].rename(columns={"message": "said"}).to_csv("open.csv", index=False)
    Path("lines.txt").write_text("\n".join(tickets(300, 1)["message"]), encoding="utf-8")
    Path("foreign.txt").write_text(
        "\n".join(tickets(300, 2, (FOREIGN,))["message"]), encoding="utf-8"
    )
    return tmp_path


def test_tickets_go_from_a_csv_to_labels_of_new_sentences_by_command(files):
    columns = "--label queue --text message"
    files = "--private tickets.csv --public foreign.txt lines.txt"
    assert run_command(f"screen {files} --score class_signal --output r.csv {columns}") == 0
    assert pd.read_csv("r.csv")["public"].tolist() == ["lines.txt", "foreign.txt"]
    run = "run --dataset tickets.csv --public lines.txt --epsilon 4"
    assert run_command(f"{run} {columns} --release --export model.zip") == 0
    Path("new.txt").write_text(
        "My screen is dark, again\nWhere is my refund?\nThe keyboard has lost a key.\n",
        encoding="utf-8",
    )
    assert [
        line.split(",")[1] for line in output_of("predict model.zip new.txt").out.splitlines()[1:]
    ] == [
        "hardware",
        "billing",
        "hardware",
    ]
    assert run_command(f"recipe tickets.csv {columns} --output r.json") == 0
    assert recipes.recipe_of("r.json").columns == (encoding.Column("message", encoding.TEXT, 0),)
    assert run_command(f"{run} --recipe r.json --json") == 0


def test_of_texts_and_words_the_words_are_the_labels(files):
    features = pc.load_features("tickets.csv")
    assert sorted(features.classes) == ["billing", "hardware"]
    assert features.d == texts.WIDTH
    assert any(note.startswith("Label: queue, the only column of words") for note in features.notes)
    mixed = tickets(60, 0).assign(place=["north", "south"] * 30)
    refuses("not certain", pc.load_features, mixed)


def test_an_encoder_or_texts_alone_say_which_column_is_meant(files, capsys):
    said = "Texts: message, the only column that can be it."
    alone = pc.load_features("tickets.csv", label="queue", text="message")
    for features in (
        pc.load_features("tickets.csv"),
        pc.load_features("tickets.csv", texts.NAME, public="open.csv"),
    ):
        assert (features.x_train == alone.x_train).all()
        assert any(note.startswith(said) for note in features.notes)
    assert said in output_of("run --dataset tickets.csv --public open.csv --epsilon 4").err
    assert run_command("recipe tickets.csv --label queue --output r.json") == 0
    assert recipes.recipe_of("r.json").columns == (encoding.Column("message", encoding.TEXT, 0),)
    frame = tickets(200, 0)
    frame.to_csv("aged.csv", index=False)
    assert pc.load_features("aged.csv", texts.NAME).d == texts.WIDTH + 1
    assert (
        run_command(
            f"run --dataset aged.csv --public-fraction 0.2 --backbone {texts.NAME} --epsilon 4"
        )
        == 0
    )
    short = frame.assign(message=[f"no{number}" for number in range(200)])
    assert pc.load_features(short, texts.NAME, label="queue").d == texts.WIDTH + 1
    with pytest.raises(DataError, match=r"message, again may all be it. Say which\."):
        pc.load_features(frame.assign(again=frame["message"] + "!"), texts.NAME)
    assert pc.load_features(frame[["age", "queue"]]).names == ("age",)
    refuses(
        "say so", pc.load_features, frame, label="queue"
    )  # texts beside numbers: to be read, or to be left out


def test_a_model_names_the_encoder_and_labels_lists_tables_and_lines(files, monkeypatch):
    split = pc.split(
        pc.load_features("tickets.csv", label="queue", text="message"), public="open.csv"
    )
    record = pc.run("pillar", split, epsilon=1.0, seed=None)
    model = pc.load_model(pc.save_model(record, "model.zip", split=split))
    lines = Path("lines.txt").read_text(encoding="utf-8").splitlines()
    expected = model.predict(lines)
    assert (model.predict("lines.txt") == expected).all()
    assert (model.predict("open.csv") == expected).all()
    assert (model.predict(pd.DataFrame({"message": lines, "other": 1})) == expected).all()
    assert model.predict(["one sentence"]).shape == (1,)  # its column has another name
    assert len(pc.split(split.features, public=["too short", "to look like a text"]).public_x) == 2
    assert not model.is_large("tickets.csv")
    with monkeypatch.context() as patched:
        patched.setattr(loaded, "LARGE_TEXTS", 0)
        patched.setattr(frames, "PIECE", 40)
        assert model.is_large("tickets.csv")
        for name in ("lines.txt", "open.csv"):
            assert max(map(len, model.blocks(name))) <= 40
            assert (model.predict(name) == expected).all()
        Path("cut.csv").write_text("message,other\n" + "it jams, again,1\n" * 90, encoding="utf-8")
        refuses("more cells than the header has names", model.predict, "cut.csv")
    with zipfile.ZipFile("model.zip") as archive:
        card = json.loads(archive.read("model.json"))
        read_me = archive.read("README.md").decode()
    assert card["input"]["recipe"]["columns"][0]["encoder"] == texts.IDENTITY
    assert '"text-classification"' in read_me
    assert "a list of texts" in read_me
    assert (
        "or a table with the column `message`, and run\n\n```bash\npython -m pillar_core predict"
        " model.zip new.txt" in read_me
    )
    assert "Which tokens occur in the training rows is in none of them" in read_me
    for name in ("open.csv", "lines.txt"):
        assert labels_alone("model.zip", name) == [model.classes[label] for label in expected]
    other = card["input"]["recipe"]["columns"][0] | {"encoder": texts.IDENTITY | {"sha256": "0"}}
    refuses("encoder", recipes.recipe_of, card["input"]["recipe"] | {"columns": [other]})


def test_a_model_reads_odd_texts_beside_numbers_and_words_without_the_library(files, monkeypatch):
    private, public, new = tickets(400, 0), tickets(200, 1), tickets(200, 2)
    for frame in (private, public, new):
        frame["site"] = np.where(frame["age"] % 2, "north", "south")
    features = pc.load_features(private, label="queue", text="message", public=public)
    split = pc.split(features, public=public)
    pc.save_model(pc.run("pillar", split, epsilon=1.0, seed=None), "model.zip", split=split)
    odd = [
        "",
        "  ",
        '<b>Jam</b>, "again"',
        "Drucker\nbrennt ▁▁",
        "打印机坏了 🖨",
        "=1+1",
        "w" * 200_000,
    ]
    new.loc[: len(odd) - 1, "message"] = odd
    new[["site", "message", "age", "queue"]].to_csv("new.csv", index=False)
    model = pc.load_model("model.zip")
    expected = model.predict("new.csv")
    assert labels_alone("model.zip", "new.csv") == [model.classes[label] for label in expected]
    new.loc[[0, 1, 199], "site"], new.loc[[0, 50, 120], "age"] = "east", None
    new.to_csv("new.csv", index=False)
    expected, notes = model.predict("new.csv"), model.notes
    assert "3 of 'site'" in notes[0]
    assert "3 of 'age'" in notes[1]
    monkeypatch.setattr(loaded, "LARGE_TEXTS", 0)
    monkeypatch.setattr(frames, "PIECE", 40)
    assert (model.predict("new.csv") == expected).all()
    assert model.notes == notes
    said = output_of("predict model.zip new.csv --output labels.csv").err
    assert all(f"note: {note}" in said for note in notes)


def test_lists_pairs_and_files_of_lines_are_tables_of_texts(tmp_path):
    frame = tickets(200, 0)
    features = pc.load_features((frame["message"].tolist(), frame["queue"]), texts.NAME)
    assert (features.x_train.shape, features.classes) == (
        (160, texts.WIDTH),
        ("billing", "hardware"),
    )
    assert sorted(features.texts) == sorted(token_vectors.clean(text) for text in frame["message"])
    public = pc.load_features(tickets(50, 1)["message"].tolist())
    assert (public.y_train, public.x_train.shape) == (None, (50, texts.WIDTH))
    assert len(pc.split(features, public=tickets(50, 1)["message"].tolist()).public_x) == 50
    with pytest.raises(DataError):
        pc.load_features(("no.npy", "none.npy"))

    def columns(name, content):
        (tmp_path / name).write_text(content, encoding="utf-8")
        return list(frames.frame_of(tmp_path / name, ".txt"))

    assert columns(
        "a.txt",
        "One sentence, with a comma in it\nAnother one, with one, too\n\nA third of seven words is"
        " here\n",
    ) == ["text"]
    assert columns(
        "b.txt", "message,queue\nthe printer is on fire,a\nplease send an invoice,b\n"
    ) == ["message", "queue"]
    assert columns("c.txt", "1.5\t2\n3\t4\n") == ["x0", "x1"]
    refuses("at least two columns", columns, "d.txt", "1\n2\n3\n")


def test_texts_beside_numbers_share_one_scale():
    private, public = tickets(400, 0), tickets(200, 1)
    features = pc.load_features(private, label="queue", text="message", public=public)
    assert (features.d, features.names[texts.WIDTH], features.text_block) == (
        257,
        "age",
        slice(0, texts.WIDTH),
    )
    assert is_noted(features.notes, "share one scale")
    split = pc.split(features, public=public)
    assert has_units(split.public_x, features.text_block)
    scale = moments(split.public_x, standardise=True, centre=True, block=features.text_block)[1]
    assert len(set(scale[: texts.WIDTH].tolist())) == 1
    scaled = split.public_x / scale
    assert scaled[:, : texts.WIDTH].var(axis=0).sum() == pytest.approx(
        scaled[:, texts.WIDTH :].var(axis=0).sum(), rel=1e-4
    )
    assert pc.run("pillar", split, epsilon=1.0).accuracy > 0.8
    assert pc.run("pillar_kalman", split, epsilon=1.0).accuracy > 0.8
    alone = pc.load_features(private.drop(columns="age"), label="queue", text="message")
    assert alone.text_block is None


def test_a_large_table_lies_on_the_disk_tells_how_far_it_is_and_can_be_stopped(monkeypatch):
    frame, public = tickets(300, 0), tickets(100, 1)
    load = functools.partial(pc.load_features, frame, label="queue", text="message", public=public)
    plain, told = load(), list[tuple[str, int, int, str]]()
    fit = functools.partial(pc.run, "pillar", epsilon=1.0, k=5)
    expected = fit(pc.split(plain, public=public)).classifier.weights
    monkeypatch.setattr(texts, "AT_ONCE", 128)
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 0)
    monkeypatch.setattr(scratch, "BLOCK", 2**16)
    monkeypatch.setattr(encoding, "SOON_DONE", 128)
    monkeypatch.setattr(view, "MOST_KEPT", 0)
    with progress.report_progress(
        lambda unit: lambda done, total, message="": told.append((unit, done, total, message))
    ):
        large = load()
    assert isinstance(large.x_train.base, np.memmap)
    assert (
        (large.x_train == plain.x_train).all(),
        (large.x_test == plain.x_test).all(),
        large.texts == plain.texts,
    ) == (True,) * 3
    assert (fit(pc.split(large, public=public)).classifier.weights == expected).all()
    done = [tuple(how_far) for unit, *how_far, _ in told if unit == "texts"]
    assert done == [(128, 300), (256, 300), (300, 300)]
    size = 300 * 256 * 4
    where = f"of rows in {store.default().root}, until the work ends"
    assert told[0] == ("bytes", 0, size, where)
    full = SimpleNamespace(free=size - 1)
    monkeypatch.setattr("shutil.disk_usage", lambda place: full)
    with pytest.raises(StoreError, match=r"are to come, .* are free.*Nothing was kept"):
        load()
    full.free = size
    is_stopped = threading.Event()
    making = reader.Encoding(lambda: load() if is_stopped.wait(60) else plain)
    making.stop()
    is_stopped.set()
    with pytest.raises(Cancelled, match=r"after 0 of .* bytes"):
        _ = making.rows


def test_a_text_stays_apart_from_other_rows_and_its_beginning_moves_with_them():
    frame = tickets(200, 0)[["message", "queue"]]
    changed = frame.assign(
        message=frame["message"].where(
            frame.index != 7, "something else entirely, in many words " * 50
        )
    )
    before, after = (
        pc.load_features(table, label="queue", text="message") for table in (frame, changed)
    )
    assert (before.x_train != after.x_train).any(axis=1).sum() + (
        before.x_test != after.x_test
    ).any(axis=1).sum() == 1
    frame = tickets(100, 0)[["message", "queue"]]
    features = pc.load_features(frame, label="queue", text="message")
    assert (texts.encode(features.texts) == all_rows(features)).all()
    for back in (unpack(pack(features)), uploads.load(uploads.keep(features))):
        assert back.texts == features.texts


def test_a_text_is_recognised_left_out_unless_asked_for_and_never_categories():
    frame = tickets(200, 0)
    chinese = [f"打印机坏了{chr(0x4E00 + number)}请帮忙" for number in range(200)]
    kinds = {
        column.name: column.kind
        for column in encoding.columns_of(frame.assign(said=chinese), "queue")
    }
    assert kinds == {"message": encoding.TEXT, "age": encoding.NUMBERS, "said": encoding.TEXT}
    refuses("say so to learn from it", pc.load_features, frame, label="queue")
    assert pc.load_features(frame, label="queue", public=tickets(50, 1)).names == ("age",)
    two = frame.assign(again=frame["message"] + "!")
    columns = encoding.columns_of(two, "queue")
    assert "join them" in encoding.problems_of(columns, is_scaled=True)[0]
    refuses("no column 'none'", pc.load_features, frame, label="queue", text="none")


class StandIn:
    """What a model of sentence-transformers can do: four numbers that hang on the text alone."""

    max_seq_length, tokenizer = 8, SimpleNamespace(get_vocab=lambda: {"a": 0})

    def __init__(self, name: str, *, device: str, local_files_only: bool) -> None:
        if not Path(name).is_dir():
            raise OSError(f"no network for {name}" if not local_files_only else "not here")
        self.weight = torch.full((2,), float(len(name)))

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"weight": self.weight}

    def encode(self, text: str, *, show_progress_bar: bool) -> np.ndarray:
        assert isinstance(text, str)  # several at once would hang on each other
        return np.random.Generator(np.random.PCG64(zlib.crc32(text.encode()))).normal(size=4)


def test_another_encoder_goes_by_its_name_into_the_model(files, monkeypatch):
    Path("tiny").mkdir()
    with pytest.raises(MissingDependencyError, match="pip install sentence-transformers"):
        pc.load_features("tickets.csv", "sentence_transformers:tiny", label="queue", text="message")
    monkeypatch.setitem(
        sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=StandIn)
    )
    refuses(
        r"no encoder sentence_transformers:some/model here \(no network",
        pc.load_features,
        "tickets.csv",
        "sentence_transformers:some/model",
        label="queue",
        text="message",
    )
    name = f"sentence_transformers:{Path('tiny').absolute()}"
    features = pc.load_features("tickets.csv", name, label="queue", text="message")
    assert (features.d, features.names[3]) == (4, "text[3]")
    assert (texts.encode(features.texts) != 0).any()
    split = pc.split(features, public="open.csv")
    assert (
        np.concatenate(list(texts.blocks(split.public_texts, texts.encoder_of(features.recipe))))
        == split.public_x
    ).all()
    refuses("use one encoder", pc.split, features, public=pc.load_features("foreign.txt"))
    pc.save_model(pc.run("pillar", split, epsilon=1.0, seed=None), "model.zip", split=split)
    run = f"run --dataset tickets.csv --label queue --text message --public open.csv --backbone {name}"
    assert "4 numbers through sentence_transformers:tiny" in output_of(f"{run} --epsilon 1").err
    expected = pc.load_model("model.zip").predict("open.csv")
    monkeypatch.setattr(texts, "_SENTENCE_MODELS", {})  # as a new process has it
    texts._identity_of_model.cache_clear()
    with pytest.raises(DataError, match=r"and \{'name': 'sentence_transformers:tiny'"):
        pc.load_model("model.zip").predict("open.csv")  # another model of that name
    texts._identity_of_model.cache_clear()
    monkeypatch.setattr(
        StandIn,
        "state_dict",
        lambda self: {"weight": torch.full((2,), float(len(str(Path("tiny").absolute()))))},
    )
    assert (pc.load_model("model.zip").predict("open.csv") == expected).all()
    monkeypatch.delitem(sys.modules, "sentence_transformers")
    monkeypatch.setattr(texts, "_SENTENCE_MODELS", {})
    texts._identity_of_model.cache_clear()
    assert (
        "needs the package sentence-transformers"
        in output_of("predict model.zip open.csv", status=2).err
    )


def test_a_text_is_read_as_it_is_written_whatever_other_rows_hold(tmp_path):
    rows = []
    for last in ("9", "no paper in it"):
        lines = [f"0{number},{'ab'[number % 2]}" for number in range(60)]
        (tmp_path / "numbers.csv").write_text(
            "\n".join(["message,queue", *lines, f"{last},a"]), encoding="utf-8"
        )
        features = pc.load_features(tmp_path / "numbers.csv", label="queue", text="message")
        assert {"00", "07"} < set(features.texts)
        rows.append(all_rows(features))
    assert (rows[0] != rows[1]).any(axis=1).sum() == 1


def test_odd_cells_are_read_and_counted(tmp_path):
    frame = tickets(60, 0)[["message", "queue"]]
    frame.loc[:29, "message"] = [str(number) for number in range(30)]
    frame.loc[30:35, "message"] = ["", "   ", "😀", "<p></p>", "\x01", "word " * 100_000]
    frame.to_csv(tmp_path / "odd.csv", index=False)
    features = pc.load_features(tmp_path / "odd.csv", label="queue", text="message")
    assert np.isfinite(features.x_train).all()
    assert is_noted(features.notes, "4 texts are empty")
    assert is_noted(features.notes, "31 texts are mostly figures, emoji")
    assert is_noted(features.notes, "Of 1 texts")
    assert max(map(len, features.texts)) == token_vectors.LONGEST
    with pytest.raises(DataError, match="holds no text: its 60 cells"):
        pc.load_features(frame.assign(message="<br>"), label="queue", text="message")


def test_sets_of_texts_come_along_and_are_ranked_by_likeness(tmp_path):
    for name in embedded.TEXTS:
        card, rows = pc.DATASETS[name], pc.load_dataset(name)
        assert (*sizes(rows), len(rows.classes)) == (
            card.n_train,
            card.n_test,
            card.n_classes,
        )
        assert (texts.encode(rows.texts[-3:]) == rows.x_test[-3:]).all()
    table = answers.answer(
        answers.Ask("ranking", "scipy_docs", ("python_docs", "library_docs"), score="class_signal")
    )
    assert table["public"].tolist() == ["library_docs", "python_docs"]
    split = pc.split(pc.load_dataset("scipy_docs"), public=pc.load_dataset("library_docs"))
    record = pc.run("pillar_kalman", split, epsilon=1.0, seed=None)
    assert record.accuracy > 0.6
    assert pc.load_model(pc.save_model(record, tmp_path / "model.zip", split=split)).predict(
        ["a probability density"]
    ).shape == (1,)
