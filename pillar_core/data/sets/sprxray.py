"""SPR X-ray: chest x-rays of the Paulista Society of Radiology with age and gender; the label here is the gender."""

from __future__ import annotations

from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import reader

__all__: list[str] = []

GENDERS = {"0": "female", "1": "male"}


def _arranged(files: Tree, _: RootSettings) -> Layout:
    rows = files.table("train_gender.csv", ("imageId", "gender"))
    digits = {member.path.stem.lstrip("0") or "0": member.path.name for member in files.members if "train" in member.path.parts}
    entries = []
    for row in rows:
        number = row["imageId"].lstrip("0") or "0"
        label = row["gender"].removesuffix(".0")
        entries.append(Entry(f"train/{digits.get(number, row['imageId'] + '.png')}", GENDERS.get(label, label)))
    above = next((str(member.path.parent.parent) for member in files.members if member.path.parent.name == "train"), ".")
    return files.layout(entries, below="" if above == "." else above)


DATASETS.register(
    DatasetCard(
        name="sprxray",
        title="SPR X-ray (age and gender)",
        source="A. L. de Aguiar Kuriki, F. Kitamura et al.: SPR X-Ray Age and Gender Dataset, Kaggle, 2023",
        licence="stated on its Kaggle page",
        kind="images",
        n_train="four fifths of the labelled images",
        n_test="a fifth (the competition's test labels are not published)",
        n_classes=Count(2),
        d="chest x-rays (shorter side at most 256)",
        read=reader("sprxray", _arranged),
        settings=RootSettings,
        papers=("GSD",),
        size="several GB",
        by_hand="unpack the files of kaggle.com/competitions/spr-x-ray-age or -gender (train/*.png, train_gender.csv).",
    )
)
