"""From a press of *Get it* to a curve, in a real browser, with everything killed in the middle; CIFAR-10's layout from the loopback."""

import json
from pathlib import Path
from typing import Any

import psutil
import pytest
import served_files

from e2e import browser
from pillar_core import jobs
from pillar_core.jobs.kinds import extraction, fetch
from unit.image_files import images_of

CIFAR, TAR = "torchvision:cifar10", "cifar-10-python.tar.gz"
MODULE = """
import json, os
from torchvision.datasets import CIFAR10
from pillar_core.data.images.cifar import VERSIONS
CIFAR10.url, CIFAR10.tgz_md5, sums = json.loads(os.environ["SERVED_SETS"])
VERSIONS["cifar-10-batches-py"].md5.update(sums)
"""


def test_a_killed_download_goes_on_and_leads_to_explore(new_page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """App, jobs process and workers die while half of the tar is here; the next app finishes it, the features and the link."""
    cache, content = tmp_path / "cache", served_files.cifar10(*images_of(60, (32, 32, 3), 10))
    (tmp_path / "served_sets_here.py").write_text(MODULE, encoding="utf-8")
    with served_files.serving({TAR: content}) as served:
        served.has_ranges = True
        sums = [f"{served.address}{TAR}", served_files.md5(content), served_files.checksums(content)]
        settings = {"PILLAR_CACHE": str(cache), "PILLAR_JOB_MODULES": "served_sets_here", "SERVED_SETS": json.dumps(sums)}
        for name, value in (settings | {"PYTHONPATH": str(tmp_path)}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delenv("PILLAR_DATA", raising=False)
        served_files.without_proxies(monkeypatch)
        served.gate.clear()
        with browser.server(cache) as address:
            page = new_page()
            browser.opened(page, f"{address}/data?data={CIFAR}")
            page.get_by_role("button", name="Get it").click()
            page.get_by_text(f"{TAR}:").wait_for()
            server = psutil.Process(int(json.loads((cache / "jobs" / "server.json").read_bytes())["pid"]))
            family = [server, *server.children(recursive=True)]
            for process in family:
                process.kill()
            assert not psutil.wait_procs(family, timeout=browser.START_SECONDS)[1]
        place = next(cache.rglob(f"{TAR}.partial"))
        assert 0 < place.stat().st_size < len(content)
        served.gate.set()
        try:
            with browser.server(cache) as address:
                page = new_page()
                browser.opened(page, f"{address}/data?data={CIFAR}")
                page.get_by_role("link", name="Explore it").click()
                page.get_by_text("Test accuracy").first.wait_for()
                browser.settled(page)
                browser.expect_in_link(page, f"data={CIFAR}", "backbone=efficientnet_lite0")
                browser.expect_no_error(page)
        finally:
            assert jobs.stop(timeout=browser.START_SECONDS)
        assert jobs.find(extraction.specification(CIFAR, "efficientnet_lite0")).state == "done"
        assert jobs.result(jobs.find(fetch.specification(CIFAR)).job_id)["n_train"] == 50
        assert served.sent[TAR] < 2 * len(content), "what came before the kill was not sent again"
