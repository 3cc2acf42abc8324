"""A task of texts on the yardstick: SciPy's docstrings by module, with public docstrings of other
libraries and made-up sentences.

Prints what PILLAR reaches with each candidate beside the class signal, then learners with the best
one. The texts are those of the packages that are installed here, whose licences are BSD-3-Clause
and the PSF's.
"""

import argparse
import contextlib
import importlib
import inspect
import pkgutil
import re
import warnings

import numpy as np
import pandas as pd

import pillar_core as pc
from pillar_core.screening import class_signal
from pillar_core.types import FeatureSet

MODULES = ("scipy.stats", "scipy.special", "scipy.optimize", "scipy.signal", "scipy.sparse")
LIBRARIES = ("sklearn", "numpy", "pandas", "networkx", "sympy")
STANDARD = (
    "email",
    "http",
    "urllib",
    "logging",
    "asyncio",
    "tkinter",
    "xml",
    "argparse",
    "tarfile",
    "socketserver",
    "unittest",
    "ssl",
)
EPSILONS = (0.1, 0.3, 1.0)
LEARNERS = ("pillar", "pillar_kalman", "pillar_one_shot", "dp_raft", "noisy_gd", "dp_sgd")
SIGNATURE = re.compile(r"^[\w.]+\(.*\)( -> .*)?$|^(\.\.|>>>|Parameters|Signature)")
SHORTEST, LONGEST = 5, 400
"""Words, and signs, of a text."""


def beginning(doc: object) -> str:
    """The first one or two paragraphs of a docstring, without signatures."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(doc)) if isinstance(doc, str) else []
    plain = [text for part in paragraphs if not SIGNATURE.match(text := " ".join(part.split()))]
    return " ".join(plain[: 1 if plain and len(plain[0]) > 150 else 2])[:LONGEST]


def docstrings(*roots: str) -> dict[str, str]:
    """The module of each docstring of public functions, classes and methods below some packages."""
    texts: dict[str, str] = {}
    modules = []
    for root in roots:
        modules.append(package := importlib.import_module(root))
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{root}."):
            if not re.search(
                r"test|\._|conftest|externals|f2py|distutils|compat|__main__|idle", module.name
            ):
                with contextlib.suppress(
                    Exception, SystemExit
                ):  # a module that needs what is not here
                    modules.append(importlib.import_module(module.name))
    for module in modules:
        public = [
            item
            for name, item in vars(module).items()
            if not name.startswith("_") and callable(item)
        ]
        ours = [item for item in public if str(getattr(item, "__module__", "")).startswith(roots)]
        methods = [
            part
            for item in ours
            if inspect.isclass(item)
            for name, part in vars(item).items()
            if not name.startswith("_")
        ]
        for item in (
            *ours,
            *(part for part in methods if inspect.isfunction(part) or isinstance(part, property)),
        ):
            text = beginning(getattr(item, "__doc__", None))
            if len(text.split()) >= SHORTEST:
                texts.setdefault(text, module.__name__)
    return texts


def sentences(n: int, seed: int) -> list[str]:
    """Made-up complaints of customers, far from any library."""
    draw = np.random.Generator(np.random.PCG64(seed))
    who, what, when = (
        ("My order", "The parcel", "Your driver", "The invoice", "My refund", "The shop"),
        (
            "never arrived",
            "was charged twice",
            "is broken",
            "came too late",
            "had the wrong colour",
            "was left in the rain",
        ),
        (
            "on Monday",
            "last week",
            "again",
            "before the holidays",
            "without a word",
            "in the morning",
        ),
    )
    return [
        f"{draw.choice(who)} {draw.choice(what)} {draw.choice(when)}, number"
        f" {draw.integers(10**6)}."
        for _ in range(n)
    ]


def shuffled(texts: list[str], seed: int) -> list[str]:
    """As many texts of the same words, dealt anew."""
    draw = np.random.Generator(np.random.PCG64(seed))
    words = draw.permutation([word for text in texts for word in text.split()])
    ends = np.cumsum([len(text.split()) for text in texts])
    return [" ".join(part) for part in np.split(words, ends[:-1])]


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    by_module = {
        text: name
        for text, module in docstrings(*MODULES).items()
        for name in MODULES
        if module.startswith(name)
    }
    rows = pd.Series(by_module).sample(frac=1.0, random_state=0)
    private = pc.load_features((rows.index.tolist(), rows.str.removeprefix("scipy.").to_numpy()))
    public = {name: [*docstrings(name)] for name in LIBRARIES} | {
        "standard library": [*docstrings(*STANDARD)]
    }
    public |= {
        "complaints": sentences(1000, 0),
        "numpy, words dealt anew": shuffled(public["numpy"], 0),
    }
    public = {
        name: [text for text in texts if text not in by_module] for name, texts in public.items()
    }
    features = {name: pc.load_features(texts) for name, texts in public.items()}
    scores = class_signal.ranking(private, features, epsilon=None).set_index("public")["value"]
    dear = class_signal.ranking(private, features, epsilon=0.3, seed=0).set_index("public")["value"]
    largest = np.bincount(private.y_test).max() / len(private.y_test)
    print(
        f"{len(private.x_train):,} private texts, {private.n_classes} classes, the largest"
        f" {largest:.1%} of the test rows"
    )
    table = pd.DataFrame(
        {
            "rows": {name: len(texts) for name, texts in public.items()},
            "signal": scores,
            "signal at 0.3": dear,
        }
    )
    for epsilon in EPSILONS:
        table[f"ε = {epsilon:g}"] = {
            name: _mean(private, name, features, "pillar", epsilon, seeds) for name in public
        }
    table = table.sort_values("signal")
    print(table.round(3).to_string())
    for epsilon in EPSILONS:
        accuracy = table[f"ε = {epsilon:g}"]
        regret = {
            score: accuracy.max() - accuracy[table[score].idxmin()]
            for score in ("signal", "signal at 0.3")
        }
        rho = -table["signal"].corr(accuracy, method="spearman")
        print(
            f"ε = {epsilon:g}: regret {regret['signal']:.3f}, with ε = 0.3"
            f" {regret['signal at 0.3']:.3f}; Spearman {rho:.2f}"
        )
    best = str(table.index[0])
    learners = {
        method: [_mean(private, best, features, method, epsilon, seeds) for epsilon in EPSILONS]
        for method in LEARNERS
    }
    learners["non_private"] = [_mean(private, best, features, "non_private", None, seeds)] * len(
        EPSILONS
    )
    print(
        pd.DataFrame(learners, index=[f"ε = {epsilon:g}" for epsilon in EPSILONS])
        .T.round(3)
        .to_string()
    )


def _mean(
    private: FeatureSet,
    name: str,
    public: dict[str, FeatureSet],
    method: str,
    epsilon: float | None,
    seeds: range,
) -> float:
    """The mean test accuracy over seeds."""
    split = pc.split(private, public=public[name])
    budget = {} if epsilon is None else {"epsilon": epsilon}
    return float(np.mean([pc.run(method, split, seed=seed, **budget).accuracy for seed in seeds]))


if __name__ == "__main__":
    main()
