"""Scripts whose ε is not that of their numbers: each is asked about, or gets an ε that what really runs does not exceed."""

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
OPTION = "p.add_argument('--sigma', default=4.0)\nargs = p.parse_args()\n"
RUN = {"n": 50_000, "delta": 1e-5, "epochs": 10}
UPDATE = "for e in range(10):\n    for x, y in loader:\n        loss.backward()\n"

# what trains or steps is not what the set-up bound
OTHERS = {
    "old loader": SET_UP.format("model, optimizer, private", "1.0") + LOOP,
    "loader thrown away": SET_UP.format("model, optimizer, _", "1.0") + LOOP,
    "result thrown away": PLAIN.replace(NAMES + " = ", "") + LOOP,
    "loader made anew": PLAIN + "loader = DataLoader(rows, batch_size=500)\n" + LOOP,
    "sampler put in": PLAIN + "loader.batch_sampler = fixed\n" + LOOP,
    "plain optimiser": SET_UP.format("model, private, loader", "1.0") + LOOP,
    "inner optimiser": PLAIN + LOOP.replace("optimizer.step", "optimizer.original_optimizer.step"),
    "second optimiser": PLAIN + LOOP + "        head.step()\n",
    "parameters by hand": PLAIN + LOOP + "        for p in model.parameters():\n            p.data -= p.grad\n",
    "no noise": PLAIN + "optimizer.add_noise = lambda: None\n" + LOOP,
    "noise elsewhere": PLAIN + "import opacus.optimizers.optimizer as o\no._generate_noise = zero\n" + LOOP,
    "schedule": "from opacus.schedulers import ExponentialNoise as EN\n" + PLAIN + "EN(optimizer, gamma=0.5)\n" + LOOP,
    "processes": "from torch.nn.parallel import DistributedDataParallel as Wrap\nmodel = Wrap(Net())\n" + PLAIN + LOOP,
    "loader imported": PLAIN + "from data import loader\n" + LOOP,
    "own optimiser": HEAD + "class Mine(SGD):\n    pass\noptimizer = Mine(model.parameters())\n" + PLAIN.replace(HEAD, "") + LOOP,
    "optimiser not compiled": "o = DPKerasSGDOptimizer(1.0, 1.0, 500)\nm.compile(optimizer='sgd')\nm.fit(x, y, epochs=9, batch_size=500)\n",
    "parameters kept": HEAD + "optimizer = SGD(p := list(model.parameters()))\n" + PLAIN.replace(HEAD, "") + LOOP,
    "import in a function": "def made():\n    import mylib\n    return mylib.PrivacyEngine()\nengine = made()\n"
    + PLAIN.replace("engine = PrivacyEngine()\n", "")
    + LOOP,
    "own gradient store": PLAIN + LOOP.replace("optimizer.zero_grad", "model.zero_grad"),
}
CRITERION = "import torch\ncriterion = torch.nn.CrossEntropyLoss({})\n"
SUMMED = PLAIN.replace("max_grad_norm=1.0", "max_grad_norm=1.0, loss_reduction='sum'")
# the engine takes gradients to be those of a sum, or of a mean, and they are not: they hang on how many rows a batch has
REDUCED = {
    "sum for mean": CRITERION.format("reduction='sum'") + PLAIN + LOOP,
    "mean for sum": CRITERION.format("") + SUMMED + LOOP,
    "mean for sum, in words": CRITERION.format("reduction='mean'") + SUMMED + LOOP,
    "a loss elsewhere for sum": SUMMED + LOOP,
    "a sum elsewhere": SUMMED + UPDATE + "        optimizer.step()\n",
    "a function for sum": "import torch\n" + SUMMED + LOOP.replace("criterion(", "torch.nn.functional.cross_entropy("),
    "none": CRITERION.format("reduction='none'") + PLAIN + LOOP,
    "a word of a variable": "how = input()\n" + CRITERION.format("reduction=how") + PLAIN + LOOP,
}
KEPT = "state = torch.get_rng_state()\n"
GHOST = (
    HEAD + "engine = PrivacyEngine()\nmodel, optimizer, lossy, loader = engine.make_private(criterion=torch.nn.CrossEntropyLoss(), "
    "grad_sample_mode='ghost', " + CALL.format("1.0")
)
# steps draw the same noise again, or nothing is clipped
DRAWN = {
    "seeded each step": "import torch\n" + PLAIN + LOOP + "        torch.manual_seed(0)\n",
    "seeded each epoch": "import torch\n" + PLAIN + LOOP + "    torch.manual_seed(epoch)\n",
    "seeded in a condition": "import torch\nif fixed:\n    torch.manual_seed(0)\n" + PLAIN + LOOP,
    "restored each step": "import torch\n" + KEPT + PLAIN + LOOP + "        torch.set_rng_state(state)\n",
    "restored each epoch": "import torch\n" + KEPT + PLAIN + LOOP + "    torch.set_rng_state(state)\n",
    "restored once": "import torch\ntorch.set_rng_state(torch.load('state'))\n" + PLAIN + LOOP,
    "default generator": "import torch\n" + PLAIN + LOOP + "    torch.default_generator.manual_seed(0)\n",
    "library changed": "import torch\n" + PLAIN + LOOP + "    torch.use_deterministic_algorithms(True)\n",
    "ghost, loss of its own": "import torch\n" + GHOST + LOOP.replace("criterion(", "torch.nn.functional.cross_entropy("),
    "ghost, loss elsewhere": "import torch\n" + GHOST + LOOP,
    "ghost by a name": "import torch\nmode = 'ghost'\n" + GHOST.replace("'ghost'", "mode").replace("lossy, ", "") + LOOP,
    "ghost, loss unseen": "import torch\n" + GHOST + UPDATE + "        optimizer.step()\n",
    "weights renormalised": "import torch\nmodel = torch.nn.Embedding(99, 8, max_norm=1.0)\n" + PLAIN + LOOP,
    "weights renormalised by place": "import torch\nmodel = torch.nn.EmbeddingBag(99, 8, None, 1.0)\n" + PLAIN + LOOP,
    "statistics that run along": "import torch\nmodel = torch.nn.InstanceNorm2d(3, track_running_stats=True)\n" + PLAIN + LOOP,
    "seeded in a function": "import torch\ndef f():\n    torch.manual_seed(0)\n    return 1\n" + PLAIN + LOOP + "    print(f())\n",
    "seeded in a decorated one": "import torch\n@torch.no_grad()\ndef shown():\n    torch.manual_seed(0)\n"
    + PLAIN
    + LOOP
    + "    shown()\n",
    "seeded by a helper": "import torch\ndef fix(n):\n    torch.manual_seed(n)\nfix(1)\n" + PLAIN + LOOP + "    fix(1)\n",
    "seeded under another name": "from torch import manual_seed as again\n" + PLAIN + LOOP + "    again(1)\n",
    "exit": PLAIN + LOOP + "        exit() if loss.item() < 0.1 else 0\n",
}
# one step sums over more rows
JOINED = {
    "continue": PLAIN + UPDATE + "        if k():\n            continue\n        optimizer.step()\n",
    "condition": PLAIN + UPDATE + "        if k():\n            optimizer.step()\n",
    "early return": PLAIN
    + "def go():\n    for x, y in loader:\n        loss.backward()\n        if k():\n            return\n        optimizer.step()\ngo()\n",
    "two backwards": PLAIN + UPDATE + "        other.backward()\n        optimizer.step()\n",
    "pairs": PLAIN + "for x, y in zip(loader, loader):\n" + STEP,
    "groups": PLAIN + "for group in chunked(loader, 8):\n    for x, y in group:\n        loss.backward()\n    optimizer.step()\n",
    "accelerator": PLAIN + "model, optimizer, loader = Accelerator().prepare(model, optimizer, loader)\n" + LOOP,
    "replay": PLAIN + LOOP.replace("model(x)", "model(torch.cat(seen))"),
    "rows twice": PLAIN + LOOP.replace("model(x)", "model(torch.cat([x, x]))"),
    "closure": PLAIN + LOOP.replace("step()", "step(closure)"),
    "rows added": PLAIN + LOOP.replace("        criterion", "        x += seen\n        criterion"),
    "rows put in": PLAIN + LOOP.replace("        criterion", "        x.copy_(seen)\n        criterion"),
    "rows over others": PLAIN + LOOP.replace("        criterion", "        x[:5] = seen\n        criterion"),
    "rows at times": PLAIN + LOOP.replace("        criterion", "        if k:\n            x = seen\n        criterion"),
    "two views": PLAIN + LOOP.replace("model(x), y", "model(x), model(x)"),
    "five steps": PLAIN + "for x, y in loader:\n    for k in range(5):\n        optimizer.step()\n",
    "repeated rows": PLAIN.replace("rows", "ConcatDataset([rows] * 5)") + LOOP,
}
# it trains longer or more often than the noise is for
LONGER = {
    "Lightning": TARGET + "Trainer(max_epochs=50).fit(lit, loader)\n",
    "Hugging Face": TARGET + "Trainer(model=model, args=TrainingArguments(num_train_epochs=50)).train()\n",
    "imported fit": TARGET + "from helpers import fit\nfor e in range(50):\n    fit(model, optimizer, loader)\n",
    "undefined fit": TARGET + "net.fit(X, y, epochs=50)\n",
    "undefined": TARGET + "learn.fit_one_cycle(50)\n",
    "alias": TARGET + "update = optimizer.step\nfor e in range(50):\n    for x in loader:\n        update()\n",
    "mapped": TARGET + "def go(k):\n    for x in loader:\n        optimizer.step()\nlist(map(go, range(50)))\n",
    "submitted": TARGET + "def go():\n    for x in loader:\n        optimizer.step()\nfor e in range(50):\n    pool.submit(go)\n",
    "decorated": TARGET + "@repeat(50)\ndef go():\n    for x in loader:\n        optimizer.step()\ngo()\n",
    "method": TARGET + "class T:\n    def __call__(self):\n        for x in loader:\n            optimizer.step()\nT()()\n",
    "kept": TARGET + "every = [x for _ in range(50) for x in loader]\nfor x in every:\n    optimizer.step()\n",
    "own range": "def range(k):\n    return [0] * 50\n" + TARGET + LOOP,
    "two loops": TARGET + LOOP + LOOP,
    "two targets": TARGET + TARGET,
    "a search": HEAD + "def run(trial):\n    PrivacyEngine().make_private(" + CALL.format("1.0") + "study.optimize(run, n_trials=50)\n",
    "called twice": HEAD + "def run():\n    PrivacyEngine().make_private(" + CALL.format("1.0") + "run()\nrun()\n",
    "condition": HEAD + "if private:\n    m, o, l = PrivacyEngine().make_private(" + CALL.format("1.0"),
    "longer than said": PLAIN + LOOP.replace("10", "100"),
    "TensorFlow places": "opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\nmodel.fit(x, y, 500, 60)\n",
    "TensorFlow keywords": "opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\nmodel.fit(x, y, batch_size=500, **more)\n",
    "TensorFlow rates": "for lr in (0.1, 1.0):\n    opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\n",
    "TensorFlow steps": "opt = DPKerasSGDOptimizer(1.0, 1.0, 500)\nt = opt.minimize(loss)\nfor i in range(9):\n    s.run(t)\n",
    "fastDP rates": "for lr in (0.1, 1.0):\n    PrivacyEngine(m, batch_size=500, sample_size=50_000, epochs=9, noise_multiplier=1.0)\n",
}
# a value is not what it looks like
HIDDEN = {
    "globals": "sigma = 4.0\nglobals()['sigma'] = 0.5\n" + SET_UP.format(NAMES, "sigma"),
    "exec": "sigma = 4.0\nexec('sigma = 0.5')\n" + SET_UP.format(NAMES, "sigma"),
    "star": "sigma = 4.0\nfrom config import *\n" + SET_UP.format(NAMES, "sigma"),
    "setattr": OPTION + "setattr(args, 'sigma', 0.5)\n" + SET_UP.format(NAMES, "args.sigma"),
    "vars": OPTION + "vars(args).update(sigma=0.5)\n" + SET_UP.format(NAMES, "args.sigma"),
    "command line": "import sys\nsys.argv += ['--sigma', '0.5']\n" + OPTION + SET_UP.format(NAMES, "args.sigma"),
    "another object": OPTION + SET_UP.format(NAMES, "conf.sigma"),
    "another class": "class C:\n    sigma = 4.0\n" + SET_UP.format(NAMES, "sigma"),
    "another function": "def f():\n    sigma = 4.0\n" + SET_UP.format(NAMES, "sigma"),
    "match": "sigma = 4.0\nmatch c:\n    case {'s': sigma}:\n        pass\n" + SET_UP.format(NAMES, "sigma"),
    "own float": "float = lambda s: 0.5\nsigma = float('4.0')\n" + SET_UP.format(NAMES, "sigma"),
    "object alias": "c = C()\nc.sigma = 4.0\nd = c\nd.sigma = 0.5\n" + SET_UP.format(NAMES, "c.sigma"),
    "no clip": PLAIN.replace("max_grad_norm=1.0", "max_grad_norm=float('inf')"),
    "person's rows": "compute_dp_sgd_privacy_statement(50_000, 500, 10, 1.0, 1e-5, used_microbatching=False, max_examples_per_user=5)",
}
# a library, or a part of one, that is not known
UNKNOWN = {
    "Adam of old": "from tensorflow_privacy import DPAdamGaussianOptimizer\nDPAdamGaussianOptimizer(1.0, 1.0, 500)\n",
    "model class": "import tensorflow_privacy as tfp\nmodel = tfp.DPSequential(l2_norm_clip=1.0, noise_multiplier=1.0)\n",
    "Adam of old, with a statement": "DPAdamGaussianOptimizer(1.0, 0.1, 500)\n"
    "compute_dp_sgd_privacy_statement(50_000, 500, 10, 1.0, 1e-5, used_microbatching=False)",
    "optax": "import optax\ntx = optax.contrib.dpsgd(learning_rate=0.1, l2_norm_clip=1.0, noise_multiplier=1.0, seed=0)\n",
    "by hand": "for i in range(0, 50_000, 500):\n    w -= clip(g) + torch.randn(d) * sigma\n",
    "own wrapper": "class T:\n    def make_private(self, noise_multiplier):\n        pass\nT().make_private(noise_multiplier=1.0)\n",
    "two libraries": JAX.format("train_steps=1000, train_size=50_000") + PLAIN + LOOP,
}
# a part of what is set up, or rows coupled or changed on their way
WHOLE = (
    "import torch\nfrom torch import nn, optim\nfrom torch.utils.data import DataLoader, TensorDataset\n"
    "X, t = torch.load('x'), torch.load('t')\n"
    "body, head = nn.Linear(10, 5), nn.Linear(5, 2)\nnet = nn.Sequential(body, head)\nbase = optim.SGD(net.parameters(), lr=0.1)\n"
    "plain = optim.SGD(body.parameters())\nrows = TensorDataset(X, t)\ncriterion = nn.CrossEntropyLoss()\n"
    "model = net\noptimizer = base\n" + PLAIN + "schedule = optim.lr_scheduler.StepLR(optimizer, 1)\n"
)
WORK = WHOLE + "for epoch in range(10):\n    for x, y in loader:\n        optimizer.zero_grad()\n        {}\n        optimizer.step()\n"
LOSS = "loss = criterion(model(x), y)\n        loss.backward()"
WITHIN = {
    "second optimiser of a part": LOSS + "\n        plain.step()",
    "optimiser by its other name": LOSS + "\n        base.step()",
    "weights by hand": LOSS + "\n        for p in body.parameters():\n            p.data -= p.grad",
    "contrast": "z = model(x)\n        criterion(z @ z.T, torch.arange(len(z))).backward()",
    "centred": "z = model(x)\n        criterion(z - z.mean(0), y).backward()",
    "mixed labels": "z = model(x)\n        (criterion(z, y) + criterion(z, y[torch.randperm(5)])).backward()",
    "crops": "criterion(model(x.view(-1, 10)), y.repeat_interleave(10)).backward()",
    "one row": "criterion(model(x.unsqueeze(0))[0], y).backward()",
    "in place": "mixed = x.mul_(0.5)\n        " + LOSS,
    "out": "torch.cumsum(x, 0, out=x)\n        " + LOSS,
    "whole set": "loss = criterion(model(x), y) + body(X).mean()\n        loss.backward()",
    "class weights": "w = 1 / torch.bincount(y)\n        "
    "(w[y] * nn.functional.cross_entropy(model(x), y, reduction='none')).mean().backward()",
    "square error": "nn.MSELoss()(model(x), y).backward()",
    "teacher": "criterion(model(x), torch.tensor(teacher.predict(x))).backward()",
    "schedule's optimiser": LOSS + "\n        schedule.optimizer.noise_multiplier = 0.1",
    "gradients kept": LOSS + "\n        torch.save(body.weight.grad_sample, 'g')",
    "weights shared out": "nn.CrossEntropyLoss(weight=w)(model(x), y).backward()",
    "labels left out": "nn.CrossEntropyLoss(ignore_index=0)(model(x), y).backward()",
    "several views of a row": "x, y = x.view(-1, 10), y.view(-1)\n        " + LOSS,
    "loss ends it": LOSS + "\n        if loss.item() < 0.1:\n            exit()",
    "loss schedules it": LOSS + "\n        schedule.step(loss)",
    "loss schedules at times": LOSS + "\n        if loss.item() < 0.1:\n            schedule.step()",
    "loss ends the epochs": LOSS + "\n        total = loss.item()\n    if total < 0.1:\n        break\n    for _ in ():",
    "loss keeps the best": LOSS
    + "\n        total = loss.item()\n    if total < 0.1:\n        torch.save(model.state_dict(), 'best')\n    for _ in ():",
    "rows put in": "rows.tensors = (X[:1].expand(9, 10), t[:1].expand(9))\n        " + LOSS,
}
AROUND = {
    "part fitted after": WORK.format(LOSS) + "head.weight.data = torch.linalg.lstsq(body(X), t).solution\n",
    "part begun from rows": WORK.format(LOSS).replace("rows = T", "head.weight.data.copy_(X.mean(0))\nrows = T"),
    "scaled by all rows": WORK.format(LOSS).replace("rows = T", "X = StandardScaler().fit_transform(X)\nrows = T"),
    "schedule that looks": WORK.format(LOSS).replace("lr_scheduler.StepLR(optimizer, 1)", "lr_scheduler.ReduceLROnPlateau(optimizer)"),
    "schedule of its own": WORK.format(LOSS).replace("StepLR(optimizer, 1)", "LambdaLR(optimizer, lambda e: 1 / total)"),
    "centred by all rows": WORK.format(LOSS).replace("rows = T", "X = (X - X.mean(0)) / X.std(0)\nrows = T"),
    "centred under another name": WORK.format(LOSS).replace("rows = T", "m = X.mean(0)\nZ = X - m\nrows = T").replace("set(X", "set(Z"),
    "turned by all rows": WORK.format(LOSS).replace("set(X, t", "set(X @ torch.linalg.svd(X)[2].T, t"),
    "rows joined": WORK.format(LOSS).replace("set(X, t", "set(torch.cat([X, X]), torch.cat([t, t])"),
    "Keras centred": "x = load(1)\nx = x - x.mean()\no = DPKerasSGDOptimizer(1.0, 1.0, 500)\nm.fit(x, y, epochs=10, batch_size=500)\n",
    "Keras adapted": "n.adapt(x)\no = DPKerasSGDOptimizer(1.0, 1.0, 500)\nm.fit(x, y, epochs=10, batch_size=500)\n",
    "gaps filled": "df = pd.read_csv('f')\ndf.fillna(df.mean(), inplace=True)\n" + WORK.format(LOSS),
    "changed in place": WORK.format(LOSS).replace("rows = T", "X.sub_(Y)\nrows = T"),
    "changed by name": WORK.format(LOSS).replace("rows = T", "for a in (X, Y):\n    a -= a.mean(0)\nrows = T"),
    "step size from rows": WORK.format(LOSS).replace("lr=0.1", "lr=float(1 / X.norm())"),
    "schedule from rows": WORK.format(LOSS).replace("StepLR(optimizer, 1)", "StepLR(optimizer, 1, gamma=float(X[0, 0]))"),
    "weights from rows": WORK.format(LOSS).replace("nn.Sequential(body, head)", "nn.Sequential(body, head, Rbf(X[:100]))"),
    "classes from rows": WORK.format(LOSS).replace("nn.Linear(5, 2)", "nn.Linear(5, int(t.max()) + 1)"),
    "neighbours": WORK.format(LOSS) + "knn.fit(X, t)\n",
    "run again": "import subprocess\n" + WORK.format(LOSS),
    "patched": "from unittest import mock\n" + WORK.format(LOSS),
    "own module": "class Centre(nn.Module):\n    def forward(self, x):\n        return x - x.mean(0)\n" + WORK.format(LOSS),
    "no hooks": WORK.format(LOSS).replace("max_grad_norm=1.0", "max_grad_norm=1.0, grad_sample_mode='no_op'"),
    "engine by another name": "E = PrivacyEngine\nE.make_private = fake\n" + WORK.format(LOSS),
    "Keras alone": JAX.format("train_steps=1000, train_size=50_000") + "model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=10)\n",
    "Keras loss": "o = DPKerasSGDOptimizer(1.0, 1.0, 500)\n"
    "m.compile(o, lambda a, b: b - b.mean())\nm.fit(x, y, epochs=10, batch_size=500)\n",
    "Keras tape": "o = DPKerasSGDOptimizer(1.0, 1.0, 500)\nwith tf.GradientTape() as tape:\n    pass\n",
    "fastDP loop": "PrivacyEngine(m, batch_size=500, sample_size=50_000, epochs=9, noise_multiplier=1.0)\nfor x in l:\n    o.step()\n",
}
OPTIONS = {
    "dest": "p.add_argument('--low', dest='sigma', default=0.3)\np.add_argument('--sigma', default=4.0)\n",
    "type": "p.add_argument('--sigma', type=lambda s: float(s) / 10, default=4.0)\n",
    "parents": "p = argparse.ArgumentParser(parents=[q])\np.add_argument('--sigma', default=4.0)\n",
    "own parser": "p = Parser()\np.add_argument('--sigma', default=4.0)\n",
}
HIDDEN |= {
    f"option {name}": "import argparse\n" + ("" if "p = " in text else "p = argparse.ArgumentParser()\n") + text + "args = p.parse_args()\n"
    + SET_UP.format(NAMES, "args.sigma")
    for name, text in OPTIONS.items()
}  # fmt: skip
GROUPS = {
    "other": OTHERS,
    "joined": JOINED,
    "longer": LONGER,
    "hidden": HIDDEN,
    "unknown": UNKNOWN,
    "around": AROUND,
    "reduced": REDUCED,
    "drawn": DRAWN,
}
GROUPS["within"] = {name: WORK.format(text) for name, text in WITHIN.items()}
CASES = {f"{group}: {name}": text for group, cases in GROUPS.items() for name, text in cases.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_script_that_may_run_otherwise_has_no_epsilon_by_itself(name):
    check = pc.check_run(**RUN, batch_size=500, script=CASES[name])
    assert set(check.epsilon.values()) == {None}
    assert check.problems[0].startswith(("Please say", "The script trains"))
    if read_script(CASES[name]).unfollowed:
        told = pc.check_run(**RUN, batch_size=500, noise_multiplier=1.0, sampler="poisson", script=CASES[name])
        assert told.epsilon == pc.check_run(**RUN, batch_size=500, noise_multiplier=1.0).epsilon
        assert "of a run with the numbers that you said" in told.problems[0]


PARTS = """
import argparse
from opacus import PrivacyEngine as PE
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
from torchvision import datasets

def train(model, part, optimizer, schedule, device):
    model.train()
    losses = []
    for k, (x, y) in enumerate(tqdm(part)):
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    schedule.step()

def accuracy(model, part):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in part:
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(part.dataset)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sigma", type=float, default=0.5)
    args = parser.parse_args()
    model = Net().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(datasets.MNIST("here"), batch_size=500)
    held_out = DataLoader(datasets.MNIST("here", train=False), batch_size=64)
    engine = PE(accountant="gdp")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=args.sigma, max_grad_norm=1.0)
    schedule = StepLR(optimizer, 3)
    epochs = 10
    for epoch in range(1, epochs + 1):
        train(model, loader, optimizer, schedule, "cuda")
        print(engine.get_epsilon(1e-5))
    result = accuracy(model, held_out)
    torch.save(model.state_dict(), "m.pt")

if __name__ == "__main__":
    main()
"""


def test_what_the_cases_change_is_followed_as_it_was():
    assert not read_script(WORK.format(LOSS)).unfollowed
    plain = "o = DPKerasSGDOptimizer(1.0, 1.0, 500)\nm.compile(o, 'mse')\nm.fit(x, y, epochs=10, batch_size=500)\n"
    assert not read_script(plain).unfollowed
    keras = "m = keras_api.make_private(model, p)\nm.compile('sgd', 'mse')\nm.fit(x, y, epochs=10)\n"
    assert not read_script(JAX.format("train_steps=1000, train_size=50_000") + keras).unfollowed
    scaled = WORK.format(LOSS).replace("rows = T", "X = X.float() / 255\nrows = T").replace("StepLR", "CosineAnnealingLR")
    assert not read_script(scaled).unfollowed
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--sigma', type=float, default=4.0)\nargs = p.parse_args()\n"
    assert read_script(options + SET_UP.format(NAMES, "args.sigma")).values["noise_multiplier"] == 4.0


def test_a_script_of_many_faults_or_deep_parts_is_told_of_few():
    """Each reason costs the text of its statement, each part within another a walk over those around it."""
    assert len(read_script(PLAIN + "model\n" * 8_000).unfollowed) == 20
    assert "nests more than 100" in read_script(PLAIN + "model" + ".a" * 200).unfollowed[0]


def test_names_of_names_are_followed_once():
    """Forty names in each of eight levels were some 10^12 visits."""
    lines = ["a0 = 1", *(f"a{level + 1} = " + " + ".join([f"a{level}"] * 40) for level in range(8)), "model = Net(a8)"]
    assert "what is set up" not in " ".join(read_script("\n".join(lines) + "\n" + PLAIN).unfollowed)
    assert read_script("x = 1\n" * 400 + "PrivacyEngine().make_private(data_loader=x, noise_multiplier=1.0)\n" * 500).unfollowed


def test_a_function_of_the_library_is_a_known_loss():
    text = "from torch.nn import functional as F\n" + WORK.format("F.cross_entropy(model(x), y).backward()")
    assert not read_script(text).unfollowed


@pytest.mark.parametrize("field", ["sample_size", "epochs", "batch_size", "target_delta"])
@pytest.mark.parametrize("value", ['"x"', "-5", "1e400"])
def test_a_number_of_a_script_that_no_run_can_have_is_told(field, value):
    """Each went past the limits into the search for the noise: a foreign error, with places of the disk in a terminal."""
    said = {"batch_size": "500", "sample_size": "50_000", "epochs": "3", "target_epsilon": "8.0", "target_delta": "1e-6"} | {field: value}
    text = "from fastDP import PrivacyEngine\ne = PrivacyEngine(m, " + ", ".join(f"{name}={one}" for name, one in said.items()) + ")"
    check = pc.check_run(n=50_000, batch_size=500, steps=10, delta=1e-6, script=text)
    assert set(check.epsilon.values()) == {None}


def test_an_accountant_that_its_library_lacks_is_asked_about():
    text = PLAIN.replace("PrivacyEngine()", "PrivacyEngine(accountant='![m](http://host/x.png)')")
    assert "accountant" in " ".join(read_script(text).unfollowed)


@pytest.mark.parametrize(
    "wrong", [{"noise_multiplier": float("inf")}, {"steps": 0}, {"n": 0}, {"batch_size": 0}, {"delta": 1e-199}, {"epochs": float("nan")}]
)
def test_the_function_that_pages_call_checks_its_numbers(wrong):
    """Links reach it past `pc.check_run`: an infinite σ kept a server busy without end."""
    run = {"n": 50_000, "batch_size": 500, "delta": 1e-5, "noise_multiplier": 1.0} | ({} if "steps" in wrong else {"epochs": 10})
    with pytest.raises(SettingError):
        check_run(**(run | wrong))


def test_a_whole_script_of_known_forms_keeps_its_epsilon():
    check = pc.check_run(n=50_000, batch_size=None, delta=1e-5, script=PARTS)
    assert check.epsilon == pc.check_run(n=50_000, batch_size=500, epochs=10, noise_multiplier=0.5, delta=1e-5).epsilon
    assert check.reported[0].library == "Opacus (GDP)"
    assert "yours to confirm" in check.problems[0]


def test_the_loss_that_ghost_clipping_returns_keeps_its_epsilon():
    alone = pc.check_run(**RUN, batch_size=500, noise_multiplier=1.0)
    text = "import torch\ntorch.manual_seed(0)\n" + GHOST + LOOP.replace("criterion(", "lossy(")
    assert pc.check_run(**RUN, batch_size=500, script=text).epsilon == alone.epsilon


@pytest.mark.parametrize("text", [CRITERION.format("reduction='sum'") + SUMMED, CRITERION.format("reduction='mean'") + PLAIN])
def test_a_loss_that_is_summed_as_the_engine_takes_it_keeps_its_epsilon(text):
    alone = pc.check_run(**RUN, batch_size=500, noise_multiplier=1.0)
    assert pc.check_run(**RUN, batch_size=500, script=text + LOOP).epsilon == alone.epsilon


@pytest.mark.parametrize(
    ("text", "given", "least"),
    [
        (TARGET, {"delta": 1e-8}, 2.977),
        (TARGET, {"delta": None, "epochs": 50}, 4.553),
        (TARGET, {"delta": None, "steps": 5_000}, 4.553),
        (SET_UP.format(NAMES, "0.5") + LOOP, {"delta": 1e-5, "epsilon": 1.0}, 13.33),
        (TARGET.replace("PrivacyEngine()", "PrivacyEngine(accountant='gdp')"), {"delta": None}, 2.354),
        (JAX.format("train_steps=1000, train_size=50_000, noise_multiplier=1.0"), {"delta": None}, 17.85),
        (
            JAX.format("train_steps=1000, train_size=50_000, noise_multiplier=1.0") + "m = keras_api.make_private(model, p)\n",
            {"delta": None},
            17.85,
        ),
        ("compute_dp_sgd_privacy_statement(50_000, 500, 10, 1.0, 1e-5)", {"delta": None}, 46.2),
    ],
    ids=["smaller delta", "more epochs", "more steps", "own target", "gdp by another name", "config", "its make_private", "microbatches"],
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
