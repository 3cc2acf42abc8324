"""What of a script's or notebook's text is a number: constants, options, loops, cells; and what is
told beside it."""

import json

import pytest

from costs import checked, is_proven, said, unread, upper
from pillar_core.studies.check import read_script

GIVEN = {"n": 1_000, "delta": 1e-5}
OPACUS = """
from opacus import PrivacyEngine
loader = DataLoader(rows, batch_size={batch})
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier={sigma}, max_grad_norm=1.0)
"""
PLAIN = OPACUS.format(batch=100, sigma=1.5)


def notebook(*cells):
    return json.dumps(
        {
            "cells": [
                {"cell_type": kind, "source": source, "outputs": [{"data": "9" * 60_000}]}
                for kind, source in cells
            ],
            "nbformat": 4,
        }
    )


def test_a_notebook_is_its_code_cells_without_commands_and_outputs():
    lines = PLAIN.splitlines(keepends=True)
    text = notebook(
        ("markdown", "# make_private(noise_multiplier=9.0)"),
        ("code", ["!pip install opacus \\\n", "  --quiet\n", "%matplotlib inline\n", *lines]),
        ("code", "%%bash\nfor epoch in range(3)"),
        ("code", "%%time\nfor epoch in range(7):\n    train()\n    !ls\n"),
    )
    read = read_script(text)
    assert read.values == read_script(PLAIN).values | {"epochs": 7}
    magic = read_script("%matplotlib inline\n!pip install opacus\nhere = !pwd\n" + PLAIN)
    assert magic.values == read_script(PLAIN).values
    # A line of a sum that begins with % is no command, and its value is not guessed.
    read = read_script("!ls\n" + PLAIN.replace("1.5", "(4\n    % 3)"))
    assert "noise_multiplier" not in read.values


def test_a_notebooks_fault_is_named_by_cell_and_line():
    text = notebook(("markdown", ""), ("code", "x = 1\nfor y i z: pass"))
    assert "Cell 2, line 2 cannot be read" in said(checked(script=text))
    for text in ('{"cells": 3}', '{"cells": [3]}', "{", '{"a": 1}'):
        assert "cannot be read" in said(checked(script=text))
    text = notebook(("code", PLAIN), ("code", "optimizer.noise_multiplier = other"))
    assert "Cell 2, line 1, optimizer" in said(checked(script=text))


def test_of_files_that_a_notebook_writes_those_that_set_up_privacy_are_read():
    cells = [
        ("code", f"%%writefile train.py\n{PLAIN}"),
        ("code", "%%writefile -a train.py\nEPOCHS = 4"),
        ("code", "%%writefile other.py\nEPOCHS = 9\nSIGMA = 2"),
    ]
    assert read_script(notebook(*cells)).values["epochs"] == 4
    second = ("code", f"%%writefile again.py\n{PLAIN.replace('1.5', '0.1')}")
    assert "noise_multiplier" not in read_script(notebook(*cells, second)).values


READ = {
    "constants": "EPOCHS = 20\nBATCH = 2 * 50\nSIGMA = 3 / 2\nDELTA = 1e-5\n"
    + OPACUS.format(batch="BATCH", sigma="SIGMA")
    + "for epoch in range(EPOCHS): train()\nPrivacyEngine().get_epsilon(delta=DELTA)",
    "a function's own": "def main():\n    BATCH, other = 100, 1\n    size = 100\n"
    + OPACUS.format(batch="size", sigma="1.5").replace("\n", "\n    ")
    + "\n    for epoch in tqdm(range(1, 21)): train()\n    print(engine.get_epsilon(1e-5))\n"
    "def test():\n    size = 7",
    "argparse": "parser.add_argument('--batch-size', type=int, default=100)\n"
    "parser.add_argument('-s', '--sigma', default=1.5)\n"
    "parser.add_argument('--epochs', default=20)\nparser.add_argument('--delta', default=1e-5)\n"
    "args = parser.parse_args()\n" + OPACUS.format(batch="args.batch_size", sigma="args.sigma"),
    "absl": "flags.DEFINE_integer('batch_size', 100, '')\nflags.DEFINE_float('sigma', 1.5, '')\n"
    "flags.DEFINE_integer('epochs', 20, '')\nDELTA = 1e-5\nFLAGS = flags.FLAGS\n"
    + OPACUS.format(batch="FLAGS.batch_size", sigma="FLAGS.sigma"),
    "a dictionary": "CONFIG = {'batch': 100, 'sigma': 1.5, 'epochs': 20}\ndelta = 1e-5\n"
    + OPACUS.format(batch="CONFIG['batch']", sigma="CONFIG['sigma']")
    + "for epoch in range(CONFIG['epochs']): train()",
    "an object's defaults": "class Net(Module):\n    def __init__(self, sigma=1.5, *, size=100):\n"
    "        self.sigma = sigma\n        self.size = size\n    def begin(self):\n"
    + OPACUS.format(batch="self.size", sigma="self.sigma").replace("\n", "\n        ")
    + "\nTrainer(max_epochs=20).fit(Net())\ndelta = 1e-5",
    "a choice": "IS_LARGE = True\n"
    + OPACUS.format(batch="100 if IS_LARGE else 9", sigma="max(1.5, 1.0)")
    + "epochs = 20\ndelta = 1e-5",
}


@pytest.mark.parametrize("name", READ)
def test_what_the_text_fixes_is_read(name):
    values = read_script(READ[name]).values
    wanted = {"batch_size": 100, "noise_multiplier": 1.5, "epochs": 20, "delta": 1e-5}
    assert {field: values.get(field) for field in wanted} == wanted


SIGMA = OPACUS.format(batch=100, sigma="SIGMA")
ENTRY = READ["a dictionary"]
OBJECT = READ["an object's defaults"]
OPTION = READ["argparse"]
FLAG = READ["absl"]
GIVEN_TO = "\ndef main({0}):" + OPACUS.format(batch=100, sigma="{1}").replace("\n", "\n    ")
SOLVED = "SIGMA = get_noise_multiplier(target_epsilon=3.0, target_delta=1e-5)\n"


@pytest.mark.parametrize(
    "text",
    [
        "SIGMA = 1.5\nSIGMA = 0.5\n" + SIGMA,
        "SIGMA = 1.5\nSIGMA -= 1\n" + SIGMA,
        "SIGMA = 1.5\ndef set():\n    global SIGMA\n    SIGMA = 0.1\n" + SIGMA,
        "SIGMA = 1.5\nglobals()['SIGMA'] = 0.1\n" + SIGMA,
        "SIGMA = 1.5\nglobals().update(SIGMA=0.1)\n" + SIGMA,
        "SIGMA = 1.5\nexec(text)\n" + SIGMA,
        "SIGMA = 1.5\nfrom settings import *\n" + SIGMA,
        "class Settings:\n    SIGMA = 1.5\nfrom settings import *\n" + SIGMA,
        "SIGMAS = [1.5]\nSIGMAS[0] = 0.1\n" + SIGMA.replace("SIGMA", "SIGMAS[0]"),
        "SIGMAS = [1.5]\nothers = SIGMAS\nothers[0] = 0.1\n" + SIGMA.replace("SIGMA", "SIGMAS[0]"),
        "SIGMAS = [1.5]\nSIGMAS.insert(0, 0.1)\n" + SIGMA.replace("SIGMA", "SIGMAS[0]"),
        OPTION + "\nargs.sigma = 0.1",
        OPTION + "\nparser.set_defaults(sigma=0.1)",
        OPTION + "\nsetattr(args, 'sigma', 0.1)",
        OPTION + "\nvars(args)['sigma'] = 0.1",
        OPTION + "\nargs.__dict__.update(sigma=0.1)",
        OPTION + "\nfor key, value in saved: setattr(args, key, value)",
        OPTION.replace("parse_args()", "parse_args(['--sigma', '0.1'])"),
        OPTION.replace("args = parser", "args = other\nargs = parser"),
        OPTION + GIVEN_TO.format("args", "args.sigma") + "\nmain(Namespace(sigma=0.1))",
        FLAG + "\nFLAGS['sigma'].value = 0.1",
        FLAG + "\nFLAGS.set_default('sigma', 0.1)",
        ENTRY + "\nCONFIG['sigma'] = 0.1",
        ENTRY + "\nCONFIG.update(sigma=0.1)",
        ENTRY + "\nCONFIG.update({'sigma': 0.1})",
        ENTRY + "\nCONFIG.update(saved)",
        ENTRY + "\nother = CONFIG\nother['sigma'] = 0.1",
        ENTRY + "\nfor key in CONFIG: CONFIG[key] = 0.1",
        ENTRY.replace("'epochs': 20", "'epochs': 20, **saved"),
        ENTRY + GIVEN_TO.format("CONFIG", "CONFIG['sigma']") + "\nmain({'sigma': 0.1})",
        OBJECT.replace("Net())", "Net(sigma=0.1))"),
        OBJECT.replace("Net())", "Net(0.1))"),
        OBJECT + "\nclass Own(Net):\n    def __init__(self): super().__init__(sigma=0.1)",
        OBJECT + "\nclass Own(Net): pass\nOwn(sigma=0.1)",
        OBJECT + "\nKind = partial(Net, sigma=0.1)",
        OBJECT + "\nsetattr(net, 'sigma', 0.1)",
        GIVEN_TO.format("sigma=1.5", "sigma") + "\nmain(0.1)",
        GIVEN_TO.format("sigma=1.5", "sigma") + "\nThread(target=main, args=(0.1,))",
        GIVEN_TO.format("sigma=1.5", "sigma") + "\nThread(target=main, kwargs={'sigma': 0.1})",
        GIVEN_TO.format("sigma=1.5", "sigma") + "\nmain(*values)",
        OPACUS.format(batch=100, sigma="9 ** 9 ** 9 ** 9"),
        SIGMA + "SIGMA = SIGMA",
        SOLVED + "SIGMA = 0.1" + SIGMA,
        SOLVED + "SIGMA *= 0.1" + SIGMA,
        SOLVED + GIVEN_TO.format("sigma", "sigma") + "\nmain(SIGMA / 10)",
    ],
)
def test_a_value_that_may_be_another_is_asked_for(text):
    assert not {"noise_multiplier", "epsilon"} & read_script(text).values.keys()


@pytest.mark.parametrize(
    "text",
    [
        OPTION + "\nrun.config.update(vars(args))\nlog(sigma=args.sigma)",
        ENTRY + "\nprint(CONFIG)\nresults = {'sigma': CONFIG['sigma']}",
        OBJECT + "\nNet(sigma=1.5)",
        GIVEN_TO.format("sigma=1.5", "sigma") + "\nspawn(main, args=(1.5,))",
        OPTION + GIVEN_TO.format("args", "args.sigma") + "\nmain(args)",
        "SIGMAS = [1.5]\nfor sigma in SIGMAS: print(sigma)\n" + SIGMA.replace("SIGMA", "SIGMAS[0]"),
        "from settings import *\nSIGMA = 1.5\n" + SIGMA,
    ],
)
def test_a_value_that_is_only_shown_or_passed_on_is_read(text):
    assert read_script(text).values["noise_multiplier"] == 1.5


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("BATCH_SIZE = 10\nself.rows = DataLoader(rows, batch_size=BATCH_SIZE * 10)\n", 100),
        ("batch_size = 10\nrows, test = loaders()\n" + "a = DataLoader(b, batch_size=7)\n" * 2, 7),
        ("a = DataLoader(b, batch_size=7)\nc = DataLoader(d, batch_size=9)\n", None),
        ("loader = DataLoader(b, batch_size=7, sampler=DistributedSampler(b))\n", None),
    ],
)
def test_a_batch_is_that_of_the_loaders_and_of_all_processes(text, size):
    set_up = PLAIN.replace("loader = DataLoader(rows, batch_size=100)\n", "").replace(
        "=loader", "=loader" if "loader =" in text else "=self.rows"
    )
    assert read_script(text + set_up).values.get("batch_size") == size


def test_a_longer_loop_than_the_noise_is_planned_for_counts():
    text = PLAIN.replace("make_private(", "make_private_with_epsilon(target_epsilon=3.0, epochs=5,"
        " target_delta=1e-5, ").replace("noise_multiplier=1.5, ", "")  # fmt: skip
    planned = checked(n=1_000, script=text)
    longer = checked(n=1_000, script=f"{text}\nfor epoch in range(10): train()")
    assert longer.counted["noise_multiplier"] == planned.counted["noise_multiplier"]
    assert longer.counted["steps"] == 2 * planned.counted["steps"]
    assert upper(longer) > upper(planned) > 3
    both = checked(n=1_000, script=text + text)
    assert both.counted["steps"] == 2 * planned.counted["steps"]
    assert "set up 2 times" in said(both)


def test_how_batches_are_drawn_is_counted_or_asked_for_and_never_both():
    check = checked(**GIVEN, script=PLAIN.replace("=100", "=100, sampler=other"))
    assert "how batches are drawn" in said(check)
    assert "sampler" not in check.counted
    assert checked(**GIVEN, script=PLAIN).counted["sampler"] == "poisson"


def test_a_known_seed_is_told_unless_noise_is_drawn_securely():
    for seeded in (
        "torch.manual_seed(0)" + PLAIN,
        PLAIN.replace("1.0)", "1.0, noise_generator=torch.Generator())"),
        "DPKerasConfig(noise_multiplier=1.0, seed=0)",
    ):
        assert "a seed that is known" in unread(seeded)
    for secret in (
        PLAIN,
        PLAIN.replace("1.0)", "1.0, noise_generator=None)"),
        "torch.manual_seed(0)" + PLAIN.replace("Engine()", "Engine(secure_mode=True)"),
    ):
        assert "seed" not in unread(secret)


JAX = """
import dp_accounting
from jax_privacy import accounting
users = 10_000
batch = 250
make_event = lambda sigma: accounting.dpsgd_event(sigma, 500, sampling_prob=batch / users)
sigma = dp_accounting.calibrate_dp_mechanism(
    dp_accounting.pld.PLDAccountant, make_event, target_epsilon=1.0, target_delta=1e-5)
"""


def test_jax_privacys_core_is_read_but_for_how_it_draws():
    check = checked(script=JAX)
    assert check.counted == {
        "n": 10_000, "batch_size": 250, "steps": 500, "epsilon": 1.0, "delta": 1e-5
    }  # fmt: skip
    assert "how batches are drawn" in said(check)
    drawn = checked(script=JAX + "CyclicPoissonSampling(sampling_prob=batch / users)")
    assert drawn.counted["sampler"] == "poisson"
    assert 1.0 < upper(drawn) < 1.05
    fixed = JAX.partition("make_event")[0] + (
        "event = dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.025,"
        " dp_accounting.GaussianDpEvent(1.5)), 500)"
    )
    check = checked(**GIVEN, sampler="poisson", script=fixed)
    assert (check.counted["batch_size"], check.counted["steps"]) == (25, 500)
    assert check.counted["noise_multiplier"] == 1.5


@pytest.mark.parametrize("name", ["execution_plan.BandMFConfig.default", "BandMFConfig"])
def test_correlated_noise_is_refused_by_name_and_line(name):
    text = f"{JAX}\nconfig = {name}(iterations=5, num_bands=4).calibrate(epsilon=1.0, delta=1e-5)"
    check = checked(**GIVEN, sampler="poisson", script=text)
    assert not is_proven(check)
    assert check.problems[0].startswith("Line 10, BandMFConfig: BandMF's noise is correlated")
