"""Medical images whose labels lie in tables: skin lesions, and three sets of chest x-rays.

HAM10000: 10,015 dermatoscopic images of 7,470 lesions; images of one lesion stay on one side of the test split. The source has no test
rows with it: lesions are drawn by class until a fifth of the images is set apart, by the seed. A lesion may have several private images:
ε protects one image, and the source tells no patients. ChestX-ray14: 112,120 frontal x-rays with up to 14 findings each, with the source's
lists of train and test images. CheXpert: x-rays of Stanford Hospital; frontal views, with a finding or without; its 234 validation images
are test rows. SPR X-ray: x-rays of the Paulista Society of Radiology with age and gender; the label here is the gender.
"""

import dataclasses
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from pillar_core.data import places
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.data.images import tree
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.loading import assembled
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.partition import stratified_groups
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.findings import LABELS, Findings
from pillar_core.data.sets.listed_sets import register
from pillar_core.errors import DataError
from pillar_core.params import setting
from pillar_core.types import Dataset

DIAGNOSES = {
    "akiec": "actinic keratosis",
    "bcc": "basal cell carcinoma",
    "bkl": "benign keratosis",
    "df": "dermatofibroma",
    "mel": "melanoma",
    "nv": "naevus",
    "vasc": "vascular lesion",
}
HAM_TABLES = ("HAM10000_metadata.csv", "HAM10000_metadata.tab", "HAM10000_metadata")
HAM_NOTES = (
    "The source has no test rows: a fifth of the images was set apart by the seed, all images of a lesion on one side.",
    "Some lesions have several images. ε protects one image; a patient with several is protected less.",
)


def _read_ham10000(settings: places.RootSettings, seed: int, download: bool) -> Dataset:
    with tree.opened(places.home("ham10000", settings.root)) as files:
        return assembled(_lesions(files, seed), name="ham10000", seed=seed)


def _lesions(files: tree.Tree, seed: int) -> Layout:
    name = next((name for name in HAM_TABLES if files.find(name) is not None), HAM_TABLES[0])
    rows = files.table(name, ("lesion_id", "image_id", "dx"))
    labels = np.array([row["dx"] for row in rows])
    in_test: Any = stratified_groups(labels, np.array([row["lesion_id"] for row in rows]), seed=seed, name="ham10000")
    entries = [
        Entry(f"{row['image_id']}.jpg", DIAGNOSES.get(row["dx"], row["dx"]), bool(is_test))
        for row, is_test in zip(rows, in_test, strict=True)
    ]
    return files.layout_by_name(entries, notes=HAM_NOTES)


DATASETS.register(card_of("ham10000", _read_ham10000))


CHEST_FINDINGS = (
    "Atelectasis",
    "Cardiomegaly",
    "Consolidation",
    "Edema",
    "Effusion",
    "Emphysema",
    "Fibrosis",
    "Hernia",
    "Infiltration",
    "Mass",
    "Nodule",
    "Pleural_Thickening",
    "Pneumonia",
    "Pneumothorax",
)
CHEST_TABLES = ("Data_Entry_2017_v2020.csv", "Data_Entry_2017.csv")
PATIENTS = "Many patients have several images. ε protects one image; in {0}:3, say, it protects a patient, of whom up to 3 are used."


@dataclasses.dataclass(frozen=True)
class ChestSettings(RootSettings):
    """Where the files are, and how several findings of one image become one label."""

    labels: str = setting(LABELS)


def _chest_xray14(files: Tree, settings: ChestSettings) -> Layout:
    name = next((name for name in CHEST_TABLES if files.find(name) is not None), CHEST_TABLES[0])
    rows = files.table(name, ("Image Index", "Finding Labels", "Patient ID"))
    sides = {path: in_test for in_test, part in ((False, "train_val_list.txt"), (True, "test_list.txt")) for path in files.lines(part)}
    row_findings = [set(row["Finding Labels"].split("|")) for row in rows]
    unknown = set().union(*row_findings) - {*CHEST_FINDINGS, "No Finding"}
    if unknown:
        raise DataError(f"{name} names findings that ChestX-ray14 does not have: {', '.join(sorted(unknown)[:5])}.")
    findings = Findings([finding.replace("_", " ").lower() for finding in CHEST_FINDINGS], settings.labels)
    codes, keep = findings.of(np.array([[finding in marked for finding in CHEST_FINDINGS] for marked in row_findings]))
    named = [(row["Image Index"], row["Patient ID"]) for row, good in zip(rows, keep, strict=True) if good]
    found = zip(named, codes.tolist(), strict=True)
    entries = [Entry(path, findings.classes[code], sides[path], patient) for (path, patient), code in found if path in sides]
    unlisted = len(named) - len(entries)
    left_out = (f"{unlisted:,} images are in neither list of the source and were left out.",) if unlisted else ()
    notes = (*findings.notes(int((~keep).sum())), *left_out, PATIENTS.format("chest_xray14"))
    return files.layout_by_name(entries, classes=tuple(findings.classes), notes=notes)


register("chest_xray14", _chest_xray14, settings=ChestSettings, names_persons=True)


CHEXPERT_CLASSES = ("no finding", "finding")
CHEXPERT_NOTES = (
    "Frontal views only. The label is the source's “No Finding”: uncertain and blank findings count as a finding unless that is marked.",
    PATIENTS.format("chexpert"),
)


def _chexpert(files: Tree, _: RootSettings) -> Layout:
    entries = []
    for in_test, name in ((False, "train.csv"), (True, "valid.csv")):
        for row in files.table(name, ("Path", "Frontal/Lateral", "No Finding")):
            if row["Frontal/Lateral"] == "Frontal":
                # Paths start with the release's folder (CheXpert-v1.0-small/train/patient00001/…), which may have another name here.
                path = PurePosixPath(*PurePosixPath(row["Path"]).parts[1:])
                label = CHEXPERT_CLASSES[row["No Finding"].strip() not in ("1.0", "1")]
                entries.append(Entry(str(path), label, in_test, path.parts[1]))
    table = files.find("train.csv")
    return files.layout(entries, below="" if table is None else str(table.path.parent), classes=CHEXPERT_CLASSES, notes=CHEXPERT_NOTES)


register("chexpert", _chexpert, names_persons=True)


GENDERS = {"0": "female", "1": "male"}


def _sprxray(files: Tree, _: RootSettings) -> Layout:
    rows = files.table("train_gender.csv", ("imageId", "gender"))
    digits = {member.path.stem.lstrip("0") or "0": member.path.name for member in files.members if "train" in member.path.parts}
    entries = []
    for row in rows:
        number = row["imageId"].lstrip("0") or "0"
        label = row["gender"].removesuffix(".0")
        entries.append(Entry(f"train/{digits.get(number, row['imageId'] + '.png')}", GENDERS.get(label, label)))
    above = next((str(member.path.parent.parent) for member in files.members if member.path.parent.name == "train"), ".")
    return files.layout(entries, below="" if above == "." else above)


register("sprxray", _sprxray)
