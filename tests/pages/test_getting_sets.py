"""Get it: from the card of a set that is not here, over its download and its features, to Curves;
from a server on the loopback."""

import socket

import pytest
import served_files
from safetensors.torch import save

import pillar_core as pc
from page_reading import fill, links, metric, press, words
from pillar_core.jobs import JOB_KINDS, api
from pillar_core.jobs.kind import payload_of
from pillar_core.jobs.kinds import fetch
from pillar_core.jobs.state import Folder
from unit.image_files import encoded, images_of, written

MNIST = "torchvision:mnist"
QUICK = "m:linear_head;n:100;k:2;e:no;s:gsd;p:digits;c:drawn_noise"
HUB, SMALL = "hub:owner/photos", "timm:test_efficientnet.r160_in1k"


def work() -> None:
    """Does here, by the library's own kinds, what waits for the jobs process; tests/unit/jobs
    starts one."""
    for waiting in pc.jobs.status():
        if waiting.state == "queued":
            kind, asked = JOB_KINDS[waiting.kind], payload_of(pc.jobs.spec(waiting.job_id))
            Folder(pc.store.default().root).job(waiting.job_id).answer(
                kind.name, kind.run(asked, lambda *_: None, lambda: False)
            )


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with a set and with weights, for this process, whose library is imported already and
    which starts no jobs process."""
    monkeypatch.delenv("PILLAR_DATA", raising=False)
    served_files.without_proxies(monkeypatch)
    monkeypatch.setattr(api, "_attend", lambda *_: None)
    rows = served_files.parquet(*images_of(60, (16, 16, 3), 3))
    timm = pytest.importorskip("timm")  # at the top it would take two seconds in every worker
    weights = save(timm.create_model("test_efficientnet", num_classes=0).state_dict())
    files = {
        "owner/photos/data/train-00000-of-00001.parquet": rows,
        "timm/test_efficientnet.r160_in1k/model.safetensors": weights,
    }
    with served_files.serving(files) as server:
        address = server.address.rstrip("/")
        for name, value in (
            ("ENDPOINT", address),
            ("HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"),
        ):
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
        monkeypatch.setattr("datasets.config.HF_ENDPOINT", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub" / "hub"))
        yield server


def test_a_hub_set_and_a_backbones_weights_come_with_one_button_each_and_lead_to_explore(
    start, hub
):
    """The size is asked for by a press and said before the next; Public data offers the set; weights
    hand on to the extraction."""
    app = start("rows")
    fill(app, "local-widget.paper-set", "by name")
    fill(app, "paper-name", HUB)
    assert not hub.asked
    assert "get-run" not in [button.key for button in app.button]
    press(app, "get-ask")
    assert "0.1 MB at about 5 MB a second; licence: cc0-1.0" in words(app)
    press(app, "get-run")
    work()
    fetched = pc.jobs.result(pc.jobs.find(fetch.specification(HUB)).job_id)
    assert fetched["n_train"] == 48
    assert pc.jobs.status(fetched["extraction"]).state == "queued"
    work()
    link = links(app.run())["Explore it"]
    assert (link["data"], link["backbone"]) == (HUB, "efficientnet_lite0")
    assert 0 <= float(metric(start("curves", **link), "Test accuracy").removesuffix(" %")) <= 100
    offered = start("public_data", screen=QUICK).get("button_group")
    assert any(
        option.content == "Hub: owner/photos" for group in offered for option in group.proto.options
    )

    app = start("rows", data=HUB, backbone=SMALL)
    asked = hub.asked.total()
    assert (
        "MB at about 5 MB a second; licence: apache-2.0. The features follow by themselves"
        in words(app)
    )
    assert hub.asked.total() == asked
    press(app, "job-run")
    work()
    work()
    assert any("every page uses the features of" in done.value for done in app.run().success)


def test_a_link_to_a_set_that_is_not_here_fetches_nothing_before_the_press(start, monkeypatch):
    monkeypatch.delenv("PILLAR_DATA", raising=False)
    monkeypatch.setattr(
        socket, "create_connection", lambda *_, **__: pytest.fail("a connection was opened")
    )
    for page in ("curves", "rows"):
        app = start(page, data=MNIST, controls=f"paper-set:{MNIST}")
        assert "is not on this machine" in words(app)
        assert not pc.jobs.status()
    assert "11 MB at about 5 MB a second; licence: CC BY-SA 3.0" in words(app)
    assert app.button(key="get-run").label == "Get it"


def test_a_set_that_cannot_be_fetched_has_its_steps_and_no_button(start):
    app = start("rows")
    fill(app, "local-widget.paper-set", "cub_200")
    assert "get-run" not in [button.key for button in app.button]
    assert "By hand: unpack CUB_200_2011.tgz" in words(app)
    assert app.text_input(key="root-cub_200").value == ""


def test_a_folder_is_checked_before_its_rows_are_used(start, tmp_path, monkeypatch):
    x, y = images_of(40, (12, 12), 2)
    for number, (pixels, label) in enumerate(zip(x, y, strict=True)):
        side, name = "train" if number < 30 else "test", ("benign", "malignant")[label]
        written(tmp_path / "moles", {f"{side}/{name}/{number}.png": encoded(pixels)})
    app = start("rows", **{"paper-set": "kagskin"})
    fill(app, "local-widget.paper-set", "kagskin")
    fill(app, "root-kagskin", str(tmp_path / "empty"))
    assert "could not be read" in words(app)
    fill(app, "root-kagskin", str(tmp_path / "moles"))
    assert app.query_params["data"].startswith("stored")
