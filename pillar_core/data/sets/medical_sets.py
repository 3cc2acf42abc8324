"""Medical images: sets handed out as one folder per class, perhaps under train/ and test/ (one is
of flowers), and sets with tables.

HAM10000: 10,015 dermatoscopic images of 7,470 lesions; images of one lesion stay on one side of the
test split. The source has no test rows with it: lesions are drawn by class until a fifth of the
images is set apart, by the seed. A lesion may have several private images: ε protects one image,
and the source tells no patients. ChestX-ray14: 112,120 frontal x-rays with up to 14 findings each,
with the source's lists of train and test images. CheXpert: x-rays of Stanford Hospital; frontal
views, with a finding or without; its 234 validation images are test rows. SPR X-ray: x-rays of the
Paulista Society of Radiology with age and gender; the label here is the gender.
"""

from pathlib import PurePosixPath

import numpy as np

from pillar_core.data.images import arranging
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.partition import stratify
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import FILES, Findings, FindingsSettings, register
from pillar_core.errors import DataError
from pillar_core.registry import toml_tables

KNOWN = frozenset(arranging.SPLITS)
PATIENTS = (
    "Many patients have several images. ε protects one image; in {0}:3, say, it protects a patient,"
    " of whom up to 3 are used."
)


def _class_folders(files: Tree, _: RootSettings, seed: int) -> Layout:
    """Class folders; beside train and test, whatever else lies there is left out (copies of the
    whole set, other editions)."""
    depths = [
        parts.index("train")
        for parts in (member.path.parts for member in files.members)
        if "train" in parts
    ]
    if not depths:
        return arranging.arrange(files.members)
    depth = min(depths)
    return arranging.arrange(
        [member for member in files.members if set(member.path.parts[depth : depth + 1]) & KNOWN]
    )


for _name in ("pneumonia", "dermnet", "flower_16", "kagskin", "kneeos"):
    register(_name, _class_folders)


def _lesions(files: Tree, settings: RootSettings, seed: int) -> Layout:
    facts = toml_tables(FILES)["ham10000"]
    rows = files.table(_first(files, facts["tables"]), ("lesion_id", "image_id", "dx"))
    labels = np.array([row["dx"] for row in rows])
    _, first, lesion_of = np.unique(
        [row["lesion_id"] for row in rows], return_index=True, return_inverse=True
    )
    _, test_lesions = stratify(
        np.unique(labels[first], return_inverse=True)[1], seed=seed, name="ham10000"
    )
    entries = [
        Entry(f"{row['image_id']}.jpg", facts["diagnoses"].get(row["dx"], row["dx"]), bool(is_test))
        for row, is_test in zip(rows, np.isin(lesion_of, test_lesions), strict=True)
    ]
    return files.layout(entries, below=None, notes=tuple(facts["notes"]))


register("ham10000", _lesions)


def _chest_xray14(files: Tree, settings: FindingsSettings, seed: int) -> Layout:
    facts = toml_tables(FILES)["chest_xray14"]
    name = _first(files, facts["tables"])
    rows = files.table(name, ("Image Index", "Finding Labels", "Patient ID"))
    sides = {
        path: in_test
        for in_test, part in ((False, "train_val_list.txt"), (True, "test_list.txt"))
        for path in files.lines(part)
    }
    row_findings = [set(row["Finding Labels"].split("|")) for row in rows]
    unknown = set().union(*row_findings) - {*facts["findings"], "No Finding"}
    if unknown:
        raise DataError(
            f"{name} names findings that ChestX-ray14 does not have:"
            f" {', '.join(sorted(unknown)[:5])}."
        )
    findings = Findings(
        [finding.replace("_", " ").lower() for finding in facts["findings"]], settings.labels
    )
    codes, keep = findings.of(
        np.array([[finding in marked for finding in facts["findings"]] for marked in row_findings])
    )
    named = [
        (row["Image Index"], row["Patient ID"])
        for row, good in zip(rows, keep, strict=True)
        if good
    ]
    labelled = zip(named, codes.tolist(), strict=True)
    entries = [
        Entry(path, findings.classes[code], sides[path], patient)
        for (path, patient), code in labelled
        if path in sides
    ]
    unlisted = len(named) - len(entries)
    left_out = (
        (f"{unlisted:,} images are in neither list of the source and were left out.",)
        if unlisted
        else ()
    )
    notes = (*findings.notes(int((~keep).sum())), *left_out, PATIENTS.format("chest_xray14"))
    return files.layout(entries, below=None, classes=tuple(findings.classes), notes=notes)


register("chest_xray14", _chest_xray14, settings=FindingsSettings, names_persons=True)


def _chexpert(files: Tree, _: RootSettings, seed: int) -> Layout:
    facts = toml_tables(FILES)["chexpert"]
    entries = []
    for in_test, name in ((False, "train.csv"), (True, "valid.csv")):
        for row in files.table(name, ("Path", "Frontal/Lateral", "No Finding")):
            if row["Frontal/Lateral"] == "Frontal":
                # Paths start with the release's folder (CheXpert-v1.0-small/train/patient00001/…),
                # which may have another name here.
                path = PurePosixPath(*PurePosixPath(row["Path"]).parts[1:])
                label = facts["classes"][row["No Finding"].strip() not in ("1.0", "1")]
                entries.append(Entry(str(path), label, in_test, path.parts[1]))
    table = files.find("train.csv")
    below, notes = (
        "" if table is None else str(table.path.parent),
        (
            *facts["notes"],
            PATIENTS.format("chexpert"),
        ),
    )
    return files.layout(entries, below=below, classes=tuple(facts["classes"]), notes=notes)


register("chexpert", _chexpert, names_persons=True)


def _sprxray(files: Tree, _: RootSettings, seed: int) -> Layout:
    rows = files.table("train_gender.csv", ("imageId", "gender"))
    digits = {
        member.path.stem.lstrip("0") or "0": member.path.name
        for member in files.members
        if "train" in member.path.parts
    }
    entries = []
    for row in rows:
        number = row["imageId"].lstrip("0") or "0"
        label = row["gender"].removesuffix(".0")
        entries.append(
            Entry(
                f"train/{digits.get(number, row['imageId'] + '.png')}",
                toml_tables(FILES)["sprxray"]["genders"].get(label, label),
            )
        )
    above = next(
        (
            str(member.path.parent.parent)
            for member in files.members
            if member.path.parent.name == "train"
        ),
        ".",
    )
    return files.layout(entries, below="" if above == "." else above)


register("sprxray", _sprxray)


def _first(files: Tree, names: list[str]) -> str:
    """The first of a table's names under which it is here; the first of all where it is not."""
    return next((name for name in names if files.find(name) is not None), names[0])
