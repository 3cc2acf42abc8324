"""Rows: rows by path, the choice of public rows, a backbone with its weights,
extraction, and what is told meanwhile."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

import pillar_core as pc
from page_reading import charts, choose, fill, linked, links, metric, press, send, words
from pages.frame import browser, core, jobs
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core.backbones import names
from pillar_core.data import reader, room, uploads
from pillar_core.jobs.kinds import extraction as jobs_extraction
from pillar_core.runs import splitting
from unit.image_files import bright, npz


def test_a_path_is_read_and_none_of_its_rows_need_be_public(start, tmp_path):
    app = start("rows")
    data = bright(80)
    arrays = {name: getattr(data, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "blots.npz", **arrays)
    fill(app, "upload-path", str(tmp_path / "blots.npz"))
    assert "100 rows: 80 to learn from, 20 (20%) to test on" in words(app, "success")
    assert app.button(key="use-upload").disabled
    choose(app, "upload-public", 1)
    assert app.button(key="use-upload").disabled
    fill(app, "upload-other", "digits")
    assert "All 80 train rows are private" in words(app)
    press(app, "use-upload")
    assert codec.is_stored("data", linked(app)["data"])
    assert linked(app)["public"] == "digits"
    assert metric(app, "Private rows") == "80"
    assert metric(app, "Public rows") == "1,438"


def test_features_that_are_not_extracted_are_asked_for_and_then_used(start):
    app = start("rows", data="digits")
    fill(app, "extract-backbone", "scattering")
    press(app, "use-backbone")
    assert linked(app)["backbone"] == "scattering"
    assert "1797 images" in words(app).replace(",", "")
    assert "job-run" in [button.key for button in app.button]
    app.switch_page("pages/curves.py").run()
    assert "are not in the cache yet" in words(app)
    assert "Extract them on Rows" in links(app)
    app.switch_page("pages/rows.py").run()
    task = jobs_extraction.specification("digits", "scattering")
    pc.jobs.JOB_KINDS[task.pop("kind")].run(task, lambda *_: None, lambda: False)
    app.run()
    assert "**Ready:**" in words(app, "success")
    assert metric(app, "Features") == "324"


def test_progress_counts_the_sets_that_are_ready(start, monkeypatch):
    """Once the first of two was ready, the job of the second was shown alone: from 61 back to 32
    %."""
    asked = []
    monkeypatch.setattr(jobs, "panel", lambda specs, work, **_: asked.append((specs, work)))
    pc.load_features(pc.load_dataset("digits"), backbone="scattering")
    start("rows", data="digits", public="drawn_digits", backbone="scattering")
    specs, work = asked[-1]
    assert [spec["dataset"] for spec in specs] == ["digits", "drawn_digits"]
    assert (work.cached, work.total > 1797) == (1797, True)


def test_a_backbone_out_of_a_link_is_used_without_the_file_that_it_names(start, tmp_path):
    plain = "timm:mobilenetv2_100?mean=0.5&std=0.5"
    name = f"{plain}&weights={tmp_path / 'absent.safetensors'}"
    assert "names a file" in words(start("start", backbone=name))
    app = start("rows", data="digits", backbone=name)
    assert linked(app)["backbone"] == plain
    assert app.text_input(key="extract-options").value == "mean=0.5&std=0.5"
    fill(app, "extract-weights", str(tmp_path / "absent.safetensors"))
    assert "there is no" in words(app)
    assert "ε does not cover rows that pre-training saw" in words(app)


def test_weights_can_be_sent(start, tmp_path):
    app = start("rows", data="digits")
    fill(app, "extract-backbone", "resnet50:dino")
    save_file({"x": torch.zeros(3)}, tmp_path / "weights.safetensors")
    content = (tmp_path / "weights.safetensors").read_bytes()
    send(app, "extract-upload", {"weights.safetensors": content})
    press(app, "use-backbone")
    kept = Path(names.address(linked(app)["backbone"]).weights)
    assert kept.read_bytes() == content
    assert kept.parent == pc.store.default().root / "weights"
    assert kept.parent.stat().st_mode & 0o077 == 0


def test_a_bad_option_says_what_is_allowed_and_rows_of_numbers_need_no_backbone(start):
    app = start("rows", data="digits")
    fill(app, "extract-backbone", "resnet50:dino")
    assert "needs its weights as a local file" in words(app)
    fill(app, "extract-backbone", "timm:resnet50.tv_in1k")
    fill(app, "extract-options", "input_size=3")
    assert "input_size must be a whole number in [8, 4096]" in words(app)
    assert "use-backbone" not in [button.key for button in app.button]
    app = start("rows", data="breast_cancer")
    assert "no backbone is needed" in words(app)


def test_forgetting_an_upload_of_images_removes_every_backbones_features(start):
    start("start")
    name = uploads.keep(bright(80))
    splitting.load_named_features(name, "scattering")
    app = start("rows", data=name, backbone="scattering")
    assert metric(app, "Features") == "324"
    press(app, "forget")
    assert not pc.store.default().ls("arrays")
    assert linked(app)["data"] == Settings().data


def test_a_file_that_was_corrected_is_checked_again(start, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a\n1\n", encoding="utf-8")
    app = start("rows")
    fill(app, "upload-path", str(path))
    assert "cannot be used" in words(app)
    assert app.button(key="upload-check")
    path.write_text(
        "a,b,label\n"
        + "".join(f"{row},{row + 1},{'yes' if row % 2 else 'no'}\n" for row in range(40)),
        encoding="utf-8",
    )
    app.run()
    assert "cannot be used" not in words(app)
    assert "Ready" in words(app) or "Ready" in words(app, "success")


def test_a_brought_file_is_read_once_and_let_go_when_it_is_used(start, monkeypatch):
    """A random share, and each move of its slider, read the whole file again, and the button a
    third time."""
    read = []
    whole = reader.Reading._read
    monkeypatch.setattr(
        reader.Reading,
        "_read",
        lambda self, *given: read.append(self._title) or whole(self, *given),
    )
    x = np.random.default_rng(0).normal(size=(90, 4))
    app = start("rows")
    send(app, "upload", {"mine.npz": npz(x_train=x, y_train=np.arange(90) % 2)})
    choose(app, "upload-public", 0)
    app.run()
    press(app, "use-upload")
    assert uploads.title_of(linked(app)["data"]) == "mine.npz"
    assert read == ["mine.npz"]
    assert not [item for item in app.button if item.key == "use-upload"], "its bytes are let go"


def test_memory_that_runs_out_is_one_sentence(start, monkeypatch):
    def granted():
        raise MemoryError

    app = start("rows")
    monkeypatch.setattr(room, "memory_limit", granted)
    monkeypatch.setattr(reader, "_take_process", granted)
    send(app, "upload", {"mine.csv": b"a,label\n1,x\n2,y\n"})
    assert "not enough free memory" in words(app)


def test_the_map_s_points_have_the_pictures_of_their_rows_and_a_model_s_answers(start):
    app = start("rows", data="digits", k="8", controls="map-colour:model", v="2")
    settings = Settings(data="digits", k=8)
    split = core.split(settings)
    pixels = core.public_images(settings).reshape(len(split.public_x), -1) / 255
    assert np.allclose(pixels, split.public_x, atol=1e-6)
    figure = json.loads(charts(app)["chart-public_map"])
    assert "says" in figure["layout"]["title"]["subtitle"]["text"]
    assert all("customdata" in trace for trace in figure["data"])
    assert browser.sheet(np.zeros((3, 8, 8), dtype=np.uint8), 2).startswith(
        "data:image/jpeg;base64,"
    )


def test_the_sidebar_offers_maps_of_columns_for_tables_and_networks_for_images(start):
    app = start("curves", data="breast_cancer", k="0", epsilon="1")
    chooser = app.selectbox(key="control.backbone")
    titles = [pc.BACKBONES[name].title for name in ("ramps", "bins", "fourier")]
    assert chooser.options == ["As given", *titles]
    chooser.select("bins").run()
    assert not app.exception
    assert linked(app)["backbone"] == "bins"
    assert "columns of numbers, 30 in all, became 510" in " ".join(
        core.split(Settings(data="breast_cancer", backbone="bins")).notes
    )
    app = start("curves", data="digits", backbone="bins")
    assert "images take none" in words(app)
    assert linked(app)["backbone"] == "auto"
    assert set(titles).isdisjoint(app.selectbox(key="control.backbone").options)
