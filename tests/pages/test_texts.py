"""Texts on the pages: from a csv of tickets and two public files to a ranking, an advice and
sentences that are misread."""

import json
from unittest import mock

import numpy as np
import pandas as pd
import streamlit as st

import pillar_core as pc
from page_reading import (
    fill,
    labelled,
    linked,
    look,
    metric,
    press,
    say,
    send,
    understood,
    unfold,
    words,
)
from pillar_core import texts
from pillar_core.data import uploads
from pillar_core.jobs.kinds.extraction import specification
from pillar_core.texts import minilm
from tickets import BILLING, FOREIGN, HARDWARE


def said(n: int, seed: int, *topics: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """Sentences of some topics, and which topic each has."""
    draw = np.random.Generator(np.random.PCG64(seed))
    of = draw.integers(0, len(topics), n)
    ends = ("since Monday", "this morning", "again, as last week", "after the update", "every day")
    return [
        f"{topics[place][draw.integers(4)]} {draw.choice(ends)}, number {draw.integers(10**6)}"
        for place in of
    ], of


def tickets(n: int = 900) -> str:
    texts, of = said(n, 0, HARDWARE, BILLING)
    of[::9] = 1 - of[::9]  # in the wrong queue
    queues = np.array(["hardware", "billing"])[of]
    frame = pd.DataFrame({"id": np.arange(n) + 7000, "message": texts, "queue": queues})
    return frame.to_csv(index=False)


def test_tickets_of_a_csv_give_a_ranking_a_model_and_misread_sentences(
    start, handed, tmp_path, monkeypatch
):
    app = start("rows", method="pillar", epsilon="0.1", k="8", view="classes")
    spun = mock.Mock(wraps=st.spinner)
    monkeypatch.setattr(st, "spinner", spun)
    send(app, "upload", {"tickets.csv": tickets()})
    assert mock.call("Reading the columns …") in spun.mock_calls
    lines = {"near.txt": said(300, 1, HARDWARE, BILLING), "far.txt": said(300, 2, FOREIGN)}
    send(app, "upload-candidates", {name: "\n".join(lines[name][0]) for name in lines})
    roles = {"id": "leave out", "message": "text", "queue": "label"}  # the public files hold no id
    assert understood(app)["Role"].to_dict() == roles
    assert "each became 256 numbers" in words(app)
    assert any("text" in table.value for table in app.dataframe)
    press(app, "use-upload")
    assert not app.error
    assert "These rows were texts: Mean of token vectors" in words(app)
    private = linked(app)["data"]
    card = uploads.card(private)
    assert card is not None
    assert (card.is_text, card.n_train, card.shape) == (True, 720, (256,))
    assert {upload.title for upload in uploads.list_uploads() if upload.is_text} == {
        "tickets.csv",
        "near.txt",
        "far.txt",
    }
    texts_of = {
        upload.title: set(uploads.load(upload.name).texts) for upload in uploads.list_uploads()
    }
    hovered = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"][0]["text"]
    assert {text.replace("<br>", " ") for text in hovered} == texts_of["near.txt"]
    app.switch_page("pages/public_data.py").run()
    assert not app.error
    press(app, "screen-spend")
    assert "Best choice: near.txt" in words(app)
    assert "hold numbers" not in words(app)
    unfold(app, "screen-trim")
    shown = [set(table.value["Text"]) for table in app.dataframe if "Text" in table.value]
    assert [len(texts) for texts in shown] == [8, 8]
    assert set().union(*shown).isdisjoint(texts_of["tickets.csv"])
    assert shown[0] & texts_of["near.txt"]
    press(app, "use-kept")
    kept = uploads.load(app.session_state["set.public"])
    assert texts_of["near.txt"] & set(kept.texts)
    send(app, "upload-candidates", {"later.csv": tickets()[: tickets().index("\n", 9_000)]})
    press(app, "use-public")
    assert not app.error
    later = uploads.load(linked(app)["public"])
    assert (uploads.title_of(linked(app)["public"]), later.d) == ("later.csv", 256)
    assert texts_of["tickets.csv"].isdisjoint(kept.texts)
    app.session_state["set.public"] = next(
        upload.name for upload in uploads.list_uploads() if upload.title == "near.txt"
    )
    app.session_state["set.epsilon"] = 3.0  # the noise of a release has no seed
    app.switch_page("pages/answer.py").run()
    assert not app.error
    press(app, "answer-train")
    (tmp_path / "model.zip").write_bytes(handed["model-file"]())
    model = pc.load_model(tmp_path / "model.zip")
    new, of = said(200, 3, HARDWARE, BILLING)
    named = np.array(model.classes)[model.predict(pd.DataFrame({"message": new}))]
    assert (named == np.array(["hardware", "billing"])[of]).mean() > 0.7
    look(app.switch_page("pages/curves.py").run())
    unfold(app, "misread")
    assert not app.error
    assert "test rows are misread" in words(app)
    shown = [
        text for table in app.dataframe if "text" in table.value for text in table.value["text"]
    ]
    assert shown
    assert set(shown) <= set(uploads.load(private).texts)
    split = pc.split(uploads.load(private), public=uploads.load(linked(app)["public"]))
    assert split.facts.n_public == 300


def test_a_column_that_does_not_look_like_texts_may_hold_them(start):
    app = start("rows")
    lines = [f"{'😀🖨💳📶'[row % 4] * (row // 4 + 1)},{'ab'[row % 2]}" for row in range(80)]
    send(app, "upload", {"emoji.csv": "\n".join(["message,queue", *lines])})
    send(app, "upload-candidates", {"near.txt": "\n".join(said(99, 1, BILLING)[0])})
    say(app, "queue", Role="label")
    assert understood(app)["Role"]["message"] != "text"
    say(app, "message", Role="text")
    assert "80 texts are mostly figures, emoji" in words(app)
    assert not app.button(key="use-upload").disabled


def test_an_encoder_of_sentences_is_offered_where_it_is_installed_and_weighed(
    start, monkeypatch, handed, tmp_path
):
    def numbers(text: str) -> np.ndarray:
        return np.resize(np.frombuffer(text.encode(), np.uint8), minilm.WIDTH) / np.float32(255)

    app = start("rows", data="scipy_docs")
    choice = next(each for each in app.selectbox if each.label == "Backbone of the texts")
    assert "all-MiniLM-L6-v2 (texts)" not in choice.options
    monkeypatch.setattr(minilm, "is_installed", lambda: True)
    monkeypatch.setattr(minilm, "opened", lambda: numbers)
    send(app, "upload", {"tickets.csv": tickets(300)})
    near, of = said(200, 1, HARDWARE, BILLING)
    public = pd.DataFrame({"message": near, "queue": np.array(["hardware", "billing"])[of]})
    send(app, "upload-candidates", {"near.csv": public.to_csv(index=False)})
    say(app, "id", Role="leave out")
    say(app, "queue", Role="label")
    say(app, "message", Role="text")
    press(app, "use-upload")
    fill(app, "extract-backbone", minilm.NAME)
    press(app, "use-backbone")
    assert linked(app)["backbone"] == minilm.NAME
    assert "500 texts" in words(app)
    assert "One core takes about 20 s" in words(app)
    for name in (linked(app)["data"], linked(app)["public"]):
        task = specification(name, minilm.NAME)
        pc.jobs.JOB_KINDS[task.pop("kind")].run(task, lambda *_: None, lambda: False)
    app.run()
    assert not app.error
    assert "**Ready:**" in words(app, "success")
    assert metric(app, "Features") == "384"
    app.session_state["set.epsilon"] = 3.0
    app.session_state["set.backbone"] = "auto"
    app.switch_page("pages/answer.py").run()
    choice = labelled(app, "multiselect", "Backbones to choose among")
    choice.set_value([texts.NAME, minilm.NAME]).run()
    press(app, "answer-paid")
    assert not app.error
    assert "learners played on labelled public rows" in words(app)
    (tmp_path / "model.zip").write_bytes(handed["model-file"]())
    model = pc.load_model(tmp_path / "model.zip")
    (column,) = model.card["input"]["recipe"]["columns"]
    assert pc.BACKBONES[column["encoder"]["name"]].title in words(app)
    assert len(model.predict(public.head())) == 5
    app = start("rows", data="scipy_docs", backbone=minilm.NAME)
    assert "1,318 texts" in words(app)
    assert app.button(key="job-run")
    app = start("curves", data="digits", backbone=minilm.NAME)
    assert linked(app)["backbone"] == "auto"
