"""Our accountant inside Opacus: its engine's ε is ours, and other units are charged for what they
are."""

import math
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import pillar_core as pc
from pillar_core.errors import SettingError
from pillar_core.ledger import compose, of_person

DELTA = 1e-5


@pytest.fixture(scope="module")
def inside():
    """Imports Opacus, which takes three seconds: not for each worker that collects this file."""
    import pillar_core.opacus

    return pillar_core.opacus


@pytest.fixture(scope="module")
def create_accountant(inside):
    from opacus.accountants import create_accountant

    return create_accountant


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def engine_after(steps, **budget):
    from opacus import PrivacyEngine

    torch.manual_seed(0)
    engine = PrivacyEngine(accountant="certified")
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randint(2, (64,))), batch_size=16)
    make = engine.make_private_with_epsilon if budget else engine.make_private
    settings = budget or {"noise_multiplier": 1.1}
    layer, optimizer, loader = make(
        module=layer, optimizer=optimizer, data_loader=loader, max_grad_norm=1.0, **settings
    )
    batches = iter([batch for _ in range(steps) for batch in loader if len(batch[0])])
    for _ in range(steps):
        optimizer.zero_grad()
        rows, labels = next(batches)
        torch.nn.functional.cross_entropy(layer(rows), labels).backward()
        optimizer.step()
    return engine


def test_it_lies_between_the_central_limit_and_renyi_orders(create_accountant):
    values = {}
    for name in ("rdp", "prv", "gdp", "certified"):
        accountant = create_accountant(name)
        accountant.history = [(1.1, 0.01, 2000)]
        values[name] = accountant.get_epsilon(DELTA)
    assert (
        values["gdp"]
        < accountant.bounds(DELTA).lower
        < values["certified"]
        < values["prv"]
        < values["rdp"]
    )
    assert (
        values["certified"]
        == pc.epsilon(1.1, sampling_probability=0.01, steps=2000, delta=DELTA).upper
    )


def test_the_engine_reports_what_it_ran_and_meets_its_target_from_below(inside, create_accountant):
    engine = engine_after(5)
    assert (
        engine.get_epsilon(DELTA)
        == pc.epsilon(1.1, sampling_probability=0.25, steps=5, delta=DELTA).upper
    )
    assert len(engine.accountant) == 5
    engine = engine_after(8, target_epsilon=1.5, target_delta=DELTA, epochs=2)
    assert 1.45 < engine.get_epsilon(DELTA) <= 1.5
    engine = engine_after(3)
    restored = create_accountant("certified")
    restored.load_state_dict(engine.accountant.state_dict())
    restored.step(noise_multiplier=2.0, sample_rate=0.25)
    parts = (
        inside.gaussian_run(1.1, sampling_probability=0.25, steps=3),
        inside.gaussian_run(2.0, sampling_probability=0.25),
    )
    assert restored.event == compose(*parts)


def test_persons_and_replaced_rows_have_accountants_of_their_own(inside, create_accountant):
    inside.register("of_three", rows_per_person=3)
    inside.register("replaced", relation="replace_one")
    inside.register("both", relation="replace_one", rows_per_person=2)
    run = inside.gaussian_run(4.0, sampling_probability=0.1, steps=20)
    for name, rows, relation in (
        ("of_three", 3, "add_or_remove_one"),
        ("replaced", 1, "replace_one"),
        ("both", 2, "replace_one"),
    ):
        accountant = create_accountant(name)
        accountant.history = [(4.0, 0.1, 20)]
        assert (
            accountant.get_epsilon(DELTA)
            == inside.epsilon(of_person(run, rows), delta=DELTA, relation=relation).upper
        )
        assert accountant.mechanism() == name


def test_it_says_what_it_cannot_know(inside, create_accountant):
    accountant = create_accountant("certified")
    assert accountant.get_epsilon(DELTA) == 0.0
    accountant.history = [(0.0, 0.5, 1)]
    assert accountant.get_epsilon(DELTA) == math.inf
    with pytest.warns(inside.UncheckedAssumptions, match="Poisson sampling"):
        accountant.get_epsilon(DELTA)


@pytest.mark.parametrize("wrong", [{"name": "rdp"}, {"name": "few", "rows_per_person": 0}])
def test_what_has_no_meaning_is_refused(wrong, inside):
    with pytest.raises(SettingError):
        inside.register(**wrong)
