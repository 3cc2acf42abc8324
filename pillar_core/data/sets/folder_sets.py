"""Data sets that their sources hand out as one folder per class, perhaps under train/ and test/."""

from __future__ import annotations

from pillar_core.data.cards import DATASETS, Count, Facts
from pillar_core.data.images import folders
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import PHOTOGRAPHS, reader

__all__: list[str] = []

KNOWN = frozenset({*folders.SPLITS, *folders.LEFT_OUT})


def _arranged(files: Tree, _: RootSettings) -> Layout:
    """Class folders; beside train and test, whatever else lies there is left out (copies of the whole set, other editions)."""
    depths = [parts.index("train") for parts in (member.path.parts for member in files.members) if "train" in parts]
    if not depths:
        return folders.arranged(files.members)
    depth = min(depths)
    return folders.arranged([member for member in files.members if set(member.path.parts[depth : depth + 1]) & KNOWN])


FACTS = {
    "pneumonia": Facts(
        "Pneumonia (children's chest x-rays; KagChest)",
        "D. Kermany, M. Goldbaum, W. Cai et al.: Cell 172, 2018",
        "CC BY 4.0",
        (Count(5_216), Count(624)),
        Count(2),
        "grey x-rays of many sizes (shorter side at most 256)",
        "2.3 GB",
        "chest_xray (train, test, val; NORMAL and PNEUMONIA) from data.mendeley.com/datasets/rscbjbr9sj or Kaggle.",
        ("PILLAR", "GSD"),
        can_fetch=False,
    ),
    "dermnet": Facts(
        "DermNet (skin diseases)",
        "DermNet's public portal, collected on Kaggle (shubhamgoel27/dermnet)",
        "stated on its Kaggle page",
        (Count(15_557), Count(4_002)),
        Count(23),
        PHOTOGRAPHS,
        "1.7 GB",
        "train and test, one folder for each of 23 diseases, from kaggle.com/datasets/shubhamgoel27/dermnet.",
        ("PILLAR",),
        can_fetch=False,
    ),
    "flower_16": Facts(
        "Flower-16",
        "“Flowers dataset”, Kaggle, 2021 (16 kinds of flowers)",
        "stated on its Kaggle page",
        ("four fifths of about 15,700", "a fifth"),
        Count(16),
        PHOTOGRAPHS,
        "400 MB",
        "the folder flowers, one folder for each of 16 kinds, from kaggle.com/datasets/l3llff/flowers.",
        ("PILLAR",),
        can_fetch=False,
    ),
    "kagskin": Facts(
        "KagSkin (benign and malignant moles)",
        "C. Fanconi: Skin Cancer: Malignant vs. Benign, Kaggle, 2019 (images of the ISIC archive)",
        "stated on its Kaggle page",
        (Count(2_637), Count(660)),
        Count(2),
        Count(150_528, "224 × 224 pixels, colour"),
        "325 MB",
        "train and test, each with benign and malignant, from kaggle.com/datasets/fanconic/skin-cancer-malignant-vs-benign.",
        ("GSD",),
        can_fetch=False,
    ),
    "kneeos": Facts(
        "KneeOS (knee osteoarthritis grades)",
        "S. M. Ahmed, R. J. Mstafa, 2022; images of P. Chen, Mendeley Data, 2018",
        "CC BY 4.0",
        (Count(5_778), Count(1_656)),
        Count(5),
        Count(50_176, "224 × 224 pixels"),
        "150 MB",
        "train, val and test, one folder for each of the grades 0 to 4, from data.mendeley.com/datasets/56rmx5bjcr or Kaggle.",
        ("GSD",),
        can_fetch=False,
    ),
}
for _name, _facts in FACTS.items():
    DATASETS.register(_facts.card(_name, reader(_name, _arranged)))
