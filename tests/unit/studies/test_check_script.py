"""Scripts are read as text: which literals are found, what is asked for, and that nothing of them
runs or hangs."""

import inspect

import pytest

import pillar_core as pc
from costs import checked, is_proven, said, unread, upper
from pillar_core.errors import SettingError
from pillar_core.studies.check import read_script
from pillar_core.studies.check.reading import CALLS
from users import run_command

SCRIPT = """
N = 60_000
SIGMA = 1.1
train = DataLoader(train_set, batch_size=256, shuffle=True, drop_last=True)
test = DataLoader(test_set, batch_size=4096)
engine = opacus.PrivacyEngine(accountant="rdp")
model, optimizer, train = engine.make_private(
    module=model, optimizer=optimizer, data_loader=train, noise_multiplier=SIGMA, max_grad_norm=C, wrap_model=False, batch_first=True,
    rand_on_empty=True)
"""
OPACUS = (
    "PrivacyEngine().make_private(module=m, optimizer=o, data_loader=DataLoader(rows,"
    " batch_size=600{}), noise_multiplier={}{})"
)
JAX = (
    "from jax_privacy import keras_api\np = keras_api.DPKerasConfig(epsilon=20.0, delta=1e-5,"
    " clipping_norm=1.0, batch_size=500, {})\n"
)
RUN = {"n": 60_000, "batch_size": 600, "epochs": 10, "delta": 1e-6}
TARGET = (
    "from opacus import PrivacyEngine\nPrivacyEngine({}).make_private_with_epsilon(module=m,"
    " optimizer=o, data_loader=l, target_epsilon=2.0, target_delta=1e-5, epochs=10,"
    " max_grad_norm=1.0)"
)
LOADED = TARGET.format("").replace("data_loader=l", "data_loader=DataLoader(rows, batch_size=500)")


def test_literals_and_names_bound_once_are_read_and_unknown_arguments_told():
    read = read_script(SCRIPT)
    assert (read.library, read.unread) == (
        "opacus",
        (
            "Line 7, make_private: max_grad_norm = C is not one number in the text: any that is"
            " finite will do.",
        ),
    )
    assert read.values == {
        "batch_size": 256,
        "shuffle": True,
        "drop_last": True,
        "accountant": "rdp",
        "noise_multiplier": 1.1,
    }
    text = OPACUS.format("", "1.0", ", brand_new=True")
    assert read_script(text).values["noise_multiplier"] == 1.0
    assert "brand_new is not known here" in unread(text)
    # The batch of eight rows of another loader was taken for that of training, a sixty-fourth of
    # it.
    loaders = (
        "train = DataLoader(train_val_set, 512, True)\nmore = DataLoader(development,"
        " batch_size=8)\n"
    )
    text = (
        loaders + "PrivacyEngine().make_private(module=m, optimizer=o, data_loader=train,"
        " noise_multiplier=1.0, max_grad_norm=1.0)"
    )
    assert read_script(text).values["batch_size"] == 512


OTHERS = {
    "jax_privacy 2.3.0.dev0": {
        "DPKerasConfig": "epsilon delta clipping_norm batch_size gradient_accumulation_steps"
        " train_steps train_size poisson_sampling_in_fit noise_multiplier rescale_to_unit_norm"
        " microbatch_size seed",
        "dpsgd_event": "noise_multiplier iterations sampling_prob use_zcdp",
    },
    "tensorflow_privacy 0.9.0": {
        "compute_dp_sgd_privacy": "n batch_size noise_multiplier epochs delta",
        "compute_dp_sgd_privacy_statement": "number_of_examples batch_size num_epochs"
        " noise_multiplier delta used_microbatching",
    },
    "fastDP 2.0.0": {
        "FastPrivacyEngine": "module batch_size sample_size max_grad_norm epochs num_steps"
        " noise_multiplier target_epsilon target_delta alphas record_snr named_params"
        " numerical_stability_constant accounting_mode eps_error clipping_mode clipping_fn"
        " loss_reduction origin_params clipping_style num_GPUs torch_seed_is_fixed",
    },
}
"""Arguments of libraries that are not installed here, by the version that they were taken from;
but a statement's for users with several examples, which must be told of."""


def test_known_calls_are_those_of_the_libraries():
    """A keyword that the reader does not know would make it doubt, or miss, the numbers beside
    it."""
    import dp_accounting
    import torch
    from opacus import PrivacyEngine
    from opacus.accountants.utils import get_noise_multiplier

    installed = {
        "make_private": PrivacyEngine.make_private,
        "make_private_with_epsilon": PrivacyEngine.make_private_with_epsilon,
        "PrivacyEngine": PrivacyEngine.__init__,
        "get_noise_multiplier": get_noise_multiplier,
        "DataLoader": torch.utils.data.DataLoader.__init__,
        "calibrate_dp_mechanism": dp_accounting.calibrate_dp_mechanism,
        "SelfComposedDpEvent": dp_accounting.SelfComposedDpEvent,
        "PoissonSampledDpEvent": dp_accounting.PoissonSampledDpEvent,
        "GaussianDpEvent": dp_accounting.GaussianDpEvent,
    }
    signatures = {
        name: [
            key
            for key, one in inspect.signature(function).parameters.items()
            if one.kind is not one.VAR_KEYWORD and key != "self"
        ]
        for name, function in installed.items()
    } | {name: words.split() for calls in OTHERS.values() for name, words in calls.items()}
    for name, taken in signatures.items():
        takes, places = CALLS[name]["takes"], CALLS[name].get("positional", 0)
        assert set(takes) == set(taken), name
        assert takes[:places] == taken[:places], name


def test_what_no_number_says_is_asked_for_and_what_the_caller_says_counts():
    check = checked(script=SCRIPT)
    asked = said(check)
    assert all(words in asked for words in ("(n)", "steps or epochs", "(delta)", "any that is"))
    assert not is_proven(check)
    full = checked(n=60_000, epochs=15, delta=1e-6, l2_clip_norm=1.0, script=SCRIPT)
    assert full.counted["sampling_probability"] == 1 / (60_000 // 256)  # the last batch is dropped
    assert full.reported[0].library == "Opacus (RDP)"
    assert upper(full) < full.reported[0].epsilon
    assert "yours to confirm" in full.problems[0]
    own = checked(n=60_000, batch_size=512, delta=1e-6, script=SCRIPT)
    assert own.counted["batch_size"] == 512
    assert "yours was counted" in said(own)


HOSTILE = (
    "def (",
    "x = " + "(" * 5_000,
    "x = " + "1+" * 20_000 + "1\nPrivacyEngine(accountant=x)",
    "x\x00y",
    "import " + "a." * 30_000 + "b",
    "def f(a): f(a)\n" * 2_500 + OPACUS.format("", "a", ""),
    "noise = noise\nDPKerasConfig(noise, noise)",
    "DPKerasConfig(1 / 0, 1e308 * 1e308, 9 // 0)",
    "x = x.a(y)\ny = y.b(x)\n" * 40 + OPACUS.format("", "x", ""),
    "DPKerasConfig(*everything, **more)",
    "__import__('os').system('touch ran')",
)


def test_hostile_scripts_are_refused_or_read_and_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"n": 1000, "batch_size": 10, "epochs": 1, "noise_multiplier": 1.0, "delta": 1e-4}
    for text in HOSTILE:
        assert checked(**given, script=text).counted["noise_multiplier"] == 1.0
    assert not list(tmp_path.iterdir())


SIGMA = OPACUS.format("", "sigma", "")


@pytest.mark.parametrize(
    "text",
    [
        "for sigma in (1.0, 0.3):\n    " + SIGMA,
        "sigma = 1.0\ndef train(sigma):\n    " + SIGMA,
        "sigma = 1.0\nsigma, b = values\n" + SIGMA,
        "sigma = 1.0\nfrom settings import sigma\n" + SIGMA,
        "sigma = 1.0\nasync def sigma(): pass\n" + SIGMA,
        "a.sigma = 1.0\n" + OPACUS.format("", "a.sigma", ""),
        OPACUS.format("", "1.0", "") + "\n" + OPACUS.format("", "0.3", ""),
        OPACUS.format("", "1.0", ", **more"),
        "x = 0x" + "f" * 5_000 + "\n" + OPACUS.format("", "x", ""),
        OPACUS.format(", sampler=RandomSampler(rows, replacement=True)", "1.0", ""),
        "loader = DataLoader(rows, batch_size=600)\nnoise = 1.0",
    ],
)
def test_a_value_that_is_not_one_number_is_asked_for(text):
    assert not is_proven(checked(**RUN, script=text))


def test_values_that_cannot_be_are_told():
    assert "cannot be" in unread("DPKerasConfig(epsilon=-1.0, delta=1e-3, batch_size=20)")
    assert "opacus has prv, rdp, gdp" in unread(TARGET.format("accountant='hidden'"))
    bare = {**RUN, "noise_multiplier": 1.0}
    assert "cannot come from" in said(checked(**bare | {"n": 10}))
    with pytest.raises(SettingError, match="not both"):
        checked(**bare, steps=1)
    for wrong in (
        {"noise_multiplier": float("inf")},
        {"n": 0},
        {"batch_size": 0},
        {"delta": 1e-199},
        {"epochs": float("nan")},
    ):
        with pytest.raises(SettingError):
            checked(**bare | wrong)


@pytest.mark.parametrize("sampler", ["poisson", "shuffled", "fixed_size", "random_allocation"])
@pytest.mark.parametrize(
    "numbers",
    [
        {"noise_multiplier": 1e6, "steps": 10**7},
        {"noise_multiplier": 1e-320, "steps": 1000},
        {"epsilon": 1e6, "steps": 1},
    ],
)
def test_extreme_numbers_have_an_answer_or_none(numbers, sampler):
    check = checked(n=50_000, batch_size=500, delta=1e-6, sampler=sampler, **numbers)
    assert set(check.epsilon) == {"add_or_remove_one", "replace_one"}


ALIAS = "from opacus import PrivacyEngine as PE\nPE(accountant='gdp')"


@pytest.mark.parametrize(
    ("given", "text", "least"),
    [
        # Another name for an engine of the central limit certified its target of 2, and not 2.35.
        ({"batch_size": 500}, ALIAS + TARGET.format("").partition("PrivacyEngine()")[2], 2.35),
        ({"delta": 1e-8}, LOADED, 2.977),
        ({"epochs": 50}, LOADED, 4.553),
        ({"steps": 5_000}, LOADED, 4.553),
    ],
)
def test_the_least_noise_that_an_engine_may_have_solved_counts(given, text, least):
    assert upper(checked(n=50_000, **given, script=text)) > least


@pytest.mark.parametrize(
    ("n", "target", "epochs", "sigma"),
    [
        # 3 epochs of 75 batches are 224.999… and so 224 steps to Opacus, and 225 in the loop.
        (7_500, 30, 3, 0.358429),
        # dp-accounting's curve, without its fractional orders, solved 0.3247 here.
        (20_000, 300, 20, 0.24065),
    ],
)
def test_the_noise_that_opacus_solves_by_renyi_orders_counts(n, target, epochs, sigma):
    """Opacus 1.6 itself solves `sigma` there."""
    text = TARGET.format("accountant='rdp'").replace("=2.0", f"={target}")
    batch = 100 if epochs == 3 else 2_000
    check = checked(n=n, batch_size=batch, delta=1e-5, script=text.replace("=10", f"={epochs}"))
    assert check.counted["steps"] == epochs * n // batch
    assert sigma * (1 - 1e-3) < check.counted["noise_multiplier"] < sigma * (1 + 1e-5)


def test_the_command_answers_of_a_script_once_it_is_confirmed(tmp_path, capsys):
    (tmp_path / "train.py").write_text(SCRIPT)
    line = f"check {tmp_path}/train.py --n 60000 --epochs 15 --delta 1e-6 --l2-clip-norm 1"
    assert run_command(line) == 1
    shown = capsys.readouterr().out
    assert "epsilon <=" not in shown
    assert "noise_multiplier = 1.1" in shown
    assert "--confirmed" in shown
    assert run_command(f"{line} --confirmed") == 0
    shown = capsys.readouterr().out
    assert "certified, add_or_remove_one: epsilon <= " in shown
    assert "Opacus (RDP): epsilon " in shown
    assert run_command("check --n 100") == 1
    assert run_command(f"check {tmp_path}") not in (0, 1)
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        OPACUS.format("", "1.0", ", poisson_sampling=args.poisson"),
        "DPKerasSGDOptimizer(1.0, 1.0, 1)",
        "DPKerasSGDOptimizer(l2_norm_clip=1.0, noise_multiplier=1.0, num_microbatches=args.groups)",
    ],
)
def test_what_decides_and_is_not_read_counts_at_its_worst(text):
    worst = 0.5 if "Optimizer" in text else 1.0
    expected = checked(**RUN, noise_multiplier=worst, sampler="shuffled")
    assert upper(checked(**RUN, script=text)) == upper(expected)


def test_what_is_not_read_is_asked_for_or_has_no_bound():
    text = JAX.replace("epsilon=20.0", "noise_multiplier=1.0")
    text = text.format("train_size=5000, train_steps=9, gradient_accumulation_steps={}{}")
    assert not is_proven(checked(script=text.format("args.g", "")))
    assert checked(script=text.format("4.0", "")).counted["batch_size"] == 2_000
    sampled = text.format("4", ", poisson_sampling_in_fit=True")
    assert "may enter a sum several times" in said(checked(script=sampled))
    # The page took the others as said and had no fields for them, while the answer asked for each
    # of them.
    text = OPACUS.format("", "-1.0", "")
    assert "cannot be" in unread(text)
    assert set(read_script(text).values) == {"batch_size"}
    assert not is_proven(checked(n=600, steps=9, delta=1e-5, script=text))


@pytest.mark.parametrize(
    ("n", "batch", "epochs", "share", "steps"),
    [
        (1_500, 1_000, 2, 1 / 2, 4),
        # 1 / (100 / 4900) is a hair above 49: one step and a fiftieth of the rows were counted.
        (4_900, 100, 1, 1 / 49, 49),
    ],
)
def test_opacus_share_and_steps_are_those_of_whole_and_last_batches(n, batch, epochs, share, steps):
    """1 / len(data_loader) is the share it draws."""
    text = OPACUS.format("", "1.0", "")
    counted = checked(n=n, batch_size=batch, epochs=epochs, delta=1e-6, script=text).counted
    assert (counted["sampling_probability"], counted["steps"]) == (share, steps)


def test_a_last_batch_that_may_be_dropped_is():
    text = OPACUS.format(", drop_last={}", "1.0", "").replace("600", "1000")
    flag, true = (
        checked(n=1999, steps=10, delta=1e-5, script=text.format(word)) for word in ("flag", "True")
    )
    assert flag.epsilon == true.epsilon


@pytest.mark.parametrize("engine", ['accountant="gdp"', "accountant=args.accountant"])
def test_a_target_that_opacus_solves_by_the_central_limit_certifies_more(engine):
    """Opacus 1.6 itself solves σ = 0.8936 there, whose ε is 2.354 to 2.358."""
    check = checked(n=50_000, batch_size=500, delta=1e-5, script=TARGET.format(engine))
    assert 0.8936 * (1 - 2.5e-3) < check.counted["noise_multiplier"] < 0.8936
    assert 2.35 < upper(check) < 2.37
    assert check.reported[0].epsilon == pytest.approx(2.0, rel=1e-3)
    assert "no bound" in check.reported[0].why


@pytest.mark.parametrize("mode", ['"glw"', '"all"', "mode"])
def test_a_target_that_fastdp_solves_without_renyi_orders_is_solved_with_the_least_noise(mode):
    text = (
        "PrivacyEngine(m, batch_size=500, sample_size=50_000, epochs=10, target_epsilon=2.0,"
        f" accounting_mode={mode})"
    )
    check = checked(delta=1e-5, script=text)
    # 0.9595 spends 2 exactly; what glw accepts may lie 0.01 above
    assert 0.9595 * (1 - 6e-3) < check.counted["noise_multiplier"] < 0.9595


@pytest.mark.parametrize(("epochs", "steps"), [(4e-7, 1), (3.0, 3), (3.0000004, 4), (2.5, 3)])
def test_a_part_of_an_epoch_is_a_whole_step(epochs, steps):
    check = checked(n=100, batch_size=100, epochs=epochs, noise_multiplier=1.0, delta=1e-5)
    assert check.counted["steps"] == steps
    assert upper(check) == pc.epsilon(1.0, steps=steps, delta=1e-5).upper


def test_batches_that_an_optimiser_accumulates_are_one_batch():
    text = "DPKerasSGDOptimizer(1.0, 1.0, {}, 4)\nmodel.fit(x, y, epochs=2, batch_size=50)"
    given = {"n": 1_000, "delta": 1e-6, "sampler": "fixed_size"}
    check = checked(**given, script=text.format(50))
    assert check.epsilon == checked(**given, batch_size=200, epochs=2, noise_multiplier=1.0).epsilon
    halved = checked(**given, script=text.format(10))
    run = {**given, "batch_size": 200, "epochs": 2}
    bare = checked(**run, noise_multiplier=0.5)
    assert upper(halved) == upper(bare)
    in_place = checked(**run, noise_multiplier=1.0)
    assert upper(halved, "replace_one") == upper(in_place, "replace_one")
