"""Bad arguments, for every parameter of everything that the public face lets be called: a valid result or an error of ours."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pillar_core as pc
from contract import bad_arguments
from contract.bad_arguments import VALUES, nested
from pillar_core import store
from pillar_core.errors import DataError, PillarError, SettingError, UnknownNameError
from pillar_core.jobs import process
from pillar_core.jobs.kind import SCHEDULER_VARIABLE
from pillar_core.runs import sweep as sweeps
from pillar_core.studies import papers

PUBLIC = {name: item for name, item in bad_arguments.public().items() if bad_arguments.parameters(item)}
GRID = {"dataset": "gaussian_mixture", "dataset_settings": {"n": 20, "n_test": 4, "d": 3}, "method": "only_public", "public_fraction": 0.5}
AXES = (*sweeps.AXES, "dataset_settings", "k", "standardise", "no_such_axis", 5)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """A valid call of each, in a cache and a working folder of its own; no process starts and no published table is trained."""
    folder = tmp_path_factory.mktemp("arguments")

    def no_sweep(*_: Any, **__: Any) -> Any:
        raise DataError("a published table is too dear to train here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILLAR_CACHE", str(folder / "cache"))
        patch.setenv(SCHEDULER_VARIABLE, "")  # which `jobs.use_scheduler` sets: put back afterwards
        patch.chdir(folder)
        patch.setattr(process, "ensure", lambda folder: None)
        patch.setattr(papers, "sweep", no_sweep)
        found = bad_arguments.bases(folder)
        pc.jobs.use_scheduler("tcp://127.0.0.1:1")  # whose lock file then lies there whichever test comes first
        yield found


def files() -> set[str]:
    """Everything in the cache."""
    return {os.path.join(folder, name) for folder, _, names in os.walk(store.default().root) for name in names}


def has_run(function: Callable[..., Any], error: BaseException) -> bool:
    """Whether the function itself was reached before the error, or was refused at the door."""
    body, trace = inspect.unwrap(getattr(function, "__init__", function) if inspect.isclass(function) else function), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is body.__code__:
            return True
        trace = trace.tb_next
    return False


def test_the_table_of_valid_calls_is_complete(bases: dict[str, dict[str, Any]]) -> None:
    assert sorted(bases) == sorted(PUBLIC)
    for name, arguments in bases.items():
        if name not in bad_arguments.REFUSED:
            PUBLIC[name](**arguments)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_bad_argument_is_refused_by_an_error_of_ours_and_writes_nothing(bases: dict[str, dict[str, Any]], name: str) -> None:
    function, failures, known = PUBLIC[name], [], files()
    for parameter in bad_arguments.parameters(function).values():
        place = "any" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        for title, value in VALUES.items():
            case = f"{place} = {title}"
            try:
                function(**{**bases[name], place: value})
            except PillarError as error:
                if has_run(function, error) and known != (known := files()):
                    failures.append(f"{case}: refused, and something was written")
            except Exception as error:  # noqa: BLE001  # an error of any other kind is what the test looks for
                failures.append(f"{case}: {type(error).__name__}: {error!s:.100}")
            else:
                known = files()
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", [name for name, item in PUBLIC.items() if dataclasses.is_dataclass(item)])
def test_public_dataclasses_check_their_fields(bases: dict[str, dict[str, Any]], name: str) -> None:
    for field in dataclasses.fields(PUBLIC[name]):
        with pytest.raises(PillarError, match=f"^{field.name} must be .*; got object"):
            PUBLIC[name](**{**bases[name], field.name: object()})


def test_messages_say_parameter_expectation_and_what_was_given_without_data(bases: dict[str, dict[str, Any]]) -> None:
    with pytest.raises(SettingError, match=r"^steps must be a whole number; got list\.$"):
        pc.epsilon(1.0, steps=[1234])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(SettingError, match=r"^mode must be one of light, dark; got 'pale'"):
        pc.plots.rates(**bases["plots.rates"], mode="pale")
    with pytest.raises(DataError, match=r"^others must have the axes \(m, d\), d = 4; got ndarray float64 \(3, 5\)"):
        pc.screening.bures_wasserstein(**{**bases["screening.bures_wasserstein"], "others": bad_arguments.np.ones((3, 5))})


FRAMES = {name: item for name, item in PUBLIC.items() if name.startswith(("plots.", "geometry."))}


@pytest.mark.parametrize("name", [name for name in FRAMES if "DataFrame" in str(inspect.signature(FRAMES[name])).partition(" ->")[0]])
def test_a_table_that_lacks_a_column_is_refused(bases: dict[str, dict[str, Any]], name: str) -> None:
    arguments, refused = bases[name], 0
    for key, table in arguments.items():
        for column in table if isinstance(table, pd.DataFrame) else ():
            try:
                PUBLIC[name](**{**arguments, key: table.drop(columns=column)})
            except PillarError:
                refused += 1
        if isinstance(table, pd.DataFrame):
            with pytest.raises(PillarError):
                PUBLIC[name](**{**arguments, key: table[[]]})
    assert refused


def test_signatures_are_seen_through_the_check() -> None:
    assert inspect.signature(pc.epsilon) == inspect.signature(inspect.unwrap(pc.epsilon))
    assert pc.epsilon.__doc__ == inspect.unwrap(pc.epsilon).__doc__


@pytest.mark.parametrize("source", ["/etc", "~nosuch", "a" * 5_000, "a" * 5_000 + ".npz", "~nosuch/rows.csv", "nul\0.npz", ""])
def test_hostile_paths_and_names(source: str) -> None:
    for read in (pc.load_features, pc.load_images, pc.load_model, lambda text: pc.load_features(Path(text))):
        with pytest.raises(DataError):
            read(source)
    with pytest.raises(UnknownNameError) as refusal:
        pc.load_dataset(source)
    assert len(str(refusal.value)) < 1_500


@pytest.mark.parametrize("seed", [1.5, True, "1", 10**400, -1])
def test_a_seed_is_a_whole_number(bases: dict[str, dict[str, Any]], seed: Any) -> None:
    asked: tuple[Callable[[], Any], ...] = (
        lambda: pc.run(**{**bases["run"], "seed": seed}),
        lambda: pc.split(bases["split"]["data"], public_fraction=0.5, seed=seed),
        lambda: pc.load_dataset("gaussian_mixture", n=20, seed=seed),
        lambda: pc.sweep({**GRID, "seed": seed}),
        lambda: pc.sweep({**GRID, "split_seed": [0, seed]}),
    )
    for ask in asked:
        with pytest.raises(SettingError, match="seed must be a whole number"):
            ask()


@pytest.mark.parametrize(("name", "value"), [("epsilon", "1"), ("delta", float("nan"))])
def test_budgets_are_numbers(bases: dict[str, dict[str, Any]], name: str, value: Any) -> None:
    for ask in (lambda: pc.run(**{**bases["run"], name: value}), lambda: pc.sweep({**GRID, name: value})):
        with pytest.raises(PillarError, match=f"{name} must be"):
            ask()


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_of_a_sweep_has_values_of_its_type(bases: dict[str, dict[str, Any]], axis: str) -> None:
    assert len(pc.sweep(GRID)) == 1
    with pytest.raises(SettingError, match=r"has no values|must be"):
        pc.sweep({**GRID, axis: []})
    known = files()
    for cell in ({}, {"a": 1}, nested(), object(), VALUES["object array"], VALUES["deep array"], [None, object()]):
        for value in (cell, [cell]):
            if axis == "dataset_settings" and isinstance(value, dict) and not value:  # as in a grid without it
                continue
            with pytest.raises((SettingError, UnknownNameError)):
                pc.sweep({**GRID, axis: value})
    assert files() == known
