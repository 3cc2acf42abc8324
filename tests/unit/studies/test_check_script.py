"""Scripts are read as text: what is found, what is asked for, and that nothing of them runs or hangs."""

from __future__ import annotations

import ast

import pytest

import pillar_core as pc
from pillar_core.commands import parser
from pillar_core.errors import DataError, SettingError
from pillar_core.studies.check import read_script
from pillar_core.studies.check.source import Script

OPTIONS = """
import argparse
from absl import flags
parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default=2 * 128)
flags.DEFINE_float("sigma", 1.1, "noise")
N = 60_000
EPOCHS = int("12") + 3
args = parser.parse_args()
train = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
test = DataLoader(test_set, batch_size=4096)
engine = opacus.PrivacyEngine(accountant="rdp")
model, optimizer, train = engine.make_private(
    module=model, optimizer=optimizer, data_loader=train, noise_multiplier=flags.FLAGS.sigma, max_grad_norm=C)
"""


def test_options_names_and_arithmetic_are_read():
    read = read_script(OPTIONS)
    assert read.library == "opacus"
    assert read.values == {
        "batch_size": 256,
        "shuffle": True,
        "drop_last": True,
        "accountant": "rdp",
        "noise_multiplier": 1.1,
    }
    assert read.unread == ("Line 13, make_private: max_grad_norm = C is not a number in the text.",)
    assert not read.remarks


def test_what_no_number_says_is_asked_for():
    check = pc.check_run(n=None, batch_size=None, delta=None, script=OPTIONS)
    asked = " ".join(check.problems)
    assert all(words in asked for words in ("(n)", "steps or epochs", "(delta)", "(l2_clip_norm)"))
    assert all(bounds is None for bounds in check.epsilon.values())
    full = pc.check_run(n=60_000, batch_size=None, epochs=15, delta=1e-6, l2_clip_norm=1.0, script=OPTIONS)
    assert full.counted["sampling_probability"] == 1 / (60_000 // 256)  # the loader drops the last batch
    assert full.reported[0].library == "Opacus (RDP)"
    assert full.epsilon["add_or_remove_one"].upper < full.reported[0].epsilon


def test_what_the_caller_says_counts_and_the_difference_is_told():
    check = pc.check_run(n=60_000, batch_size=512, epochs=15, delta=1e-6, script=OPTIONS, noise_multiplier=2.0)
    assert check.counted["batch_size"] == 512
    assert "yours was counted" in " ".join(check.problems)


@pytest.mark.parametrize(
    "text",
    [
        "def (",
        "x = " + "(" * 5_000,
        "x = " + "1+" * 50_000 + "1\nPrivacyEngine(accountant=x)",
        "x\x00y",
        "a" * 300_000,
        "noise = noise\nDPKerasConfig(noise, noise)",
        "DPKerasConfig(1 / 0, 1e308 * 1e308, 9 // 0)",
        "DPKerasConfig(*everything, **more)",
        "__import__('os').system('touch ran')",
    ],
)
def test_hostile_scripts_are_refused_or_read_and_never_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check = pc.check_run(n=1000, batch_size=10, epochs=1, noise_multiplier=1.0, delta=1e-4, script=text)
    assert check.counted["noise_multiplier"] == 1.0
    assert not list(tmp_path.iterdir())


def test_two_values_of_one_name_are_no_value():
    read = read_script("s = 1.0\ns = 2.0\nengine.make_private(noise_multiplier=s, max_grad_norm=1.0)")
    assert "noise_multiplier" not in read.values
    assert read.values["l2_clip_norm"] == 1.0


def test_values_that_cannot_be_are_told():
    check = pc.check_run(n=10, batch_size=None, epochs=1, delta=1e-3, script="DPKerasConfig(epsilon=-1.0, delta=1e-3, batch_size=20)")
    assert "cannot be" in " ".join(check.problems)
    check = pc.check_run(n=10, batch_size=20, epochs=1, noise_multiplier=1.0, delta=1e-3)
    assert "cannot come from" in " ".join(check.problems)


def test_contradictions_are_refused():
    with pytest.raises(SettingError, match="text"):
        read_script(3)
    with pytest.raises(SettingError, match="not both"):
        pc.check_run(n=10, batch_size=1, steps=1, epochs=1, noise_multiplier=1.0, delta=1e-3)
    with pytest.raises(SettingError, match="poisson"):
        pc.check_run(n=10, batch_size=1, steps=1, noise_multiplier=1.0, delta=1e-3, sampler="sorted")


def test_the_command_answers_of_a_script_once_it_is_confirmed(tmp_path, capsys):
    (tmp_path / "train.py").write_text(OPTIONS)
    told = ["check", str(tmp_path / "train.py"), "--n", "60000", "--epochs", "15", "--delta", "1e-6", "--l2-clip-norm", "1"]
    options = parser().parse_args(told)
    assert options.command(options) == 1
    shown = capsys.readouterr().out
    assert "epsilon <=" not in shown
    assert "noise_multiplier = 1.1" in shown
    assert "--confirmed" in shown
    options = parser().parse_args([*told, "--confirmed"])
    assert options.command(options) == 0
    shown = capsys.readouterr().out
    assert "certified, add_or_remove_one: epsilon <= " in shown
    assert "Opacus (RDP): epsilon " in shown
    options = parser().parse_args(["check", "--n", "100"])
    assert options.command(options) == 1
    with pytest.raises(DataError, match="cannot be read"):
        parser().parse_args(["check", str(tmp_path)]).command(parser().parse_args(["check", str(tmp_path)]))


OPACUS = "PrivacyEngine().make_private(module=m, optimizer=o, data_loader=DataLoader(rows, batch_size=600{}), noise_multiplier={}{})"


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        (OPACUS.format("", "sigma", "").join(["for sigma in (1.0, 0.3):\n    ", ""]), None),
        ("sigma = 1.0\ndef train(sigma):\n    " + OPACUS.format("", "sigma", ""), None),
        ("sigma = 1.0\nsigma, b = values\n" + OPACUS.format("", "sigma", ""), None),
        ("a.sigma = 1.0\nb.sigma = 0.3\n" + OPACUS.format("", "b.sigma", ""), None),
        (OPACUS.format("", "1.0", "") + "\n" + OPACUS.format("", "0.3", ""), None),
        ("x = 0x" + "f" * 5_000 + "\n" + OPACUS.format("", "x", ""), None),
    ],
    ids=["loop", "parameter", "unpacked", "attributes", "contradiction", "huge"],
)
def test_a_value_that_is_not_one_number_is_asked_for(text, noise):
    check = pc.check_run(n=60_000, batch_size=600, epochs=10, delta=1e-6, script=text)
    assert check.counted.get("noise_multiplier") == noise
    assert (check.epsilon["add_or_remove_one"] is None) == (noise is None)


@pytest.mark.parametrize(
    "text",
    [
        OPACUS.format("", "1.0", ", poisson_sampling=args.poisson"),
        "DPKerasSGDOptimizer(1.0, 1.0, 1)",
        "DPKerasSGDOptimizer(l2_norm_clip=1.0, noise_multiplier=1.0, num_microbatches=args.groups)",
    ],
)
def test_what_decides_and_is_not_read_counts_at_its_worst(text):
    given = {"n": 60_000, "batch_size": 600, "epochs": 10, "delta": 1e-6}
    worst = 0.5 if "Optimizer" in text else 1.0
    expected = pc.check_run(**given, noise_multiplier=worst, sampler="shuffled").epsilon["add_or_remove_one"]
    assert pc.check_run(**given, script=text).epsilon["add_or_remove_one"] == expected


def test_accumulation_that_is_not_read_leaves_the_batch_to_be_said():
    text = "DPKerasConfig(noise_multiplier=1.0, delta=1e-6, batch_size=60, train_size=6000, train_steps=9, gradient_accumulation_steps={})"
    assert pc.check_run(n=None, batch_size=None, delta=None, script=text.format("args.g")).epsilon["add_or_remove_one"] is None
    assert pc.check_run(n=None, batch_size=None, delta=None, script=text.format("4.0")).counted["batch_size"] == 240


def test_beside_a_number_that_no_run_can_have_the_noise_is_asked_for():
    """The page took the others as said and had no fields for them, while the answer asked for each of them."""
    read = read_script(OPACUS.format("", "-1.0", ""))
    assert "cannot be" in " ".join(read.unread)
    assert set(read.values) == {"batch_size"}
    assert set(pc.check_run(n=600, batch_size=None, steps=9, delta=1e-5, script=OPACUS.format("", "-1.0", "")).epsilon.values()) == {None}


def test_a_script_that_takes_the_parser_long_is_not_parsed():
    """Python's parser takes time that grows with the square of a dotted name: 180,000 signs take 21 s, in which nothing else runs."""
    assert "at most 50,000" in read_script("import " + "a." * 30_000 + "b").unread[0]


def test_numbers_that_grow_cost_nothing():
    """The squares of the first would take a quarter of an hour, the names of the second many thousand steps a call."""
    lines = ["a0 = 0x" + "f" * 40_000, *(f"a{i + 1} = a{i} * a{i}" for i in range(10)), OPACUS.format("", "a10", "")]
    assert "noise_multiplier" not in read_script("\n".join(lines)).values
    lines = ["a0 = 1.0", *(f"a{i + 1} = a{i} * a{i}" for i in range(9)), OPACUS.format("", "a9", "")]
    assert read_script("\n".join(lines)).values["noise_multiplier"] == 1.0


@pytest.mark.parametrize(
    "numbers",
    [
        {"noise_multiplier": 1e6, "steps": 10**7},
        {"noise_multiplier": 1e-320, "steps": 1000},
        {"epsilon": 1e6, "steps": 1},
        {"noise_multiplier": 1e-200, "epochs": 1e-9},
    ],
)
@pytest.mark.parametrize("sampler", ["poisson", "shuffled", "fixed_size", "random_allocation"])
def test_extreme_numbers_have_an_answer_or_none(numbers, sampler):
    assert pc.check_run(n=50_000, batch_size=500, delta=1e-6, sampler=sampler, **numbers).problems is not None


def test_opacus_counts_the_last_incomplete_batch_as_a_step():
    """1 / len(data_loader) is the share it draws: n = 1,500 in batches of 1,000 are two steps of half the rows."""
    text = OPACUS.format("", "0.3", "")
    check = pc.check_run(n=1500, batch_size=1000, epochs=2, delta=1e-5, script=text)
    assert (check.counted["sampling_probability"], check.counted["steps"]) == (0.5, 4)


TARGET = (
    "from opacus import PrivacyEngine\nPrivacyEngine({}).make_private_with_epsilon(module=m, optimizer=o, data_loader=l, "
    "target_epsilon=2.0, target_delta=1e-5, epochs=10, max_grad_norm=1.0)"
)


@pytest.mark.parametrize("engine", ['accountant="gdp"', "accountant=args.accountant"])
def test_a_target_that_opacus_solves_by_the_central_limit_certifies_more(engine):
    """Opacus 1.6 itself solves σ = 0.8936 there, whose ε is 2.354 to 2.358."""
    check = pc.check_run(n=50_000, batch_size=500, delta=1e-5, script=TARGET.format(engine))
    assert 0.8936 * (1 - 2.5e-3) < check.counted["noise_multiplier"] < 0.8936
    assert 2.35 < check.epsilon["add_or_remove_one"].upper < 2.37
    assert check.reported[0].epsilon == pytest.approx(2.0, rel=1e-3)
    assert "no bound" in check.reported[0].why


@pytest.mark.parametrize("mode", ['"glw"', '"all"', "mode"])
def test_a_target_that_fastdp_solves_without_renyi_orders_is_solved_with_the_least_noise(mode):
    text = f"PrivacyEngine(m, batch_size=500, sample_size=50_000, epochs=10, target_epsilon=2.0, accounting_mode={mode})"
    check = pc.check_run(n=None, batch_size=None, delta=1e-5, script=text)
    assert check.counted["noise_multiplier"] == pytest.approx(0.9595, rel=2e-3)


@pytest.mark.parametrize(
    "text",
    [
        "from opacus.optimizers import DPOptimizer\nDPOptimizer(o, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=600)",
        "loader = DataLoader(rows, batch_size=600, shuffle=True)\nnoise = 1.0 * torch.randn(3)",
        "loader = DataLoader(rows, sampler=SequentialSampler(rows))",
    ],
)
def test_a_script_without_a_known_set_up_asks_how_batches_are_drawn(text):
    given = {"n": 60_000, "batch_size": 600, "epochs": 10, "delta": 1e-6, "noise_multiplier": 1.0}
    check = pc.check_run(**given, script=text)
    assert check.epsilon["add_or_remove_one"] is None
    assert "(sampler)" in check.problems[0]
    assert pc.check_run(**given, sampler="shuffled", script=text).epsilon == pc.check_run(**given, sampler="shuffled").epsilon


@pytest.mark.parametrize(
    "text",
    [
        'parser.add_argument("--sigma", default=0.5)\nif args.strong:\n    args.sigma = 4.0\n' + OPACUS.format("", "args.sigma", ""),
        'parser.add_argument("--sigma", default=4.0)\nparser.set_defaults(sigma=0.5)\n' + OPACUS.format("", "args.sigma", ""),
        "sigma = 4.0\nfrom settings import sigma\n" + OPACUS.format("", "sigma", ""),
        OPACUS.format("", "4.0", "") + "\nfrom opacus.schedulers import ExponentialNoise\nExponentialNoise(optimizer, gamma=0.9)",
        OPACUS.format("", "4.0", "") + "\noptimizer.noise_multiplier = 0.5",
        OPACUS.format("", "4.0", "") + "\no.noise_multiplier = 0.5",
        OPACUS.format("", "4.0", "") + "\nsetattr(o, 'noise_multiplier', 0.5)",
    ],
    ids=["branch", "defaults", "import", "scheduler", "assigned", "another name", "setattr"],
)
def test_noise_that_may_change_is_asked_for(text):
    given = {"n": 60_000, "batch_size": 600, "epochs": 10, "delta": 1e-6}
    assert pc.check_run(**given, script=text).epsilon["add_or_remove_one"] is None
    assert pc.check_run(**given, script=text, noise_multiplier=0.5, sampler="poisson").epsilon["add_or_remove_one"] is not None


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            OPACUS.format("", "1.0", "") + "\nfrom torch.utils.data import DistributedSampler\nDistributedSampler(d, num_replicas=8)",
            "batch",
        ),
        (OPACUS.format("", "1.0", "") + "\nfor i, b in enumerate(l):\n    o.virtual_step() if i % 8 else o.step()", "batch"),
        (OPACUS.format("", "1.0", "") + "\no.signal_skip_step(do_skip=True)", "batch"),
        (OPACUS.format("", "4.0", "") + "\nopt.noise_multiplier = 0.5", "σ"),
        ('p.add_argument("--s", default=4.0)\na = p.parse_args(["--s", "0.5"])\n' + OPACUS.format("", "a.s", ""), "σ"),
        ("DPKerasSGDOptimizer(1.0, 1.0, 600)" + "\nmodel.fit(x, epochs=3, batch_size=600)" * 2, "epochs"),
        ("DPKerasSGDOptimizer(1.0, 1.0, 600)\nfor e in range(9):\n    model.fit(x, epochs=1, batch_size=600)", "epochs"),
        ("DPKerasSGDOptimizer(1.0, 1.0, 600)\nmodel.fit(x, epochs=3, batch_size=600, steps_per_epoch=10_000)", "epochs"),
    ],
)
def test_steps_over_more_rows_or_longer_than_one_call_says_are_asked_for(text, asked):
    """Each certified less than what runs: eight processes' batches are one batch, and nine fits of an epoch are nine epochs."""
    epochs = None if asked == "epochs" else 10
    check = pc.check_run(n=6_000, batch_size=None, delta=1e-6, epochs=epochs, script=text)
    assert check.epsilon["add_or_remove_one"] is None
    assert asked in " ".join(check.problems)


LOOP = (
    "\nfor epoch in tqdm(range({})):\n    for x, y in l:\n        o.zero_grad()\n        criterion(m(x), y).backward()\n        o.step()\n"
)


@pytest.mark.parametrize(("epochs", "steps"), [(4e-7, 1), (3.0, 3), (3.0000004, 4), (2.5, 3)])
def test_a_part_of_an_epoch_is_a_whole_step(epochs, steps):
    check = pc.check_run(n=100, batch_size=100, epochs=epochs, noise_multiplier=1.0, delta=1e-5, sampler="poisson")
    assert check.counted["steps"] == steps
    assert check.epsilon["add_or_remove_one"] == pc.epsilon(1.0, steps=steps, delta=1e-5)


def test_noise_is_solved_for_the_steps_that_opacus_counts():
    """3 epochs of 75 batches are 224.999… and so 224 steps to it, and 225 in the loop; Opacus 1.6 itself solves σ = 0.358429 there."""
    text = TARGET.format('accountant="rdp"').replace("target_epsilon=2.0", "target_epsilon=30.0").replace("epochs=10", "epochs=3")
    check = pc.check_run(n=7_500, batch_size=100, delta=1e-5, script=text)
    assert check.counted["steps"] == 225
    assert 0.358 < check.counted["noise_multiplier"] < 0.358429


def test_a_loop_beyond_the_epochs_that_the_noise_is_solved_for_is_counted_at_its_own_length():
    """Opacus's own search solves σ = 0.9595 for the ten epochs that make_private_with_epsilon is told."""
    text = TARGET.format("").replace("PrivacyEngine()", "m, o, l = PrivacyEngine()") + LOOP
    given = {"n": 50_000, "batch_size": 500, "delta": None}
    assert pc.check_run(**given, script=text.format(10)).epsilon["add_or_remove_one"].upper <= 2.001
    longer = pc.check_run(**given, script=text.format(50))
    assert longer.epsilon["add_or_remove_one"].upper > 4.55
    helper = (
        text.format(50)
        .replace("for epoch", "def once(part):\n    for x in part:\n        o.step()\nfor epoch")
        .partition("    for x, y")[0]
    )
    assert pc.check_run(**given, script=helper + "    once(l)").epsilon == longer.epsilon
    assert longer.counted["noise_multiplier"] == pytest.approx(0.9595, rel=1e-3)
    assert pc.check_run(**given, epochs=20, script=text.format(50)).epsilon["add_or_remove_one"] is None  # which is it?


@pytest.mark.parametrize(
    ("training", "asked"),
    [
        ("for step in range(100_000):\n    x = next(batches)\n    optimizer.step()", "epochs"),
        ("while not is_good(model):\n    for x in loader:\n        optimizer.step()", "epochs"),
        ("for x in itertools.cycle(loader):\n    optimizer.step()", "epochs"),
        ("for turn in range(10):\n    for x in loader:\n        optimizer.step()\n" * 2, "epochs"),
        ("for i, x in enumerate(loader):\n    if i % 4 == 0:\n        optimizer.step()", "batch"),
        ("for epoch in range(1, 10 + 1):\n    for x in tqdm(l):\n        o.step()\n    model.train()", ""),
        ("def once(part):\n    for i, x in enumerate(part):\n        o.step()\nfor turn in range(10):\n    once(l)", ""),
    ],
)
def test_how_often_a_step_is_taken_is_known_or_asked_for(training, asked):
    """Whatever no loop over a counted range and a loader's batches accounts for was certified as the epochs that the noise is for."""
    setup = TARGET.format("").replace("PrivacyEngine()", "model, o, l = PrivacyEngine()")
    training = training.replace("optimizer", "o").replace("in loader", "in l").replace("(loader)", "(l)")
    loaded = "l = DataLoader(rows, batch_size=500)\n" + setup
    check = pc.check_run(n=50_000, batch_size=None, delta=None, script=loaded + "\n" + training)
    assert (check.epsilon["add_or_remove_one"] is None) == bool(asked)
    assert not asked or asked in " ".join(check.problems)


def test_several_trainings_are_several_epsilons():
    text = "loader = DataLoader(rows, batch_size=500)\nfor rate in (0.1, 1.0):\n    " + TARGET.format("").replace("\n", "\n    ")
    check = pc.check_run(n=50_000, batch_size=None, delta=None, script=text)
    assert check.epsilon["add_or_remove_one"] is None
    assert "how long all of them take together" in " ".join(check.problems)


def test_the_batch_is_that_of_the_loader_that_is_set_up():
    """The batch of eight rows of another loader was taken for that of training, a sixty-fourth of it."""
    loaders = "train = DataLoader(train_val_set, 512, True)\nmore = DataLoader(development, batch_size=8)\n"
    text = loaders + "PrivacyEngine().make_private(module=m, optimizer=o, data_loader=train, noise_multiplier=1.0, max_grad_norm=1.0)"
    assert read_script(text).values["batch_size"] == 512


def test_a_last_batch_that_may_be_dropped_counts_as_dropped():
    text = OPACUS.format(", drop_last={}", "1.0", "").replace("600", "1000")
    given = {"n": 1999, "batch_size": None, "steps": 10, "delta": 1e-5}
    assert pc.check_run(**given, script=text.format("flag")).epsilon == pc.check_run(**given, script=text.format("True")).epsilon


def test_rows_drawn_by_another_sampler_are_asked_about():
    """A row that enters one sum twice moves it by two clip norms."""
    text = OPACUS.format(", sampler=RandomSampler(rows, replacement=True)", "1.0", ", poisson_sampling=False")
    check = pc.check_run(n=600, batch_size=600, epochs=1, delta=1e-6, script=text)
    assert set(check.epsilon.values()) == {None}
    assert "RandomSampler" in " ".join(check.problems)


def test_batches_that_an_optimiser_accumulates_are_one_batch():
    text = "DPKerasSGDOptimizer(1.0, 1.0, {}, 4)\nmodel.fit(x, y, epochs=10, batch_size=50)"
    given = {"n": 6_000, "delta": 1e-6, "sampler": "fixed_size"}
    check = pc.check_run(**given, batch_size=None, script=text.format(50))
    assert check.epsilon == pc.check_run(**given, batch_size=200, epochs=10, noise_multiplier=1.0).epsilon
    halved = pc.check_run(**given, batch_size=None, script=text.format(10))
    assert halved.epsilon == pc.check_run(**given, batch_size=200, epochs=10, noise_multiplier=0.5).epsilon


def test_opacus_share_is_that_of_whole_batches():
    """1 / (100 / 4900) is a hair above 49: one step and a fiftieth of the rows were counted for one and a forty-ninth."""
    check = pc.check_run(n=4_900, batch_size=100, epochs=1, delta=1e-6, script=OPACUS.format("", "1.0", ""))
    assert (check.counted["sampling_probability"], check.counted["steps"]) == (1 / 49, 49)


def test_set_ups_and_what_they_take_cost_each_once(monkeypatch):
    """Each of 1,600 set-ups looked at each of 1,600 bindings among 1,600 set-ups: 50,000 characters took three minutes."""
    looks = []
    called = Script.called
    monkeypatch.setattr(Script, "called", lambda self, call: looks.append(call) or called(self, call))
    text = "d = 1\n" * 1_600 + "d.make_private(data_loader=d)\n" * 1_000
    assert "how long all of them take together" in " ".join(read_script(text).unread)
    assert len(looks) < 10_000
    unparsed = []
    monkeypatch.setattr(ast, "unparse", lambda node, unparse=ast.unparse: unparsed.append(node) or unparse(node))
    read_script(OPACUS.format("", "1.0", "") + "\n" + "a = b.c()\n" * 900 + "a.step()\n" * 900)
    read_script("x = 1\n" + ", ".join(f"a{i}" for i in range(2_000)) + " = f(b.c())(1)\n" + OPACUS.format("", "1.0", ""))
    read_script("import opacus as o\no(" + ", ".join(["1"] * 5_000) + ")" + "()" * 60)
    assert len(unparsed) < 10_000
    assert len(Script(ast.parse(text)).set_ups) == 3
