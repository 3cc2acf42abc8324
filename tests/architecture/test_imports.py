"""The house as drawn in docs/architecture.md: rows that import downwards only, and third parties
where they belong."""

import ast
import collections
import csv
import functools
import re
from pathlib import Path

import pytest
from repository import REPOSITORY, text_of

from pillar_core import deferred

CORE = REPOSITORY / "pillar_core"
ROWS = (
    {"errors", "arrays", "deferred", "memo"},
    {
        "params",
        "registry",
        "fingerprint",
        "rng",
        "numerics",
        "grouping",
        "threads",
        "events",
        "installation",
        "mode",
        "extras",
    },
    {"checks"},
    {"types", "ledger", "store", "texts"},
    {"data", "backbones", "splits", "mechanisms", "accounting", "metrics", "plots"},
    {"engine", "subspace", "opacus"},
    {"methods", "screening", "geometry", "auditing", "theory"},
    {"runs"},
    {"jobs"},
    {"studies"},
    {"jobs.kinds"},
    {"commands"},
    {"__main__", "explorer"},
)
"""Lowest first. What a job can do is wired above the machinery of jobs, which finds its kinds by
name."""
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}
FACE = CORE / "__init__.py"
ONLY_IN = {
    "streamlit": ("app.py", "pages/"),
    "plotly": ("pillar_core/plots/",),
    "dp_accounting": ("pillar_core/accounting/pld.py",),
    "prv_accountant": ("pillar_core/accounting/",),
    "diskcache": ("pillar_core/store/",),
}
LAZY = {
    "opacus",
    "peft",
    "ot",
    "open_clip",
    "timm",
    "torchvision",
    "sklearn",
    "datasets",
    "medmnist",
    "onnxruntime",
}
EXTENDS = {("pillar_core/studies/estimator.py", "sklearn")}
"""Modules whose class extends one of theirs: nothing but the public face's name imports them."""
GENERATORS = {"default_rng", "Generator", "RandomState", "PCG64", "Philox", "MT19937", "SFC64"}
FILES = sorted([*CORE.rglob("*.py"), *(REPOSITORY / "pages").rglob("*.py"), REPOSITORY / "app.py"])


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text_of(path))))


@functools.cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """(absolute module name, whether it runs at import time) of every import in a file, lazy and
    relative ones too."""
    functions = [
        node for node in nodes_of(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lazy = {
        line
        for function in functions
        for line in range(function.lineno, (function.end_lineno or 0) + 1)
    }
    package = path.relative_to(REPOSITORY).with_suffix("").parts[:-1]
    found: list[tuple[str, bool]] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno not in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(f"{module}.{alias.name}", node.lineno not in lazy) for alias in node.names]
    return found


def named(module: str) -> str:
    """The module itself where the import goes through `pillar_core.deferred`."""
    place, _, name = module.rpartition(".")
    return (
        str(getattr(getattr(deferred, name), "__name__", module))
        if place == "pillar_core.deferred"
        else module
    )


def folder_of(module: str) -> str:
    """The entry of `ROWS` that a module below pillar_core belongs to."""
    parts = module.split(".")[1:] or ["__init__"]
    return ".".join(parts[:2]) if ".".join(parts[:2]) in ROW_OF else parts[0]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def test_imports_go_down():
    offenders = []
    for path in FILES:
        if path == FACE or not path.is_relative_to(CORE):
            continue
        folder = folder_of(module_of(path))
        assert folder in ROW_OF, f"{folder}: add it to the architecture first"
        for module, _ in imports(path):
            if not module.startswith("pillar_core."):
                offenders += (
                    [f"{path} imports {module}"] if module.split(".")[0] in ("pages", "app") else []
                )
                continue
            target = folder_of(module)
            if target not in ROW_OF:
                offenders.append(f"{path} imports {module}: take it from where it is defined")
            elif target != folder and ROW_OF[target] >= ROW_OF[folder]:
                offenders.append(
                    f"{path} of {folder} (row {ROW_OF[folder]}) imports {target} (row"
                    f" {ROW_OF[target]})"
                )
    assert not offenders, "\n".join(offenders)


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in FILES}
    arrows = {
        name: {_known(found, modules) for found, _ in imports(path)} - {None}
        for name, path in modules.items()
    }
    while leaves := [
        name for name, targets in arrows.items() if not targets & arrows.keys() - {name}
    ]:
        for name in leaves:
            del arrows[name]
    assert not arrows, f"each of these imports another of them, lazily or not: {sorted(arrows)}"


def test_of_streamlit_and_starlette_these_names_alone_are_relied_on_beside_the_documented_functions():
    """The pin is as wide as this list is short: a session's thread, signals to stop, uploads'
    bytes, a visitor's messages."""
    names = {
        name
        for path in FILES
        for name, _ in imports(path)
        if name.startswith(("streamlit.", "starlette."))
    }
    assert names == {
        "starlette.middleware.Middleware",
        "starlette.requests.HTTPConnection",
        "starlette.responses.RedirectResponse",
        "starlette.responses.Response",
        "starlette.routing.Route",
        "streamlit.errors.FragmentHandledException",
        "streamlit.proto.BackMsg_pb2.BackMsg",
        "streamlit.runtime.memory_uploaded_file_manager.MemoryUploadedFileManager",
        "streamlit.runtime.scriptrunner.get_script_run_ctx",
    }
    assert not [
        path for path in FILES if re.search(r"st\.runtime|Path\(st\.__file__\)", text_of(path))
    ]


def _known(name, modules):
    """The module that an import names; a package counts where a name is taken from its own
    `__init__`."""
    return next(
        (candidate for candidate in (name, name.rpartition(".")[0]) if candidate in modules), None
    )


def test_no_folder_is_crowded_and_generators_are_made_in_rng_alone():
    folders = collections.Counter(
        path.parent for path in [*FILES, *(REPOSITORY / "tests").rglob("*.py")]
    )
    assert {str(folder): count for folder, count in folders.items() if count > 30} == {}
    calls = [
        (path, node)
        for path in FILES
        if path.name != "rng.py"
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
    ]
    offenders = [
        f"{path}:{node.lineno} makes a generator; take a stream from pillar_core.rng"
        for path, node in calls
        if (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        in GENERATORS
    ]
    assert not offenders, "\n".join(offenders)


def test_third_parties_stay_where_they_belong_and_pages_hold_no_mathematics():
    offenders = []
    for path in FILES:
        file = str(path.relative_to(REPOSITORY))
        for module, runs_at_import in imports(path):
            root = named(module).split(".")[0]
            offenders += (
                [f"{file} imports {root}"] if not file.startswith(ONLY_IN.get(root, "")) else []
            )
            if root in LAZY and runs_at_import and (file, root) not in EXTENDS:
                offenders.append(
                    f"{file} imports {root} at import time; import it in the function that needs it"
                )
            if REPOSITORY / "pages" in path.parents and root in (
                "numpy",
                "plotly",
                "scipy",
                "sklearn",
                "torch",
            ):
                offenders.append(f"{file} imports {root}: a page computes nothing itself")
    assert not offenders, "\n".join(offenders)


@pytest.mark.parametrize("listed", ["slow_tests.csv", "statistical/errors.csv"])
def test_every_listed_test_exists(listed):
    with (REPOSITORY / "tests" / listed).open(newline="", encoding="utf-8") as file:
        names = [row["test"].split("[")[0].split("::") for row in csv.DictReader(file)]
    files = {path for path, _ in names if (REPOSITORY / path).exists()}
    texts = {path: text_of(path) for path in files}
    gone = [(path, name) for path, name in names if f"def {name}(" not in texts.get(path, "")]
    assert not gone, "take their lines out; `pytest --cpu-report` writes tests/slow_tests.csv again"


def test_the_readme_holds_the_test_command_of_continuous_integration():
    command = next(line for line in text_of(".ci/run").splitlines() if "-m pytest" in line)
    assert command in text_of("README.md")
