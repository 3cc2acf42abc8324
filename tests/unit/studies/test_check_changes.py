"""Noise that changes while a script trains: composed where the text says how, else asked for, and
refused where private rows decide it."""

import functools

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant

import pillar_core as pc
from costs import checked, is_proven, said, unproven, unread, upper
from pillar_core.studies.check import read_script

ADD_REMOVE = "add_or_remove_one"
RUN = {"n": 1_000, "epochs": 6, "delta": 1e-5}
STEPS = 10
SET_UP = """
from opacus import PrivacyEngine, schedulers
from opacus.schedulers import ExponentialNoise, StepNoise, LambdaNoise, ExponentialNoise as Decay
rows = DataLoader(train_set, batch_size=100)
model, optimizer, rows = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=rows, noise_multiplier=2.0, max_grad_norm=1.0)
"""
EPOCHS = "for epoch in range(6):"
DECAY = [2 * 0.8**turn for turn in range(7)]


def loop(*body, head=EPOCHS, before=""):
    return f"{SET_UP}{before}\n{head}\n" + "\n".join(f"    {line}" for line in body)


@functools.cache
def composed(sigmas, steps=STEPS):
    """The upper end of ε by another library, to about a percent; `steps` Poisson samples of a tenth
    at each σ."""
    accountant = PLDAccountant(value_discretization_interval=1e-2)
    for sigma in sigmas:
        step = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(sigma))
        accountant.compose(step, steps)
    return accountant.get_epsilon(1e-5)


STEP_LAST = ("train(model, rows)", "law.step()")
READ = {
    "after each pass": (
        loop(*STEP_LAST, before="law = ExponentialNoise(optimizer, gamma=0.8)"),
        DECAY[:6],
    ),
    "by another name": (loop(*STEP_LAST, before="law = Decay(optimizer, gamma=0.8)"), DECAY[:6]),
    "in its module": (
        loop(*STEP_LAST, before="law = schedulers.ExponentialNoise(optimizer, gamma=0.8)"),
        DECAY[:6],
    ),
    "before each pass": (
        loop("law.step()", "train()", before="law = ExponentialNoise(optimizer, gamma=0.8)"),
        DECAY[1:],
    ),
    "somewhere in a pass": (
        loop("a()", "law.step()", "b()", before="law = ExponentialNoise(optimizer, gamma=0.8)"),
        DECAY[1:],
    ),
    "somewhere, growing": (
        loop("a()", "law.step()", "b()", before="law = ExponentialNoise(optimizer, gamma=1.5)"),
        [2 * 1.5**turn for turn in range(6)],
    ),
    "every second pass": (
        loop(*STEP_LAST, before="law = StepNoise(optimizer, step_size=2, gamma=0.5)"),
        [2, 2, 1, 1, 0.5, 0.5],
    ),
    "a function": (
        loop(*STEP_LAST, before="law = LambdaNoise(optimizer, noise_lambda=lambda e: 1 / (1 + e))"),
        [2 / (1 + turn) for turn in range(6)],
    ),
    "set in each pass": (loop("optimizer.noise_multiplier = 2.0 * 0.8 ** epoch", "t()"), DECAY[:6]),
    "set from a list": (
        loop(
            "optimizer.noise_multiplier = SIGMAS[epoch]",
            "t()",
            before="SIGMAS = [2.0, 2.0, 1.5, 1.5, 1.0, 0.9]",
        ),
        [2.0, 2.0, 1.5, 1.5, 1.0, 0.9],
    ),
    "multiplied after each pass": (loop("t()", "optimizer.noise_multiplier *= 0.8"), DECAY[:6]),
    "set at the end of a pass": (
        loop("t()", "optimizer.noise_multiplier = 2.0 * 0.8 ** epoch"),
        [2.0, *DECAY[:5]],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_schedule_that_the_text_says_is_composed(name):
    """“ε ≤ 0.29” was certified of a run whose σ fell by a tenth in each pass, and cost 30.9."""
    text, sigmas = READ[name]
    check = checked(**RUN, script=text)
    expected = composed(tuple(sigmas))
    assert 0.97 * expected < upper(check) < 1.01 * expected
    assert "σ goes from" in said(check)
    assert "Line " in said(check)
    assert check.counted["noise_multiplier"] == pytest.approx(min(sigmas))
    assert not check.reported


def test_a_schedule_by_step_is_composed_within_its_groups():
    text = loop(
        "for batch in rows:",
        "    train(batch)",
        "    law.step()",
        before="law = ExponentialNoise(optimizer, gamma=0.9 ** 0.1)",
    )
    found = upper(checked(**RUN, script=text))
    expected = composed(tuple(2 * 0.9**turn for turn in range(6)))
    sooner = composed(tuple(2 * 0.9**turn for turn in range(1, 7)))
    assert 0.97 * expected < found < sooner


def test_a_schedule_of_shuffled_batches_counts_its_least_noise_and_a_longer_training_is_asked_for():
    text, sigmas = READ["after each pass"]
    shuffled = checked(**RUN, sampler="shuffled", script=text)
    assert upper(shuffled) == pytest.approx(pc.epsilon(sigmas[-1], steps=6, delta=1e-5).upper)
    longer = checked(**RUN | {"epochs": 9}, script=text)
    assert not is_proven(longer)
    assert "training is longer" in said(longer)
    own = checked(**RUN, noise_multiplier=0.7, script=text)
    assert upper(own) == upper(checked(**RUN, batch_size=100, noise_multiplier=0.7))
    assert "your σ was counted" in said(own)


LEAST = {
    "a loop that is not one over passes": (
        loop("optimizer.noise_multiplier = sigma", "t()", head="for sigma in (1.5, 1.0):"),
        1.0,
    ),
    "once": (f"{SET_UP}\noptimizer.noise_multiplier = 0.5\n", 0.5),
    "growing at an unknown place": (
        f"{SET_UP}\nlaw = ExponentialNoise(optimizer, gamma=1.1)\ntrain(law)",
        2.0,
    ),
}


@pytest.mark.parametrize("name", LEAST)
def test_of_a_change_whose_time_is_not_read_the_least_value_counts(name):
    text, least = LEAST[name]
    check = checked(**RUN, script=text)
    assert check.counted["noise_multiplier"] == least
    assert upper(check) == upper(checked(**RUN, batch_size=100, noise_multiplier=least))
    assert "its least" in said(check)


@pytest.mark.parametrize(
    "change",
    [
        "optimizer.noise_multiplier = schedule(epoch)",
        "setattr(optimizer, 'noise_multiplier', schedule(epoch))",
        "optimizer.__dict__.update(noise_multiplier=0.3)",
        "optimizer.noise_multiplier.mul_(0.9)",
        "optimizer.__dict__['noise_multiplier'] = 0.3 * other",
        "optimizer._adjusted_noise_multiplier = other",
        "optimizer.add_noise = other",
        "optimizer = DPOptimizer(optimizer, noise_multiplier=0.3, expected_batch_size=9)",
        "optimizer.noise_multiplier, other = values",
        "optimizer.noise_multiplier = settings.noise_multiplier",
        "optimizer.__dict__.update({'noise_multiplier': 0.3})",
        "optimizer.max_grad_norm = clip(epoch)",
        "ExponentialGradClip(optimizer, gamma=0.9)",
        "if epoch > 3: optimizer.noise_multiplier *= 0.5",
        "law.step()\n    if epoch % 5: continue",
        "law.step(); law.step()",
        "train(law)",
        "law = Own(_NoiseScheduler)",
        "ExponentialNoise(optimizer, gamma=0.9, last_epoch=3)",
        "law.step()  # of StepNoise(optimizer, step_size=other, gamma=0.5)",
        "law.step()  # of StepNoise(optimizer, step_size=0, gamma=0.5)",
        "Kind = LambdaNoise",
        "optimizer.noise_multiplier = 1.0; optimizer.noise_multiplier = other",
    ],
)
def test_a_change_that_is_not_read_is_asked_for_by_name_and_line(change):
    built = change.partition("# of ")[2] or "ExponentialNoise(optimizer, gamma=0.9)"
    before = f"law = {built}" if "law." in change else ""
    before = before or ("law = StepNoise(optimizer, 2, gamma=0.9)" if "(law)" in change else "")
    text = loop(change, "train(model)", before=before)
    check = checked(**RUN, script=text)
    assert not is_proven(check)
    assert "the noise" in said(check)
    assert "Line " in said(check)
    known = checked(**RUN, noise_multiplier=0.6, l2_clip_norm=1.0, script=text)
    assert upper(known) == upper(checked(**RUN, batch_size=100, noise_multiplier=0.6))


@pytest.mark.parametrize(
    "text",
    [
        loop("setattr(optimizer, KEY, 0.3)", before="KEY = 'noise_multiplier'"),
        loop("for key, value in saved: setattr(optimizer, key, value)"),
        loop("optimizer.noise_multiplier.data = 0.3"),
        loop("exec(text)"),
        loop("with patch.object(optimizer, 'noise_multiplier', 0.3): train()"),
        loop("patch('opacus.optimizers.DPOptimizer.add_noise', other)"),
        loop("opacus.optimizers.optimizer._generate_noise = other"),
        loop("optimizer.original_optimizer.step()"),
        loop("optimizer.step = other"),
        loop("optimizer.level = 3.0"),
        loop("optimizer._adjusted_noise_multiplier = 2.0"),
        loop("optimizer.__class__ = Own"),
        loop("engine.detach()", before="engine = PrivacyEngine()"),
        loop("epoch = epoch + 10", "optimizer.noise_multiplier = 2.0 * 0.8 ** epoch"),
        loop(
            "optimizer.noise_multiplier = 2.0 * 0.8 ** epoch",
            head="for epoch in range(first(), 9):",
        ),
        loop("optimizer.noise_multiplier = SIGMAS[epoch]", before="SIGMAS = [2.0] + other"),
        READ["after each pass"][0] + "\nfor epoch in range(6): train()",
        loop("law.step()", before="law = ExponentialNoise(optimizer, gamma=0.8)") + "\ntrain()",
        "class Own(DPOptimizer):\n    def add_noise(self): pass\n" + SET_UP,
        "class Own(DPOptimizer):\n    def step(self): pass\n" + SET_UP,
        "class Own(PrivacyEngine):\n    def _prepare_optimizer(self): pass\n" + SET_UP,
        "class Own(DPOptimizer):\n    @property\n    def noise_multiplier(self): return 0.3\n"
        + SET_UP,
        SET_UP + SET_UP.replace("model, optimizer", "other, second").replace("2.0", "0.3"),
        SET_UP.replace("optimizer, rows =", "second, rows =") + "optimizer.step()",
        SET_UP.replace("model, optimizer, rows = ", "") + "optimizer.step()",
        SET_UP + "optimizer = SGD(model.parameters())",
    ],
)
def test_what_may_draw_other_noise_is_asked_for_by_line(text):
    assert "noise_multiplier" not in read_script(text).values
    assert "Line " in unread(text)


@pytest.mark.parametrize(
    "text",
    [
        SET_UP.replace("optimizer, rows =", "optimizer, _ =") + "for row in rows: step()",
        SET_UP.replace("optimizer, rows =", "optimizer, drawn =") + "train(model, rows)",
        SET_UP + "rows = DataLoader(train_set, batch_size=100, shuffle=True)",
    ],
)
def test_batches_of_another_loader_than_the_set_up_returned_are_asked_for(text):
    assert "sampler" in read_script(text).hidden
    assert "Line " in unread(text)
    shared = "\nwith BatchMemoryManager(data_loader=rows, optimizer=optimizer) as rows: train()"
    assert "sampler" not in read_script(SET_UP + shared).hidden


ROWS = "for turn, row in enumerate(rows):"
ADAPTIVE = "PrivacyEngineAdaptiveClipping"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (loop(ROWS, "    if (turn + 1) % 4 == 0: optimizer.step()"), "several batches"),
        (loop(ROWS, "    optimizer.signal_skip_step(turn % 4)"), "several batches"),
        (loop("rows.sample_rate = 0.5 * other"), "batch size"),
        (
            SET_UP + "model, optimizer, rows = PrivacyEngine().make_private_with_epsilon("
            "module=model, optimizer=optimizer, data_loader=rows, target_epsilon=9.0,"
            " target_delta=1e-5, epochs=6, max_grad_norm=1.0)",
            "the noise (noise_multiplier σ, or a target epsilon)",  # the weaker may be run
        ),
    ],
)
def test_what_else_decides_and_is_not_read_is_asked_for(text, words):
    assert words in unproven(**RUN, script=text)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (
            SET_UP.replace("PrivacyEngine", ADAPTIVE),
            ADAPTIVE,
            "noisy count",  # it was taken for an engine whose accountant is the central limit's
        ),
        (SET_UP.replace("=1.0)", "=1.0, clipping='adaptive')"), "adaptive", "noisy count"),
        (loop("optimizer.noise_multiplier = float(train_loss)"), "train_loss", "private rows"),
        (loop("if accuracy > 1: optimizer.noise_multiplier *= 0.9"), "accuracy", "private rows"),
        (
            loop("if running_loss < 1: law.step()", before="law = StepNoise(optimizer, gamma=1)"),
            "running_loss",
            "private rows",
        ),
        (loop("optimizer.max_grad_norm = norms.median()"), "norms", "private rows"),
    ],
)
def test_noise_that_private_rows_decide_has_no_epsilon_whatever_is_said(text, name, why):
    check = checked(**RUN, noise_multiplier=0.5, l2_clip_norm=1.0, script=text)
    assert not is_proven(check)
    line, told = check.problems[0].split(", ", 1)
    assert line.startswith("Line ")
    assert name in told
    assert why in told


@pytest.mark.parametrize(
    "honest",
    [
        "print(optimizer.noise_multiplier)",
        "log.update(noise_multiplier=2.0, epoch=epoch)",
        "log(noise_multiplier=optimizer.noise_multiplier)",
        "optimizer.noise_multiplier = 2.0",
        "if loss < 1: stop()",
    ],
)
def test_a_script_that_changes_nothing_is_asked_nothing(honest):
    check = checked(**RUN, script=loop(honest, "train(model)"))
    assert upper(check) == upper(checked(**RUN, batch_size=100, noise_multiplier=2.0))


def test_an_optimiser_of_ones_own_that_sets_its_noise_is_asked_for():
    own = (
        "class Own(DPOptimizer):\n    def __init__(self, {}):\n        self.noise_multiplier = {}\n"
    )
    assert not is_proven(checked(**RUN, script=own.format("sigma", "sigma") + SET_UP))
    passed_on = own.format("noise_multiplier", "noise_multiplier") + SET_UP
    assert is_proven(checked(**RUN, script=passed_on))


def test_where_only_steps_are_said_a_schedule_by_passes_is_asked_for():
    """An epoch of the loop may have fewer steps than a pass, and σ then falls sooner."""
    text = READ["after each pass"][0].replace("range(6)", "range(other)")
    assert "Say epochs" in unproven(n=1_000, delta=1e-5, steps=20, script=text)
    assert is_proven(checked(**RUN, script=text))


@pytest.mark.parametrize(
    "walk",
    [
        "for x, y in chain(train_loader, train_loader): optimizer.step()",
        "for _, (x, y) in zip(range(5000), cycle(train_loader)): optimizer.step()",
        "for x, y in data.repeat(3): optimizer.step()",
        "for x, y in train_loader: optimizer.step()\n  for x, y in train_loader: optimizer.step()",
        "from helpers import tqdm\n  for x, y in tqdm(train_loader): optimizer.step()",
        "batches = thrice(train_loader)\n  for x, y in batches: optimizer.step()",
        "for x, y in [*train_loader, *train_loader]: optimizer.step()",
        "for x, y in tqdm(twice(train_loader)): optimizer.step()",
        "for loader in (train_loader, train_loader):\n    for x, y in loader: optimizer.step()",
        "rows = list(train_loader) * 2\n  for x, y in rows: optimizer.step()",
        "for x, y in train_loader:\n    for again in range(3): optimizer.step()",
        "[step(row) for again in range(3) for row in train_loader]",
        "list(map(step, train_loader))\n  list(map(step, train_loader))",
        "one(train_loader)\n  one(train_loader)",
        "one(train_loader)\n  two(train_loader)",
        "def again(loader):\n    one(loader)\n    again(loader)\n  again(train_loader)",
        "def both(loader):\n    one(loader)\n    one(loader)\n  both(train_loader)",
        "for turn in turns: one(train_loader)",
        "while turn < 500: optimizer.step(next(batches))",
        "for turn in (1, 2):\n    for x, y in train_loader: optimizer.step()",
        "for x, y in train_loader:\n    optimizer.step()\n    optimizer.step()",
        "def both(x):\n    optimizer.step()\n    optimizer.step()\n  for x in train_loader: both(x)",
        "def many(x):\n    for k in range(4): optimizer.step()\n  for x in train_loader: many(x)",
        "for x in train_loader:\n    for part in x: optimizer.step()",
        "one(train_loader)\none(train_loader)",
        "one(train_loader)\nwhile score(model) < 0.9: one(train_loader)",
        "one(train_loader)\nfor turn in [1, 2]:\n  for x in train_loader: optimizer.step()",
    ],
)
def test_a_loop_that_walks_its_loader_more_than_once_is_asked_for(walk):
    given = {name: value for name, value in RUN.items() if name != "epochs"}
    text = f"{SET_UP}\n{WALKS}\ndata = DataLoader(rows)\nfor epoch in range(10):\n  "
    assert "how often" in unproven(**given, script=text + walk)
    assert checked(**given, steps=15_000, script=text + walk).counted["steps"] == 15_000
    ordinary = "for x, y in tqdm(train_loader): optimizer.step()\n  for x in train_loader: score(x)"
    assert checked(**given, script=text + ordinary).counted["epochs"] == 10


WALKS = """
def twice(loader):
    yield from loader
    yield from loader
def one(loader):
    for x, y in loader: optimizer.step()
def two(loader):
    for x, y in loader: optimizer.step()
def train_loader_of(rows): return DataLoader(rows)
"""


@pytest.mark.parametrize(
    "walk",
    [
        "for x, y in tqdm(enumerate(train_loader), total=len(train_loader)): optimizer.step()",
        "for (x, y), z in zip(train_loader, other_loader): optimizer.step()",
        "for x, y in self.train_loader: optimizer.step()",
        "for x, y in loaders['train']: optimizer.step()",
        "for x, y in train_loader_of(rows): optimizer.step()",
        "for x, y in self.train_dataloader(): optimizer.step()",
        "one(train_loader)\n  one(test_loader)",
        "if private: one(train_loader)\n  else: two(train_loader)",
        "for part in ('train', 'test'):\n    for x, y in loaders[part]: optimizer.step()",
        "one(train_loader)\n  test(train_loader)",
        "one(train_loader)\none(test_loader)",
        "for x, y in train_loader:\n    optimizer.step()\n    scheduler.step()",
        "for x, y in train_loader:\n    if skips: optimizer.step()\n    else: optimizer.step()",
        "for x, y in train_loader:\n    optimizer.step()\n    for k in range(3): log(k)",
        "for x, y in train_loader: optimizer.step(next(others))",
        "rows = iter(train_loader)\n  while True:\n    try: optimizer.step(next(rows))\n"
        "    except StopIteration: break",
    ],
)
def test_a_loop_that_walks_its_loader_once_is_read(walk):
    given = {name: value for name, value in RUN.items() if name != "epochs"}
    text = f"{SET_UP}\n{WALKS}\nfor epoch in range(10):\n  {walk}"
    assert checked(**given, script=text).counted["epochs"] == 10


def test_a_models_train_is_no_call_of_the_texts_own_train():
    """Opacus' examples for MNIST, CIFAR-10 and IMDb have both, and were asked how long they
    train."""
    own = "def train(model, rows):\n  model.train()\n  for x, y in rows: optimizer.step()\n"
    text = own + loop("train(model, rows)")
    assert checked(n=1_000, delta=1e-5, script=text).counted["epochs"] == 6


@pytest.mark.parametrize(
    "text",
    [
        "import hydra\n@hydra.main(config_name='c')\ndef main(cfg):{}\nmain()",
        "import unittest\ndef main():{}\nmain()\nunittest.main()",
    ],
)
def test_a_module_that_has_a_function_of_the_same_name_calls_none_of_the_texts_own(text):
    text = text.format(SET_UP.replace("\n", "\n  "))
    assert "more than once" not in said(checked(**RUN, script=text))


def test_a_loop_longer_than_planned_is_counted_and_nothing_else_said():
    plan = "make_private_with_epsilon(module=m, optimizer=o, data_loader=d, target_epsilon=2.0,"
    plan += " target_delta=1e-5, epochs=5, max_grad_norm=1.0)\n"
    text = f"import opacus\nm, o, d = PrivacyEngine().{plan}for epoch in range({{}}): train()"
    given = {"n": 1_000, "batch_size": 100}
    longer, planned = (checked(**given, script=text.format(count)) for count in (10, 5))
    assert longer.counted["epochs"] == 10
    assert "10 epochs, and they were counted" in said(longer)
    assert "as long as" not in said(longer)
    assert "as long as" in said(planned)


FIT = "model.fit(x, y, batch_size=100, epochs=3)"
START = "def start(seed=0):" + SET_UP.replace("\n", "\n  ") + "\n"
OWN = "class Own:\n  def {}(self):" + SET_UP.replace("\n", "\n    ") + "\n"


@pytest.mark.parametrize(
    "text",
    [
        SET_UP.replace("\nmodel,", "\nfor seed in range(3):\n  model,"),
        START + "start()\nstart()",
        START + "{seed: start(seed) for seed in seeds}",
        START + "for seed in seeds: Process(target=start).start()",
        START + "from ray.tune import run\nrun(start)",
        START + "launch(start, trials=20)",
        START + "from parallel import spawn\nspawn(start)",
        "def twice(run): return lambda: (run(), run())\n@twice\n" + START + "start()",
        "def repeat(n): return lambda f: lambda: [f() for _ in range(n)]\n@repeat(3)\n" + START,
        "def many(f):\n  def inner(): map(lambda _: f(), rows)\n  return inner\n@many\n" + START,
        "from tools import record\n@record\n" + START + "start()",
        "@retry(stop=stop_after_attempt(5))\n" + START + "start()",
        START + "def runner(f=start): f(); f()\nrunner()",
        START + "jobs = {'a': start}\nfor job in jobs: jobs['a']()",
        START + "for turn in range(4): globals()[turn]()",
        START + "timeit.timeit(f'start({seed})', globals=globals(), number=5)",
        START + "def make(): return start\nrun = make()\nrun()\nrun()",
        START + "for turn in range(4): getattr(here, 'start')()",
        SET_UP + "import subprocess\nsubprocess.run([sys.executable, *sys.argv])",
        SET_UP + "import os\nif seed < 9: os.system(f'python train.py --seed {seed + 1}')",
        "@ex.main\n" + START + "for seed in range(3): ex.run()",
        OWN.format("setUp").replace("Own", "Own(TestCase)"),
        OWN.format("__getitem__") + "own = Own()\nprint(own[0], own[1])",
        OWN.format("fit") + "RandomSearch().fit(Own())",
        OWN.format("setup") + "from search import fit\nfit(Own())",
        OWN.format("fit") + "def make(): return Own()\nmake().fit()\nSearch(make)",
        OWN.format("fit") + "study.own = Own()\nstudy.run()",
        OWN.format("__init__") + "  @classmethod\n  def of(cls): return cls()\nOwn.of()\nOwn.of()",
        OWN.format("fit") + "  def search(self): cross_val_score(self, x, y)\nOwn().search()",
        OWN.format("train") + "for part in parts: getattr(Own(), part)()",
        OWN.format("__call__") + "own = Own(3)\nfor turn in range(4): own(turn)",
        OWN.format("run") + "for seed in range(3): Own().start()",
        OWN.format("score").replace("  def", "  @property\n  def", 1)
        + "for turn in range(3): print(Own().score)",
        OWN.format("run") + "own = Own().cuda()\nsearch(own)",
        "def twice(*runs): return lambda: (runs[0](), runs[0]())\n@twice\n" + START + "start()",
        OWN.format("__call__") + "def fit(run): run(); run()\nfit(Own())",
        OWN.format("setup") + "class Other(Own): pass\ntrainers = [Other() for _ in range(3)]",
        OWN.format("setup") + "for seed in range(5): Trainer(max_epochs=3).fit(Own())",
        OWN.format("setup") + "own = Own()\nt = Trainer(max_epochs=3)\nt.fit(own)\nt.fit(own)",
        START + "code = 'start()'\ntimeit.timeit(code, globals=globals(), number=5)",
        "async " + START + "await start()\nawait start()",
        SET_UP.replace("model, optimizer, rows =", "start = lambda:") + "start()\nstart()",
        "class Own:\n  def __init__(self):" + SET_UP.replace("\n", "\n    ") + "\nOwn()\nOwn()",
        f"DPKerasSGDOptimizer(1.0, 2.0, 100)\n{FIT}\n{FIT}",
        SET_UP + "Trainer(max_epochs=6).hyperparameter_search(n_trials=9)",
    ],
)
def test_a_set_up_or_training_that_runs_again_asks_how_long_all_take(text):
    given = {name: value for name, value in RUN.items() if name != "epochs"}
    assert "more than once" in unproven(**given, script=text)
    assert checked(**given, epochs=18, script=text).counted["steps"] == 180


@pytest.mark.parametrize(
    "text",
    [
        "from torch.distributed.elastic.multiprocessing.errors import record\n@record\n"
        + START
        + "start()",
        "import functools\ndef timer(f):\n  @functools.wraps(f)\n  def inner(*a):\n"
        "    print(f.__name__)\n    return f(*a)\n  return inner\n@timer\n" + START + "start()",
        "import click\n@click.group()\ndef cli(): pass\n@cli.command()\n" + START + "cli()",
        START + "subprocess.run(['git', 'log'])\nos.system(f'mkdir -p {folder}')\nstart()",
        "@app.command()\n" + START + "app()",
        START + "notebook_launcher(start, num_processes=1)",
        START + "app.run(lambda _: start())",
        START + "logging.info('start')\nstart()",
        OWN.format("train") + "    self.model.train()\nown = Own()\nprint(own)\nown.train()",
        OWN.format("fit") + "scores = Own().fit()\nplot(scores)",
        OWN.format("setup") + "def make(): return Trainer(max_epochs=6)\nmake().fit(Own())",
        OWN.format("setup") + "own = Own()\nt = Trainer(max_epochs=6)\nt.fit(own)\nt.test(own)",
        OWN.format("setup") + "scaler.fit(x)\nlabels.fit(y)\nTrainer(max_epochs=6).fit(Own())",
        OWN.format("setup") + "LightningCLI(Own)",
        OWN.format("setup") + "def make(): return Own()\nTrainer(max_epochs=6).fit(make())",
        OWN.format("train") + "with Own() as own: own.train()",
        OWN.format("__call__") + "own = Own()\nprint(own)\nown()",
        START + "if several: spawn(start)\nelse: start()",
        OWN.format("setup") + "def go(own): Trainer(max_epochs=6).fit(own)\ngo(Own())",
        START + "print('start() is over')\ncProfile.run('start()')",
    ],
)
def test_a_training_that_runs_once_is_counted_once(text):
    assert checked(**RUN, script=text).counted["epochs"] == RUN["epochs"]
    assert "more than once" not in said(checked(**RUN, script=text))


TRAIN = "\ndef train():\n    for epoch in range(EPOCHS): step()\ntrain()\n"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (TRAIN, 6),
        (TRAIN + "train()", None),
        ("\nwhile epoch < 10 * EPOCHS: step()", None),
        ("\nfor epoch in count(): step()", None),
        ("\nfor epoch in range(first(), 10 * EPOCHS): step()", None),
        ("\nfor turn in range(10):\n    for row in rows: step()", 10),
        (
            "\nfor turn in range(6):\n    for again in range(9):\n        for row in rows: step()",
            None,
        ),
        (
            "\ndef train(epochs):\n    for epoch in range(epochs): step()\nspawn(train, args=(3, 9))",
            None,
        ),
        (
            "\ndef train(rank, epochs):\n    for epoch in range(epochs): step()\nspawn(train, args=(9,))",
            9,
        ),
    ],
)
def test_how_long_loops_last_is_read_or_asked_for_by_line(text, length):
    text = "EPOCHS = 6\n" + SET_UP + text
    assert read_script(text).values.get("epochs") == length
    assert length or "Line " in unread(text)


def test_steps_that_an_epoch_of_keras_is_said_to_have_are_asked_for():
    text = (
        f"DPKerasSGDOptimizer(1.0, 2.0, 100)\n{FIT.replace('epochs', 'steps_per_epoch=9, epochs')}"
    )
    assert "epochs" not in read_script(text).values
