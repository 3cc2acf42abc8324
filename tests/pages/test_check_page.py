"""Check: an ε of a script's numbers is shown once the person says that they are those of the run, and not a number longer."""

from page_reading import Start, metric, words

SCRIPT = """
loader = DataLoader(rows, batch_size=500)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(module=m, optimizer=o, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0)
"""


def opened(start: Start, script: str):
    app = start("check", controls="check-start:script;check.script.n:50000;check.script.epochs:10;check.script.delta:1e-05")
    app.text_area[0].set_value(script).run()
    return app


def test_a_scripts_epsilon_waits_for_the_persons_word(start: Start) -> None:
    app = opened(start, SCRIPT)
    assert not app.metric
    assert "Is this your run?" in words(app)
    assert [box.placeholder for box in app.number_input if box.label == "Noise multiplier σ"] == ["1.0 in the script"]
    app.checkbox[0].check().run()
    assert metric(app, "Proven ε, ").startswith("≤ 1.8")
    box = next(box for box in app.number_input if box.label.startswith("δ"))
    box.set_value(1e-6).run()
    assert not app.metric
    assert not app.checkbox[0].value


def test_numbers_alone_are_answered_at_once(start: Start) -> None:
    app = start("check")
    assert len(app.metric) == 4
    assert "takes for granted" in " ".join(box.label for box in app.expander)
