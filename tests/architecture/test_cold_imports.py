"""What needs no torch imports none, and whoever comes first, from any thread, finds registries
whole."""

from repository import printed

HEAVY = {
    "torch",
    "torchvision",
    "opacus",
    "timm",
    "open_clip",
    "dask",
    "distributed",
    "sklearn",
    "dp_accounting",
    "prv_accountant",
    "peft",
    "ot",
    "datasets",
    "medmnist",
    "onnxruntime",
    "streamlit",
}
STAGES = """
import contextlib, io, json, socket, sys
stages = {}
def stage(name):
    stages[name] = sorted(sys.modules)
import pillar_core as pc
stage("import")
assert 3.2 < pc.epsilon(1.1, sampling_probability=0.02, steps=1000).upper < 3.3
stage("epsilon")
from pillar_core import plots
from pillar_core.runs import starter
figure = plots.accuracy_against_k(starter.hero_table(starter.GRIDS))
assert figure.data
stage("hero")
for registry in (pc.METHODS, pc.DATASETS, pc.BACKBONES, pc.ACCOUNTANTS, pc.SCORES):
    assert all(item.title for item in registry.values())
stage("cards")
names = {name: getattr(pc, name) for name in pc.__all__ if name != "PrivateClassifier"}
assert names["split"](names["features"]([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]), public_fraction=0.5).facts.n_public == 2
stage("public names and a split")
def refuse(*_, **__):
    raise SystemExit("network")
socket.socket.connect = refuse
from pillar_core.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as listed:
    assert main(["list", "datasets"]) == 0
assert "chest_xray14" in listed.getvalue()
stage("list")
from pillar_core.studies import privacy_tables as tables
run = tables.GaussianSetting(1.0, 0.02, 20, 1e-5, "add_or_remove_one")
tables.by_accountant(run, tables.QUICK)
tables.against_steps(run, ("pillar", "rdp", "gdp"))
stage("accounting")
print(json.dumps(stages))
"""
HELP = """
import contextlib, io, json, sys
from pillar_core.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    main(["--help"])
assert "train one learner" in shown.getvalue()
print(json.dumps([*sys.modules]))
"""
THREADS = """
import json, threading
names = ("METHODS", "DATASETS", "BACKBONES", "ACCOUNTANTS", "SCORES", "METHODS", "DATASETS")
start, sizes, failed = threading.Barrier(3 * len(names)), [], []
def touch(which, name):
    start.wait()
    try:
        import pillar_core as pc
        if which == 0:
            from pillar_core.methods.method import METHODS  # past its package, as pages import it
            sizes.append(("METHODS", len(METHODS)))
        if which == 1:
            from pillar_core import ledger
            assert ledger.gaussian(1.0) == ledger.gaussian(1.0)
        sizes.append((name, len(getattr(pc, name))))
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=touch, args=(which, name)) for which in range(3) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import pillar_core as pc
print(json.dumps([failed, sizes, {name: len(getattr(pc, name)) for name in names}]))
"""


def test_what_needs_no_torch_imports_none():
    stages = {name: set(modules) for name, modules in printed(STAGES).items()}
    assert "opacus" not in stages.pop("accounting"), (
        "importing Opacus takes two seconds; its accountant is asked on demand"
    )
    assert [(name, modules & HEAVY) for name, modules in stages.items() if modules & HEAVY] == []
    assert not stages["import"] & {"numpy", "pandas", "scipy"}
    assert not stages["epsilon"] & {
        "pandas",
        "plotly",
        "scipy.signal",
        "scipy.stats",
        "attr",
        "diskcache",
        "yaml",
        "PIL",
        "pyarrow",
        "tokenizers",
    }
    assert "scipy.stats" not in stages["hero"]


def test_the_help_of_the_command_line_imports_none_and_no_numbers():
    assert not {*printed(HELP)} & {*HEAVY, "numpy", "pandas", "scipy", "pillar_core.methods"}


def test_the_first_use_from_many_threads_finds_registries_whole():
    failed, seen, whole = printed(THREADS)
    assert failed == []
    assert {(name, size) for name, size in seen} == set(whole.items())
