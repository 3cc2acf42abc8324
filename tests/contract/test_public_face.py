"""The flat names that outside code calls, with the signatures that it relies on."""

import ast
import importlib
import inspect
import pickle

import pytest

import pillar_core as pc
from pillar_core.errors import PillarError

SIGNATURES = {
    "advise": (
        "(split, *, epsilon=1.0, delta=1e-05, relation='add_or_remove_one', candidates=None,"
        " alike=(), target_accuracy=None, metric=None, seed=0)"
    ),
    "choose": (
        "(private, candidates, *, epsilon, delta=1e-05, relation='add_or_remove_one',"
        " backbones=None, methods=None, metric=None, seed=0)"
    ),
    "load_dataset": "(name, *, seed=0, download=False, **settings)",
    "load_images": "(path)",
    "load_features": (
        "(source, backbone=None, *, weights=None, device='auto', batch_size=64, label=None,"
        " person=None, leave_out=(), keys=None, recipe=None, public=None, text=None,"
        " ranges=None,"
        " rows_per_person=None)"
    ),
    "features": "(x_train, y_train, x_test=None, y_test=None, classes=None)",
    "split": (
        "(data, *, public_fraction=None, public_per_class=None, public=None,"
        " validation_fraction=0.0, text_embeddings=None, persons=None, rows_per_person=1,"
        " allow_overlap=False, seed=0)"
    ),
    "sweep": "(grid, *, scheduler=None, progress=None)",
    "epsilon": (
        "(noise_multiplier, *, sampling_probability=1.0, steps=1, delta=1e-05, accountant='auto',"
        " relation='add_or_remove_one')"
    ),
    "noise_multiplier": (
        "(epsilon, *, delta=1e-05, sampling_probability=1.0, steps=1, accountant='auto',"
        " relation='add_or_remove_one')"
    ),
    "load_model": "(path)",
    "check_run": (
        "(*, n=None, batch_size=None, steps=None, epochs=None, noise_multiplier=None, epsilon=None,"
        " delta=None, l2_clip_norm=None, sampler=None, script=None, command=None)"
    ),
}


def bare(function):
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def test_signatures_and_registries():
    assert {name: bare(getattr(pc, name)) for name in SIGNATURES} == SIGNATURES
    parameters = inspect.signature(pc.run).parameters
    names = [
        "method",
        "split",
        "epsilon",
        "delta",
        "relation",
        "accountant",
        "seed",
        "preset",
        "chosen_beforehand",
        "metric",
        "settings",
    ]
    assert list(parameters) == names
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in names[2:-1])
    for registry in (pc.METHODS, pc.DATASETS, pc.BACKBONES, pc.ACCOUNTANTS):
        assert all(registry[name].name == name for name in registry)
        assert len({item.title for item in registry.values()}) == len(registry)
    assert {"non_private", "dp_sgd", "pillar", "jl", "noisy_gd"} <= set(pc.METHODS)
    assert {"digits", "breast_cancer", "gaussian_mixture", "spiked_features"} <= set(pc.DATASETS)
    assert {"identity", "raw_pixels"} <= set(pc.BACKBONES)
    assert {"auto", "pillar", "prv", "pld", "rdp", "gdp", "analytic_gaussian", "basic"} <= set(
        pc.ACCOUNTANTS
    )
    assert all(hasattr(pc, name) for name in pc.__all__)
    assert set(pc.__all__) | {"__version__"} <= set(dir(pc))
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        pc.torch  # noqa: B018  # the access is what is tested


@pytest.mark.parametrize(
    "name", ["accounting", "auditing", "geometry", "jobs", "plots", "screening", "store", "theory"]
)
def test_public_submodules_list_their_names(name):
    module = getattr(pc, name)
    assert module.__all__
    assert all(hasattr(module, item) for item in module.__all__)
    for function in (
        getattr(module, item)
        for item in module.__all__
        if name != "store" and inspect.isfunction(getattr(module, item))
    ):
        with pytest.raises(PillarError, match=f"^{function.__name__} takes "):
            function(no_such_argument=0)
        assert pickle.loads(pickle.dumps(function)) is function


def test_names_resolved_late_are_those_that_type_checkers_see():
    tree = ast.parse(inspect.getsource(pc))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in imports
        for alias in node.names
    }
    assert seen.keys() == set(pc.__all__)
    for name, (module, attribute) in seen.items():
        own = getattr(pc, name)  # imports a module, which its package names from then on
        found = getattr(importlib.import_module(module), attribute)
        assert inspect.unwrap(own) is inspect.unwrap(found), name
