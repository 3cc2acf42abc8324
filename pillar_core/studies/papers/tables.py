"""Which published tables and figures our learners can run, and what their data are called here."""

import dataclasses
import math

from pillar_core.registry import Registry
from pillar_core.types import Values

SOURCES = {
    "CIFAR-10": "torchvision:cifar10",
    "CIFAR-100": "torchvision:cifar100",
    "Flower-16": "flower_16",
    "GTSRB": "torchvision:gtsrb",
    "Dermnet": "dermnet",
    "PCAM": "torchvision:pcam",
    "Pneumonia": "pneumonia",
    "Riccardo": "openml:riccardo",
    "Guillermo": "openml:guillermo",
    "MNIST": "torchvision:mnist",
    "Oxford Flowers": "torchvision:flowers102",
    "CUB-200": "cub_200",
    "Stanford Dogs": "stanford_dogs",
    "MIT-67": "mit_67",
    "Oxford Pets": "torchvision:oxfordiiitpet",
    "Caltech-256": "torchvision:caltech256",
}
"""Our names of the papers' private data sets."""
BACKBONES = {
    "ResNet-50 SL": "timm:resnet50.tv_in1k",
    "ResNet-50 ImageNet": "timm:resnet50.tv_in1k",
    "ConvNeXt-XL": "timm:convnext_xlarge.fb_in22k",
}
"""Backbones of the papers whose weights are on a hub; the first is taken where a figure names
none."""
CIFAR = ("CIFAR-10", "CIFAR-100")
PILLAR_SETS = (*CIFAR, "Flower-16", "GTSRB", "Dermnet", "PCAM", "Pneumonia")
ADAMIX_SETS = ("Oxford Flowers", "CUB-200", "Stanford Dogs", "MIT-67", "Oxford Pets", "Caltech-256")
KS = [10, 20, 40, 80, 120, 200, 280, 360, 520, 768, 1028, 1284, 1540, 2048]
BUDGETS = [0.1, 0.3, 0.7, math.inf]
BY_K: Values = {"method": ["pillar"], "epsilon": BUDGETS, "k": KS, "public_fraction": 0.1}
MNIST_BUDGETS = [0.1, 0.3, 0.7, 1.0, 2.0]
SHOTS = {"Oxford Flowers": 2, "CUB-200": 2}
"""Labelled public rows a class in AdaMix's figures, where they are not 5 (its A.6)."""
TUNED: Values = {
    "validation_fraction": 0.1,
    "k": [None, 10, 40, 120],
    "learning_rate": [None, 10.0, 100.0, 1000.0],
}
"""What is tried where runs are tuned as the papers' are: None is our rule. Step sizes are a decade
apart, as PILLAR's, for full batches of unit rows."""
ADAMIX_BUDGETS = [0.5, 1.0, 2.0, 3.0, 5.0]


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """One published table or figure that our learners can run.

    `axes` are what the facts do not tell: methods and budgets of a figure without printed numbers,
    or a public share.
    """

    name: str
    title: str
    paper: str
    table: str
    datasets: tuple[str, ...]
    seeds: int = 5
    axes: Values = dataclasses.field(default_factory=dict)

    @property
    def shown_axes(self) -> tuple[str, ...]:
        """Axes beside learner, budget and public share that tell one measured line from another."""
        return tuple(
            name
            for name, value in self.axes.items()
            if isinstance(value, list) and name not in ("method", "epsilon")
        )


TABLES: Registry[PaperTable] = Registry("published table")
for _table in (
    PaperTable(
        "pillar-table-2",
        "Six learners at three budgets (PILLAR, Table II)",
        "pillar",
        "II",
        PILLAR_SETS,
    ),
    PaperTable(
        "pillar-table-3", "Public rows of a shifted set (PILLAR, Table III)", "pillar", "III", CIFAR
    ),
    PaperTable(
        "pillar-table-4",
        "Less public data (PILLAR, Table IV)",
        "pillar",
        "IV",
        ("CIFAR-10", "GTSRB"),
    ),
    PaperTable("pillar-table-6", "Against De et al. (PILLAR, Table VI)", "pillar", "VI", CIFAR),
    PaperTable(
        "pillar-table-7",
        "Projected or not, larger budgets (PILLAR, Table VII)",
        "pillar",
        "VII",
        CIFAR,
    ),
    PaperTable(
        "pillar-table-8",
        "Tabular rows, Riccardo (PILLAR, Table VIII left)",
        "pillar",
        "VIII-left",
        ("Riccardo",),
    ),
    PaperTable(
        "pillar-table-8-right",
        "Tabular rows, Guillermo (PILLAR, Table VIII right)",
        "pillar",
        "VIII-right",
        ("Guillermo",),
    ),
    PaperTable(
        "pillar-table-9", "PILLAR inside DP-RAFT (PILLAR, Table IX)", "pillar", "IX", ("CIFAR-100",)
    ),
    PaperTable(
        "pillar-figure-4",
        "Accuracy against k (PILLAR, Fig. 4; no numbers printed)",
        "pillar",
        "4",
        CIFAR,
        axes=BY_K,
    ),
    PaperTable(
        "pillar-figure-5",
        "Accuracy against k, more sets (PILLAR, Fig. 5; no numbers)",
        "pillar",
        "5",
        PILLAR_SETS[2:],
        axes=BY_K,
    ),
    PaperTable(
        "pillar-figure-6",
        "Loss by privacy at ε = 0.1 (PILLAR, Fig. 6; no numbers)",
        "pillar",
        "6",
        PILLAR_SETS,
        axes={**BY_K, "method": ["pillar", "non_private"], "epsilon": [0.1], "k": KS[:6]},
    ),
    PaperTable(
        "pillar-figure-7",
        "Less private data (PILLAR, Fig. 7; no numbers)",
        "pillar",
        "7",
        ("GTSRB", "CIFAR-100"),
        axes={
            "method": ["pillar", "dp_sgd"],
            "epsilon": [0.1, 0.7],
            "public_fraction": 0.1,
            "validation_fraction": [0.0, 0.225, 0.45, 0.675, 0.81, 0.855],
        },
    ),
    PaperTable(
        "pillar-figure-8",
        "Accuracy against ε on MNIST (PILLAR, Fig. 8; no numbers)",
        "pillar",
        "8",
        ("MNIST",),
        axes={"method": ["pillar", "dp_sgd"], "epsilon": MNIST_BUDGETS, "public_fraction": 0.1},
    ),
    PaperTable(
        "pillar-figure-9",
        "Best k against ε on MNIST (PILLAR, Fig. 9; no numbers)",
        "pillar",
        "9",
        ("MNIST",),
        axes={**BY_K, "epsilon": MNIST_BUDGETS, "k": KS[:6]},
    ),
    PaperTable(
        "adamix-table-1",
        "Few labelled public rows a class (AdaMix, Table 1)",
        "adamix",
        "1",
        ADAMIX_SETS,
        seeds=3,
    ),
    PaperTable(
        "adamix-figure-1",
        "Error against ε (AdaMix, Fig. 1 and 9 to 13; no numbers)",
        "adamix",
        "figure 1",
        ADAMIX_SETS,
        seeds=3,
        axes={
            "method": ["noisy_gd", "ppgd", "adamix", "only_public", "non_private"],
            "epsilon": ADAMIX_BUDGETS,
            "public_per_class": 5,
        },
    ),
    PaperTable(
        "adamix-figure-5",
        "What each part of AdaMix adds (AdaMix, Fig. 5; no numbers)",
        "adamix",
        "figure 5",
        ADAMIX_SETS,
        seeds=3,
        axes={
            "method": ["adamix"],
            "projection": [True, False],
            "adaptive_clip": [True, False],
            "epsilon": ADAMIX_BUDGETS,
            "public_per_class": 5,
        },
    ),
    PaperTable(
        "adamix-figure-7",
        "The clip percentile (AdaMix, Fig. 7; no numbers)",
        "adamix",
        "figure 7",
        ADAMIX_SETS,
        seeds=3,
        axes={
            "method": ["adamix"],
            "clip_percentile": [50.0, 75.0, 90.0, 95.0, 99.0],
            "epsilon": [3.0],
            "public_per_class": 5,
        },
    ),
    PaperTable(
        "semi-private-figure-1",
        "Accuracy against k at larger budgets (semi-private, Fig. 1; no numbers)",
        "semi_private",
        "figure 1",
        CIFAR,
        axes={**BY_K, "epsilon": [0.2, 2.0, 8.0, math.inf]},
    ),
):
    TABLES.register(_table)
