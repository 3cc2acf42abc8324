"""The package: what the wheel holds, that its command serves the app from there, and that extras
are the same wherever they stand."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from repository import REPOSITORY, text_of
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

import pillar_core as pc
from e2e import browser
from pillar_core.extras import EXTRAS, how_to_get
from pillar_core.runs.versions import VERSION
from processes import started

PROJECT = tomllib.loads(text_of("pyproject.toml"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        check=True,
        cwd=REPOSITORY,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The wheel in an empty folder, its requirements being here already."""
    target = tmp_path_factory.mktemp("target")
    (wheel,) = built.glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    return target


def requirements(name: str) -> set[str]:
    lines = text_of(name).splitlines()
    return {
        line.partition("#")[0].strip()
        for line in lines
        if line and not line.startswith(("#", "-r"))
    }


def test_extras_are_the_same_in_project_requirements_and_messages():
    extras = {
        name: wanted for name, wanted in PROJECT["optional-dependencies"].items() if name != "all"
    }
    wanted = {
        (requirement, name)
        for name, requirements_of in extras.items()
        for requirement in requirements_of
    }
    assert {(re.split("[<>=]", requirement)[0], name) for requirement, name in wanted} == set(
        EXTRAS.values()
    )
    installed = {
        requirement
        for requirement, name in wanted
        if name not in ("sentences", "mlflow", "backbones")
    }  # for one test each
    assert installed <= requirements("requirements-dev.txt") - requirements("requirements.txt")
    assert all(name in PROJECT["optional-dependencies"]["all"][0] for name in extras)


def test_the_version_is_the_same_and_the_names_that_others_call_stand():
    cited = yaml.safe_load(text_of("CITATION.cff"))
    changes = re.search(r"^## (\S+)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert changes is not None
    assert PROJECT["version"] == VERSION == cited["version"] == changes[1]
    assert cited["license"] == PROJECT["license"]
    # Frozen: scripts, links and checks from outside call them.
    names = (
        "load_dataset load_images load_features features split run sweep epsilon noise_multiplier"
        " gsd screen xi margins load_model"
    )
    names += (
        " advise choose private_test METHODS DATASETS BACKBONES ACCOUNTANTS SCORES"
        " accounting geometry theory"
    )
    names += " auditing screening plots jobs store papers"
    assert [name for name in names.split() if not hasattr(pc, name)] == []


@pytest.mark.parametrize("module", EXTRAS)
def test_a_refusal_names_the_extra(module):
    assert f"`{EXTRAS[module][1]}`" in how_to_get(ImportError("no module", name=f"{module}.part"))


def test_the_wheel_has_one_package_for_the_app_and_one_for_the_library(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "pillar_core",
        "pillar_explorer",
    }
    assert {
        "pillar_explorer/app.py",
        "pillar_explorer/pages/frame/icon.svg",
        "pillar_explorer/.streamlit/config.toml",
    } <= set(names)
    assert {
        f"pillar_core/data/embedded/wordllama_256.{end}"
        for end in ("safetensors", "tokenizer.json", "LICENSE.txt")
    } <= set(names)
    shipped = [path for path in (REPOSITORY / "cache/starter").rglob("*") if path.is_file()]
    assert sum(name.startswith("pillar_explorer/cache/starter/") for name in names) == len(shipped)
    asked = {
        name
        for name, more in re.findall(r"^Requires-Dist: ([^<>=;]+)(.*)$", metadata, re.M)
        if "extra" not in more
    }
    assert asked == {
        re.split("[<>=]", line)[0].lower() for line in requirements("requirements.txt")
    }


def test_the_source_distribution_builds_the_same_wheel(built, tmp_path):
    (source,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    again = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(tmp_path / "dist"),
    ]
    subprocess.run(again, check=True, cwd=folder, capture_output=True)
    first, second = (
        zipfile.ZipFile(path).namelist() for path in (wheel, *(tmp_path / "dist").glob("*.whl"))
    )
    assert sorted(first) == sorted(second)


def test_an_installed_copy_keeps_its_cache_with_the_user_and_answers_from_the_starter(
    installed, tmp_path
):
    code = """
from pillar_core import store
from pillar_core.runs import starter
print(store.default().root, len(starter.missing()), starter.__file__)
"""
    environment = {name: value for name, value in os.environ.items() if name != "PILLAR_CACHE"}
    environment |= {"PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(tmp_path / "caches")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    root, missing, file = done.stdout.split()
    assert (root, missing) == (str(tmp_path / "caches" / "pillar-explorer"), "0")
    assert Path(file).is_relative_to(installed)


def test_the_command_tells_its_version(installed, tmp_path):
    for command in ([str(installed / "bin" / "pillar-explorer")], ["-m", "pillar_core.explorer"]):
        told = [sys.executable, *command, "--version"]
        said = subprocess.check_output(
            told, env=os.environ | {"PYTHONPATH": str(installed)}, cwd=tmp_path, text=True
        )
        assert said == f"pillar-explorer {PROJECT['version']}\n"


def test_the_command_serves_the_app(installed, tmp_path):
    """A visitor without a browser gets the first page with its chart; tests/e2e look at the same
    pages in one."""
    port, asked, message, kinds = str(browser.free_port()), BackMsg(), ForwardMsg(), []
    command = [
        sys.executable,
        str(installed / "bin" / "pillar-explorer"),
        "--headless",
        "--port",
        port,
        "--cache",
        str(tmp_path / "cache"),
    ]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    asked.rerun_script.query_string = ""
    with started(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        browser.wait(f"http://127.0.0.1:{port}", process)
        with connect(
            f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None
        ) as visitor:
            visitor.send(asked.SerializeToString())
            while (
                message.WhichOneof("type") != "script_finished"
                or message.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY
            ):
                content = visitor.recv(timeout=browser.START_SECONDS)
                assert b"met an error that nobody foresaw" not in content
                message = ForwardMsg.FromString(content)
                kinds.append(message.delta.new_element.WhichOneof("type"))
    assert "bidi_component" in kinds
    assert "exception" not in kinds
