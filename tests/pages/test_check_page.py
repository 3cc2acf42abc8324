"""Check: an ε of a script's numbers is shown once the person says that they are those of the run,
and not a number longer."""

import io
import re
import types
import zipfile

import numpy as np
import pandas as pd
import pytest
from streamlit.runtime.scriptrunner import StopException

import pillar_core as pc
from page_reading import Start, metric, press, send, words
from pages.frame import failures, local, session
from pages.parts.check import training
from pillar_core.errors import DataError
from pillar_core.runs.models import model_bytes

SCRIPT = """
loader = DataLoader(rows, batch_size=500)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(module=m, optimizer=o, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0)
"""


def opened(start: Start, script: str):
    app = start(
        "check",
        controls="check-start:script;check.script.n:50000;check.script.epochs:10;check.script.delta:1e-05",
    )
    app.text_area[0].set_value(script).run()
    return app


def test_a_scripts_epsilon_waits_for_the_persons_word_and_numbers_alone_do_not(start):
    app = opened(start, SCRIPT)
    assert not app.metric
    assert "Is this your run?" in words(app)
    assert [box.placeholder for box in app.number_input if box.label == "Noise multiplier σ"] == [
        "1.0, as read"
    ]
    app.checkbox[0].check().run()
    assert metric(app, "Proven ε, ").startswith("≤ 1.8")
    box = next(box for box in app.number_input if box.label.startswith("δ"))
    box.set_value(1e-6).run()
    assert not app.metric
    assert not app.checkbox[0].value
    app = start("check")
    assert len(app.metric) == 4
    assert "takes for granted" in " ".join(box.label for box in app.expander)


def test_a_models_zip_is_tested_privately_on_raw_rows(start):
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1)
    zipped = model_bytes(pc.run("dp_raft", split, epsilon=2.0, seed=None), split=split)
    rows = pd.DataFrame(split.features.x_test).assign(
        label=np.array(split.features.classes)[split.features.y_test]
    )
    app = start("check", controls="check-start:model")
    send(app, "check-model", {"model.zip": zipped})
    assert app.button(key="check-spend").disabled
    send(app, "check-rows", {"rows.csv": rows.to_csv(index=False)})
    press(app, "check-spend")
    assert re.search(
        r"Accuracy [\d.]+ %, between [\d.]+ and [\d.]+ % with 95 % confidence", words(app)
    )
    assert "NOT FOR RELEASE" not in words(app)
    assert "so far: 1," in words(app)
    press(app, "check-spend")
    assert "Private tests of these rows so far: 2, with ε ≤ 2 together, for one row" in words(app)
    assert words(app).count("with 95 % confidence") == 2, "what was paid for stays"


def test_a_models_zip_is_read_for_what_it_states(start, split):
    whole = model_bytes(pc.run("pillar_one_shot", split, epsilon=2.0, seed=None), split=split)
    out = io.BytesIO(whole)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("more.py", "")
    app = start("check", controls="check-start:model")
    for content, verdicts in ((whole, [1, 0]), (out.getvalue(), [0, 1])):
        send(app, "check-model", {"model.zip": content})
        said = dict(app.dataframe[0].value.to_numpy())
        assert float(said["epsilon"]) <= 2
        assert (said["learner"], said["privacy unit"]) == ("pillar_one_shot", "one example (a row)")
        assert [len(app.success), len(app.error)] == verdicts
    assert "more.py was added" in app.error[0].value
    send(app, "check-model", {"model.zip": b"PK"})
    assert "no model" in words(app)


def test_what_was_paid_for_or_refused_is_said_although_the_visitor_moved_on_meanwhile(monkeypatch):
    """Streamlit ended the callback at its next call, after the test: its ε was spent, and nobody
    saw what it bought."""
    kept = []
    moved = [False]

    def test(*_, **__):
        moved[0] = True
        return types.SimpleNamespace(text="81 % at ε = 1")

    def keep(*said):
        if moved[0]:
            moved[0] = False
            raise StopException
        kept.append(said[-1])

    monkeypatch.setattr(local, "put", keep)
    monkeypatch.setattr(session, "note", keep)
    monkeypatch.setattr(training, "load_model", lambda file: file)
    monkeypatch.setattr(local, "value", lambda *_: "80 % at ε = 1")
    monkeypatch.setattr(pc, "private_test", test)
    with pytest.raises(StopException):
        training._spend(
            types.SimpleNamespace(name="model.zip"),
            types.SimpleNamespace(name="rows.csv", getvalue=lambda: b"a,b"),
            {},
        )
    assert kept == ["model.zip on rows.csv: 81 % at ε = 1\n\n80 % at ε = 1"]
    moved[0] = True
    with pytest.raises(StopException), failures.note_refusal("Nothing was spent"):
        raise DataError("these rows have no labels.")
    assert kept[1:] == ["Nothing was spent: these rows have no labels."]
