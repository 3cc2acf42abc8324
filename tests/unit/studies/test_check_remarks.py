"""What names in a script say against its numbers, and what of its text counts: a script is a source of numbers, and no evidence."""

import pytest

import pillar_core as pc
from pillar_core.errors import SettingError
from pillar_core.studies.check import check_run, read_script

HEAD = "from opacus import PrivacyEngine\nloader = DataLoader(rows, batch_size=500)\n"
CALL = "module=model, optimizer=optimizer, data_loader=loader, noise_multiplier={}, max_grad_norm=1.0)\n"
SET_UP = HEAD + "engine = PrivacyEngine()\n{} = engine.make_private(" + CALL
NAMES = "model, optimizer, loader"
STEP = "        optimizer.zero_grad()\n        criterion(model(x), y).backward()\n        optimizer.step()\n"
LOOP = "for epoch in range(10):\n    for x, y in loader:\n" + STEP
PLAIN = SET_UP.format(NAMES, "1.0")
TARGET = (
    HEAD + "model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(module=model, optimizer=optimizer, data_loader=loader, "
    "target_epsilon=2.0, target_delta=1e-5, epochs=10, max_grad_norm=1.0)\n"
)
JAX = "from jax_privacy import keras_api\np = keras_api.DPKerasConfig(epsilon=20.0, delta=1e-5, clipping_norm=1.0, batch_size=500, {})\n"
OPTION = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--sigma', default=4.0)\nargs = p.parse_args()\n"
RUN = {"n": 50_000, "batch_size": None, "delta": 1e-5}
NOISE, BATCH, LENGTH, SAMPLER = "noise_multiplier σ", "(batch_size)", "(steps or epochs)", "(sampler)"

ASKED = {
    "noise switched off": (PLAIN + "optimizer.add_noise = lambda: None\n" + LOOP, NOISE),
    "noise elsewhere": (PLAIN + "import opacus.optimizers.optimizer as o\no._generate_noise = zero\n" + LOOP, NOISE),
    "schedule of the noise": (
        "from opacus.schedulers import ExponentialNoise as EN\n" + PLAIN + "EN(optimizer, gamma=0.5)\n" + LOOP,
        NOISE,
    ),
    "noise set later": (PLAIN + LOOP + "    optimizer.noise_multiplier = 0.1\n", NOISE),
    "noise set by name": (PLAIN + LOOP + "    setattr(optimizer, 'noise_multiplier', 0.1)\n", NOISE),
    "processes": ("from torch.nn.parallel import DistributedDataParallel as Wrap\nmodel = Wrap(Net())\n" + PLAIN + LOOP, BATCH),
    "accelerator": (PLAIN + "model, optimizer, loader = Accelerator().prepare(model, optimizer, loader)\n" + LOOP, BATCH),
    "step at times": (PLAIN + LOOP.replace("        optimizer.step()", "        if k():\n            optimizer.step()"), BATCH),
    "continue": (
        PLAIN + LOOP.replace("        optimizer.step()", "        if k():\n            continue\n        optimizer.step()"),
        BATCH,
    ),
    "rows drawn by another": (PLAIN.replace("=500", "=500, sampler=RandomSampler(rows, True)") + LOOP, SAMPLER),
    "batches drawn by another": (PLAIN.replace("=500", "=500, batch_sampler=mine") + LOOP, SAMPLER),
    "batch behind others": (PLAIN.replace("rows, batch_size=500", "*given, 500") + LOOP, BATCH),
    "a loader's other keywords": (PLAIN.replace("rows, batch_size=500", "rows, 500, **more") + LOOP, SAMPLER),
    "a fit at a time": (JAX.format("train_steps=1000, train_size=50_000") + "for e in range(9):\n    m.fit(x, y)\n", LENGTH),
    "two loops": (TARGET + LOOP + LOOP, LENGTH),
    "five steps a batch": (PLAIN + "for x in loader:\n    for k in range(5):\n        optimizer.step()\n", LENGTH),
    "a trainer": (TARGET + "Trainer(max_epochs=50).fit(lit, loader)\n", LENGTH),
    "called by map": (TARGET + "def go(k):\n    for x in loader:\n        optimizer.step()\nlist(map(go, range(50)))\n", LENGTH),
    "decorated": (TARGET + "@again(50)\ndef go():\n    for x in loader:\n        optimizer.step()\ngo()\n", LENGTH),
    "a method": (TARGET + "class T:\n    def go(self):\n        for x in loader:\n            optimizer.step()\nT().go()\n", LENGTH),
    "rows kept": (TARGET + "for x in [x for _ in range(50) for x in loader]:\n    optimizer.step()\n", LENGTH),
    "pairs of batches": (PLAIN + "for x, y in zip(loader, loader):\n" + STEP, LENGTH),
    "two targets": (TARGET + TARGET, LENGTH),
    "two libraries": (JAX.format("train_steps=1000, train_size=50_000") + PLAIN + LOOP, NOISE),
    "a search": (
        HEAD + "def run(trial):\n    PrivacyEngine().make_private(" + CALL.format("1.0") + "study.optimize(run, n_trials=50)\n",
        LENGTH,
    ),
    "called twice": (HEAD + "def run():\n    PrivacyEngine().make_private(" + CALL.format("1.0") + "run()\nrun()\n", LENGTH),
    "rates of TensorFlow": ("for lr in (0.1, 1.0):\n    opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\n", LENGTH),
    "keywords of TensorFlow": ("opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\nmodel.fit(x, y, batch_size=500, **more)\n", LENGTH),
    "steps an epoch": (
        "opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\nmodel.fit(x, y, epochs=2, batch_size=500, steps_per_epoch=10_000)\n",
        LENGTH,
    ),
    "person's rows": (
        "compute_dp_sgd_privacy_statement(50_000, 500, 10, 1.0, 1e-5, used_microbatching=False, max_examples_per_user=5)",
        NOISE,
    ),
    "globals": ("sigma = 4.0\nglobals()['sigma'] = 0.5\n" + SET_UP.format(NAMES, "sigma"), NOISE),
    "exec": ("sigma = 4.0\nexec('sigma = 0.5')\n" + SET_UP.format(NAMES, "sigma"), NOISE),
    "star": ("sigma = 4.0\nfrom config import *\n" + SET_UP.format(NAMES, "sigma"), NOISE),
    "vars": (OPTION + "vars(args).update(sigma=0.5)\n" + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "command line": (OPTION + "import sys\nsys.argv += ['--sigma', '0.5']\n" + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "option of another object": (OPTION + SET_UP.format(NAMES, "conf.sigma"), NOISE),
    "option by another name": (OPTION.replace("default", "dest='low', default") + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "option of its own type": (OPTION.replace("default", "type=lambda s: 0.1, default") + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "option of a parent": (OPTION.replace("Parser(", "Parser(parents=[q]") + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "option set": (OPTION + "if hard:\n    args.sigma = 0.1\n" + SET_UP.format(NAMES, "args.sigma"), NOISE),
    "a match": ("sigma = 4.0\nmatch c:\n    case {'s': sigma}:\n        pass\n" + SET_UP.format(NAMES, "sigma"), NOISE),
    "a parameter": ("sigma = 4.0\ndef f(sigma):\n    pass\n" + SET_UP.format(NAMES, "sigma"), NOISE),
    "no clip": (PLAIN.replace("max_grad_norm=1.0", "max_grad_norm=float('inf')") + LOOP, "(l2_clip_norm)"),
    "an optimiser of Opacus": (
        "from opacus.optimizers import DPOptimizer\nDPOptimizer(o, noise_multiplier=1.0, max_grad_norm=1.0)",
        SAMPLER,
    ),
    "a library that is not known": ("import optax\ntx = optax.contrib.dpsgd(0.1, l2_norm_clip=1.0, noise_multiplier=1.0)\n", NOISE),
    "a class of its own": ("class DPKerasConfig:\n    pass\nDPKerasConfig(noise_multiplier=1.0)\n", NOISE),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_number_that_may_be_another_is_asked_for(name):
    text, asked = ASKED[name]
    check = pc.check_run(**RUN, script=text)
    assert set(check.epsilon.values()) == {None}
    assert asked in " ".join(words for words in check.problems if words.startswith("Please say"))
    told = {
        "n": 50_000,
        "batch_size": 500,
        "delta": 1e-5,
        "epochs": 10,
        "noise_multiplier": 1.0,
        "l2_clip_norm": 1.0,
        "sampler": "shuffled",
    }
    if "TensorFlow" not in name and "an epoch" not in name:  # microbatches that are not said count at their worst
        assert pc.check_run(**told, script=text).epsilon == pc.check_run(**told).epsilon


REMARKED = {
    "result thrown away": (PLAIN.replace(NAMES + " = ", "") + LOOP, "returns"),
    "old loader": (SET_UP.format("model, optimizer, private", "1.0") + LOOP, "loader: only the model, optimiser and loader"),
    "plain optimiser": (SET_UP.format("model, private, loader", "1.0") + LOOP, "optimizer: only the model"),
    "second optimiser": (PLAIN + LOOP + "        head.step()\n", "head: only the model"),
    "inner optimiser": (PLAIN + LOOP.replace("optimizer.step", "optimizer.original_optimizer.step"), "no noise yet"),
    "seeded each step": (PLAIN + LOOP + "        torch.manual_seed(0)\n", "knows the seed"),
    "seeded under another name": ("from torch import manual_seed as again\n" + PLAIN + LOOP + "        again(1)\n", "knows the seed"),
    "restored each step": (PLAIN + LOOP + "        torch.set_rng_state(state)\n", "same noise"),
    "default generator": (PLAIN + LOOP + "    torch.default_generator.manual_seed(0)\n", "same noise"),
    "ghost clipping": (PLAIN.replace("max_", "grad_sample_mode='ghost', max_") + LOOP, "a norm up to 3 % too small"),
    "weights renormalised": ("model = torch.nn.Embedding(99, 8, max_norm=1.0)\n" + PLAIN + LOOP, "couple the rows"),
    "scaled by all rows": ("X = StandardScaler().fit_transform(X)\n" + PLAIN + LOOP, "no ε here counts it"),
    "repeated rows": (PLAIN.replace("rows", "ConcatDataset([rows] * 5)") + LOOP, "several times"),
    "schedule that looks": ("from torch.optim.lr_scheduler import ReduceLROnPlateau\n" + PLAIN + LOOP, "stop or steer"),
    "sum for mean": ("criterion = torch.nn.CrossEntropyLoss(reduction='sum')\n" + PLAIN + LOOP, "loss_reduction differ"),
    "mean for sum": (PLAIN.replace("max_", "loss_reduction='sum', max_") + LOOP, "loss_reduction differ"),
    "no training in sight": (PLAIN.replace("make_private(", "make_private_with_epsilon(").replace(
        "noise_multiplier=1.0", "target_epsilon=2.0, target_delta=1e-5, epochs=10"), "shows no training"),
}  # fmt: skip


@pytest.mark.parametrize("name", REMARKED)
def test_what_often_makes_an_epsilon_untrue_is_remarked_on_by_line(name):
    """One line a kind, of the first such name; a script without it has none."""
    text, words = REMARKED[name]
    remarks = read_script(text).remarks
    assert words in " ".join(remarks)
    assert read_script(PLAIN + LOOP).remarks == ()
    check = pc.check_run(**RUN, epochs=10, script=text)
    assert set(remarks) <= set(check.problems)
    assert check.problems[0].startswith("Numbers were read")


def test_an_epsilon_names_its_conditions_whatever_its_numbers_come_from():
    said, read = (
        pc.check_run(n=50_000, batch_size=500, epochs=10, noise_multiplier=1.0, delta=1e-5),
        pc.check_run(**RUN, script=PLAIN + LOOP),
    )
    assert said.epsilon == read.epsilon
    assert said.conditions == read.conditions
    assert "yours to confirm" in read.problems[0]
    assert len(said.conditions) == 5


PARTS = """
import argparse
from opacus import PrivacyEngine as PE
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
from torchvision import datasets

def train(args, model, part, optimizer, schedule, device):
    model.train()
    for k, (x, y) in enumerate(tqdm(part)):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
    schedule.step()

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sigma", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    model = Net().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(datasets.MNIST("here"), batch_size=500)
    held_out = DataLoader(datasets.MNIST("here", train=False), batch_size=64)
    engine = PE(accountant="gdp")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=args.sigma, max_grad_norm=1.0)
    schedule = StepLR(optimizer, 3)
    for epoch in range(1, args.epochs + 1):
        train(args, model, loader, optimizer, schedule, "cuda")
        print(engine.get_epsilon(1e-5))

if __name__ == "__main__":
    main()
"""


def test_a_whole_script_in_functions_is_read():
    check = pc.check_run(n=50_000, batch_size=None, delta=1e-5, script=PARTS)
    assert check.epsilon == pc.check_run(n=50_000, batch_size=500, epochs=10, noise_multiplier=0.5, delta=1e-5).epsilon
    assert check.reported[0].library == "Opacus (GDP)"
    assert read_script(PARTS).remarks == ()


def test_a_script_of_deep_parts_is_not_read_and_many_names_cost_little():
    """Each part within another costs a walk over those around it; forty names in each of eight levels were some 10^12 visits."""
    assert "nests more than 100" in read_script(PLAIN + "model" + ".a" * 200).unread[0]
    assert len(read_script(PLAIN + "model.grad_sample\n" * 2_000).remarks) == 1
    assert len(read_script(PLAIN + LOOP + "a.step()\n" * 4_000).remarks) <= 20
    calls = "def f():\n    for x in y:\n        a.step()\n        f()\n"
    assert "epochs" in read_script(PLAIN + calls).hidden
    lines = ["a0 = 1", *(f"a{level + 1} = " + " + ".join([f"a{level}"] * 40) for level in range(8))]
    assert "noise_multiplier" not in read_script("\n".join(lines) + "\n" + SET_UP.format(NAMES, "a8 ** a8")).values


@pytest.mark.parametrize("field", ["sample_size", "epochs", "batch_size", "target_delta"])
@pytest.mark.parametrize("value", ['"x"', "-5", "1e400"])
def test_a_number_of_a_script_that_no_run_can_have_is_told(field, value):
    """Each went past the limits into the search for the noise: a foreign error, with places of the disk in a terminal."""
    said = {"batch_size": "500", "sample_size": "50_000", "epochs": "3", "target_epsilon": "8.0", "target_delta": "1e-6"} | {field: value}
    text = "from fastDP import PrivacyEngine\ne = PrivacyEngine(m, " + ", ".join(f"{name}={one}" for name, one in said.items()) + ")"
    check = pc.check_run(n=50_000, batch_size=500, steps=10, delta=1e-6, script=text)
    assert set(check.epsilon.values()) == {None}


def test_an_accountant_that_its_library_lacks_is_told_and_not_repeated():
    text = PLAIN.replace("PrivacyEngine()", "PrivacyEngine(accountant='![m](http://host/x.png)')")
    assert "opacus has prv, rdp, gdp" in " ".join(read_script(text).unread)
    assert "accountant" not in read_script(text).values


@pytest.mark.parametrize(
    "wrong", [{"noise_multiplier": float("inf")}, {"steps": 0}, {"n": 0}, {"batch_size": 0}, {"delta": 1e-199}, {"epochs": float("nan")}]
)
def test_the_function_that_pages_call_checks_its_numbers(wrong):
    """Links reach it past `pc.check_run`: an infinite σ kept a server busy without end."""
    run = {"n": 50_000, "batch_size": 500, "delta": 1e-5, "noise_multiplier": 1.0} | ({} if "steps" in wrong else {"epochs": 10})
    with pytest.raises(SettingError):
        check_run(**(run | wrong))


@pytest.mark.parametrize(
    ("text", "given", "least"),
    [
        (TARGET, {"delta": 1e-8}, 2.977),
        (TARGET, {"delta": None, "epochs": 50}, 4.553),
        (TARGET, {"delta": None, "steps": 5_000}, 4.553),
        (SET_UP.format(NAMES, "0.5") + LOOP, {"delta": 1e-5, "epsilon": 1.0}, 13.33),
        (TARGET.replace("PrivacyEngine()", "PrivacyEngine(accountant='gdp')"), {"delta": None}, 2.354),
        (JAX.format("train_steps=1000, train_size=50_000, noise_multiplier=1.0"), {"delta": None}, 17.85),
        ("compute_dp_sgd_privacy_statement(50_000, 500, 10, 1.0, 1e-5)", {"delta": None}, 46.2),
    ],
    ids=["smaller delta", "more epochs", "more steps", "own target", "gdp by another name", "config", "microbatches"],
)
def test_what_the_caller_adds_does_not_change_the_noise_that_a_script_takes(text, given, least):
    assert pc.check_run(n=50_000, batch_size=None, **given, script=text).epsilon["add_or_remove_one"].upper > least


def test_rows_that_may_enter_one_sum_several_times_have_no_bound():
    text = JAX.format("gradient_accumulation_steps=4, train_steps=40, train_size=5000, noise_multiplier=1.0, poisson_sampling_in_fit=True")
    assert set(pc.check_run(n=None, batch_size=None, delta=None, script=text).epsilon.values()) == {None}


def test_a_renyi_target_is_solved_with_opacus_own_curve():
    """Opacus 1.6 solves σ = 0.24065 there, whose ε is 276.3; dp-accounting's curve, without its fractional orders, solved 0.3247."""
    text = TARGET.replace("PrivacyEngine()", "PrivacyEngine(accountant='rdp')").replace("2.0", "300").replace("epochs=10", "epochs=20")
    check = pc.check_run(n=20_000, batch_size=None, delta=None, script=text.replace("500", "2000"))
    assert check.counted["noise_multiplier"] == pytest.approx(0.24065, rel=1e-3)
