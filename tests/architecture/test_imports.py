"""The house as drawn in docs/architecture.md: rows that import downwards only, and third parties where they belong."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pillar_core import deferred

REPOSITORY = Path(__file__).resolve().parents[2]
CORE = REPOSITORY / "pillar_core"
ROWS = (
    {"errors", "arrays", "deferred"},
    {
        "params",
        "registry",
        "fingerprint",
        "rng",
        "numerics",
        "memo",
        "grouping",
        "threads",
        "spreadsheets",
        "events",
        "installation",
        "extras",
    },
    {"checks"},
    {"types", "ledger", "store"},
    {"data", "backbones", "splits", "mechanisms", "accounting", "metrics", "plots"},
    {"engine", "subspace"},
    {"methods", "screening", "geometry", "auditing", "theory"},
    {"runs"},
    {"jobs"},
    {"studies"},
    {"jobs.kinds"},
    {"commands"},
    {"__main__", "explorer"},
)
"""Lowest first. What a job can do is wired above the machinery of jobs, which finds its kinds by name."""
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}
FACE = CORE / "__init__.py"
ONLY_IN = {
    "streamlit": ("app.py", "pages/"),
    "plotly": ("pillar_core/plots/",),
    "dp_accounting": ("pillar_core/deferred.py", "pillar_core/events.py", "pillar_core/ledger.py", "pillar_core/accounting/"),
    "prv_accountant": ("pillar_core/accounting/",),
    "diskcache": ("pillar_core/store/",),
}
LAZY = {"opacus", "peft", "ot", "open_clip", "timm", "torchvision", "sklearn", "datasets", "medmnist", "onnxruntime"}
GENERATORS = {"default_rng", "Generator", "RandomState", "PCG64", "Philox", "MT19937", "SFC64"}
FILES = sorted([*CORE.rglob("*.py"), *(REPOSITORY / "pages").rglob("*.py"), REPOSITORY / "app.py"])
FOLDERS = {
    str(folder.relative_to(REPOSITORY)): [path for path in FILES if path.parent == folder] for folder in {file.parent for file in FILES}
}
"""The files of each folder: a test a folder costs a fifth of a test a file."""
each_folder = pytest.mark.parametrize("name", sorted(FOLDERS))


@functools.cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """(absolute module name, whether it runs at import time) of every import in a file, lazy and relative ones too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    package = path.relative_to(REPOSITORY).with_suffix("").parts[:-1]
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(f"{module}.{alias.name}", id(node) not in lazy) for alias in node.names]
    return found


def named(module: str) -> str:
    """The module itself where the import goes through `pillar_core.deferred`."""
    place, _, name = module.rpartition(".")
    return str(getattr(getattr(deferred, name), "__name__", module)) if place == "pillar_core.deferred" else module


def folder_of(module: str) -> str:
    """The entry of `ROWS` that a module below pillar_core belongs to."""
    parts = module.split(".")[1:] or ["__init__"]
    return ".".join(parts[:2]) if ".".join(parts[:2]) in ROW_OF else parts[0]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [name for name in sorted(FOLDERS) if name.startswith("pillar_core")])
def test_imports_go_down(name):
    folders = {path: folder_of(module_of(path)) for path in FOLDERS[name] if path != FACE}
    assert set(folders.values()) <= ROW_OF.keys(), "add it to the architecture first"
    for path, module in [(file, module) for file in folders for module, _ in imports(file)]:
        folder, parts = folders[path], module.split(".")
        if parts[0] != "pillar_core":
            assert parts[0] not in ("pages", "app"), f"{path.name} imports {module}"
            continue
        target = folder_of(module)
        assert target in ROW_OF, f"{path.name} imports {module}: take it from where it is defined"
        allowed = target == folder or ROW_OF[target] < ROW_OF[folder]
        assert allowed, f"{path.name} of {folder} (row {ROW_OF[folder]}) imports {target} (row {ROW_OF[target]})"


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in FILES}
    arrows = {
        name: {target for target in map(_known_in(modules), (found for found, _ in imports(path))) if target}
        for name, path in modules.items()
    }
    while leaves := [name for name, targets in arrows.items() if not targets & arrows.keys() - {name}]:
        for name in leaves:
            del arrows[name]
    assert not arrows, f"each of these imports another of them, lazily or not: {sorted(arrows)}"


def _known_in(modules):
    def known(name: str) -> str | None:
        """The module that an import names; a package counts where a name is taken from its own `__init__`."""
        return next((candidate for candidate in (name, name.rpartition(".")[0]) if candidate in modules), None)

    return known


@pytest.mark.parametrize("folder", sorted({path.parent for path in [*FILES, *(REPOSITORY / "tests").rglob("*.py")]}), ids=str)
def test_no_folder_is_crowded(folder):
    assert len(list(folder.glob("*.py"))) <= 30


@each_folder
def test_third_parties_stay_where_they_belong(name):
    for file, module, runs_at_import in [(str(path.relative_to(REPOSITORY)), *found) for path in FOLDERS[name] for found in imports(path)]:
        root = named(module).split(".")[0]
        if root in ONLY_IN:
            assert file.startswith(ONLY_IN[root]), f"{file} imports {root}"
        assert not (root in LAZY and runs_at_import), f"{file} imports {root} at import time; import it in the function that needs it"


@each_folder
def test_generators_are_made_in_rng_alone(name):
    files = [path for path in FOLDERS[name] if path.name != "rng.py"]
    for path, node in [(file, node) for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]:
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert called not in GENERATORS, f"{path.name}:{node.lineno} makes a generator; take a stream from pillar_core.rng"


@pytest.mark.parametrize("path", list((REPOSITORY / "pages").glob("*.py")), ids=lambda path: path.name)
def test_pages_hold_no_mathematics(path):
    assert not {named(module).split(".")[0] for module, _ in imports(path)} & {"numpy", "torch", "scipy", "sklearn"}


def test_optional_packages_are_loaded_when_they_are_needed():
    """One process: the import, then a list of data sets without a network, then quick tables of ε."""
    code = """
import json, socket, sys
def note(step):
    print(json.dumps({step: sorted({name.split(".")[0] for name in sys.modules})}))
import pillar_core
note("import")
def refuse(*_, **__):
    raise SystemExit("network")
socket.socket.connect = refuse
from pillar_core.__main__ import main
if main(["list", "datasets"]) == 0:
    note("list")
from pillar_core.studies import privacy_tables as tables
run = tables.GaussianSetting(1.0, 0.02, 20, 1e-5, "add_or_remove_one")
tables.by_accountant(run, tables.QUICK)
tables.against_steps(run, ("pillar", "rdp", "gdp"))
note("accounting")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert "chest_xray14" in done.stdout
    notes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    loaded = {step: set(packages) for one in notes for step, packages in one.items()}
    assert not loaded["import"] & (LAZY | {"streamlit", "distributed", "prv_accountant"})
    assert not loaded["list"] & {"torchvision", "medmnist", "datasets", "timm"}
    assert "opacus" not in loaded["accounting"], "importing Opacus takes two seconds; its accountant is asked on demand"


def test_the_readme_holds_the_test_command_of_continuous_integration():
    readme, script = ((REPOSITORY / name).read_text(encoding="utf-8") for name in ("README.md", ".ci/run"))
    assert next(line for line in script.splitlines() if "-m pytest" in line) in readme
