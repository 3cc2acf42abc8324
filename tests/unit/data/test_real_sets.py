"""The papers' data sets in the arrangements that their sources hand out, written small; and what is
said when they are not there."""

import functools
import operator
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import pillar_core as pc
from pages.frame import odds
from pillar_core.data import DATASETS, load_dataset, places
from pillar_core.errors import DataError, SettingError, UnknownNameError
from unit.image_files import images_of, picture, pictures, sizes, written, zipped
from users import is_noted, refuses

REAL_SETS = [name for name, card in DATASETS.items() if card.needs_files]
PAPERS = {
    "PILLAR": {
        "torchvision:cifar10", "torchvision:cifar100", "torchvision:gtsrb", "torchvision:pcam", "torchvision:mnist", "cifar10_1",
        "flower_16", "dermnet", "pneumonia", "medmnist:pneumoniamnist", "openml:guillermo", "openml:riccardo",
    },
    "Semi-private learning": {"torchvision:cifar10", "torchvision:cifar100"},
    "AdaMix": {
        "mit_67", "stanford_dogs", "cub_200", "domainnet", "torchvision:flowers102", "torchvision:oxfordiiitpet", "torchvision:caltech256",
    },
    "GSD": {
        "torchvision:cifar10", "torchvision:cifar100", "torchvision:svhn", "torchvision:mnist", "torchvision:fashionmnist",
        "torchvision:flowers102", "mnist_m", "chest_xray14", "chexpert", "ham10000", "pneumonia", "kagskin", "sprxray", "kneeos",
        "medmnist:pneumoniamnist", "medmnist:dermamnist", "medmnist:chestmnist",
    },
}  # fmt: skip


def _two_sides(
    prefix: str = "", classes: tuple[str, ...] = ("a", "b"), n: int = 3
) -> dict[str, bytes]:
    sides = (pictures(classes, n, f"{prefix}{side}/{{}}/{{}}.png") for side in ("train", "test"))
    return functools.reduce(operator.or_, sides)


def test_every_set_of_the_papers_has_a_card():
    found = {
        paper: {name for name in REAL_SETS if paper in DATASETS[name].papers} for paper in PAPERS
    }
    assert found == PAPERS


@pytest.mark.parametrize(
    "name", [*REAL_SETS, "hub:owner/name", "openml:1464", "torchvision:dtd", "medmnist:bloodmnist"]
)
def test_a_card_says_everything_and_what_to_do(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path))
    card = DATASETS[name]
    assert card.source
    assert card.licence
    assert card.size
    assert card.by_hand.endswith(".")
    assert card.needs_files
    assert not card.is_here()
    with pytest.raises(DataError) as refusal:
        load_dataset(name)
    words = str(refusal.value)
    assert "is not on this machine" in words
    assert "By hand" in words
    assert str(tmp_path) in words
    assert ("--download" in words) == card.can_fetch
    assert not list(tmp_path.iterdir()), "looking for a set must not make folders"


@pytest.mark.parametrize(
    "name",
    [
        *("medmnist:bloodmnist", "openml:riccardo", "openml:no_such_table"),
        pytest.param("torchvision:cifar10", marks=pytest.mark.slow),
        pytest.param("hub:owner/name", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:A network error occurred")
def test_no_network_says_what_to_do_and_leaves_nothing(name, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("Network is unreachable")

    monkeypatch.setenv("PILLAR_DATA", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("time.sleep", lambda _: None)
    refuses(r"could not be fetched.*Without a network.*root", load_dataset, name, download=True)
    assert not DATASETS[name].is_here()


def test_a_killed_download_is_cleared_when_started_again_and_files_of_the_user_never(tmp_path):
    place = written(
        tmp_path / "set", {places.UNFINISHED: b"", "raw/a": b"half", "raw/a.zip": b"archive"}
    )
    assert not places.is_filled(place)
    assert "interrupted" in places.unfinished_note(place)
    with places.fetching("Set", place, "By hand."):
        assert not (place / "raw/a").exists()
        assert (place / "raw/a.zip").exists()
    place = written(tmp_path / "mine", {"notes.txt": b"mine"})
    with pytest.raises(DataError), places.fetching("Set", place, "By hand."):
        raise OSError("no network")
    with places.fetching("Set", place, "By hand."):
        pass
    assert (place / "notes.txt").read_bytes() == b"mine"


@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize("prefix", ["", "chest_xray/"])
def test_pneumonia_in_folders_or_zip(tmp_path, as_zip, prefix):
    own = _two_sides(prefix, ("NORMAL", "PNEUMONIA"))
    files = own | {f"{prefix}val/NORMAL/1.png": picture(0, 1)}
    if prefix:
        files |= {f"chest_xray/{name}": content for name, content in own.items()} | {
            "chest_xray/__MACOSX/train/NORMAL/._1.png": b"junk"
        }
    place = tmp_path / "archive.zip"
    if as_zip:
        place.write_bytes(zipped(files))
    else:
        place = written(tmp_path / "set", files)
    dataset = load_dataset("pneumonia", root=place)
    assert sizes(dataset) == (6, 6)
    assert dataset.classes == ("NORMAL", "PNEUMONIA")


def test_knee_grades_leave_the_second_test_set_out(tmp_path):
    grades = tuple("01234")
    written(
        tmp_path,
        _two_sides("", grades, 2) | {f"auto_test/{grade}/1.png": picture(0, 9) for grade in grades},
    )
    dataset = load_dataset("kneeos", root=tmp_path)
    assert (*sizes(dataset), dataset.classes) == (10, 10, grades)


def test_flower_16_sets_a_fifth_apart_by_the_seed(tmp_path):
    written(tmp_path / "flowers", pictures(("aster", "rose"), 10))
    first, again, other = (
        load_dataset("flower_16", seed=seed, root=tmp_path) for seed in (0, 0, 1)
    )
    assert sizes(first) == (16, 4)
    assert first.fingerprint == again.fingerprint != other.fingerprint


def _cub_2011(root: Path) -> Path:
    birds = ("001.Black_footed_Albatross", "002.Crested_Auklet")
    paths = [f"{bird}/{bird[4:]}_{i}.jpg" for bird in birds for i in range(4)]
    lists = {
        "images.txt": [f"{number} {path}" for number, path in enumerate(paths, 1)],
        "image_class_labels.txt": [f"{number} {1 + (number > 4)}" for number in range(1, 9)],
        "train_test_split.txt": [f"{number} {number % 2}" for number in range(1, 9)],
        "classes.txt": [f"{number} {bird}" for number, bird in enumerate(birds, 1)],
    }
    files = {name: "\n".join(lines).encode() for name, lines in lists.items()}
    return written(
        root,
        files
        | {
            f"images/{path}": picture(number // 4, number, kind="jpeg")
            for number, path in enumerate(paths)
        },
    )


def test_cub_200_of_2011(tmp_path):
    _cub_2011(tmp_path / "CUB_200_2011")
    dataset = load_dataset("cub_200", root=tmp_path)
    assert dataset.classes == ("Black footed Albatross", "Crested Auklet")
    np.testing.assert_array_equal(dataset.y_train, [0, 0, 1, 1])
    assert "The edition of 2011." in dataset.notes


def test_cub_200_of_2010(tmp_path):
    birds = ("001.Black_footed_Albatross", "002.Crested_Auklet")
    files = pictures(birds, 4, "images/{}/{}.jpg")
    for side, numbers in (("train", (0, 1)), ("test", (2, 3))):
        files[f"lists/{side}.txt"] = "\n".join(
            f"{bird}/{i}.jpg" for bird in birds for i in numbers
        ).encode()
    dataset = load_dataset("cub_200", root=written(tmp_path, files))
    assert sizes(dataset) == (4, 4)
    assert "The edition of 2010." in dataset.notes
    _cub_2011(tmp_path)
    for path in (tmp_path / "images" / "002.Crested_Auklet").iterdir():
        path.unlink()
    refuses(
        r"4 of 8 images that the source's lists name are missing.*unpack every part",
        load_dataset,
        "cub_200",
        root=tmp_path,
    )


def test_stanford_dogs_lists_in_matlab_files(tmp_path):
    breeds = ("n02085620-Chihuahua", "n02085782-Japanese_spaniel")
    written(tmp_path / "Images", pictures(breeds, 5, "{}/{}.jpg"))
    for name, numbers in (("train_list", (0, 1, 2)), ("test_list", (3, 4))):
        cells = np.array([[f"{breed}/{i}.jpg"] for breed in breeds for i in numbers], dtype=object)
        savemat(tmp_path / f"{name}.mat", {"file_list": cells})
    dataset = load_dataset("stanford_dogs", root=tmp_path)
    assert dataset.classes == ("Chihuahua", "Japanese spaniel")
    assert sizes(dataset) == (6, 4)
    (tmp_path / "test_list.mat").write_bytes(b"cut short")
    refuses(r"test_list.mat cannot be read", load_dataset, "stanford_dogs", root=tmp_path)
    (tmp_path / "test_list.mat").unlink()
    refuses(r"test_list.mat is missing", load_dataset, "stanford_dogs", root=tmp_path)
    (tmp_path / "train_list.mat").unlink()
    assert "Chihuahua" in load_dataset("stanford_dogs", root=tmp_path).classes[0]


def test_mit_67_lists(tmp_path):
    rooms = ("airport_inside", "kitchen")
    files = pictures(rooms, 6, "Images/{}/{}.jpg")
    files["TrainImages.txt"] = "\r\n".join(
        f"{room}/{i}.jpg" for room in rooms for i in range(4)
    ).encode()
    files["TestImages.txt"] = "\n".join(f"{room}/4.jpg" for room in rooms).encode()
    dataset = load_dataset("mit_67", root=written(tmp_path, files))
    assert (*sizes(dataset), dataset.classes) == (8, 2, rooms)


def test_domainnet_one_domain_at_a_time(tmp_path):
    files = {}
    for domain, shade in (("painting", 0), ("real", 5)):
        paths = [f"{domain}/{name}/{domain}_{i}.jpg" for name in ("zebra", "ant") for i in range(3)]
        files |= {
            path: picture(shade + number // 3, number, kind="jpeg")
            for number, path in enumerate(paths)
        }
        lines = [f"{path} {1 - ('zebra' in path)}" for path in paths]
        files[f"{domain}_train.txt"] = "\n".join(
            line for line in lines if "_2" not in line
        ).encode()
        files[f"{domain}_test.txt"] = "\n".join(line for line in lines if "_2" in line).encode()
    written(tmp_path, files)
    painting, real = (
        load_dataset("domainnet", root=tmp_path),
        load_dataset("domainnet", domain="real", root=tmp_path),
    )
    assert painting.classes == real.classes == ("zebra", "ant")
    assert sizes(painting) == (4, 2)
    assert real.x_train.mean() > painting.x_train.mean() + 50
    with pytest.raises(SettingError, match="domain must be one of clipart"):
        load_dataset("domainnet", domain="photos", root=tmp_path)


def test_mnist_m_label_lists(tmp_path):
    files = {}
    for side, n in (("train", 6), ("test", 4)):
        files |= {f"mnist_m/mnist_m_{side}/{i:08d}.png": picture(i % 2, i) for i in range(n)}
        files[f"mnist_m/mnist_m_{side}_labels.txt"] = "\n".join(
            f"{i:08d}.png {i % 2}" for i in range(n)
        ).encode()
    dataset = load_dataset("mnist_m", root=written(tmp_path, files))
    np.testing.assert_array_equal(dataset.y_train, [0, 1] * 3)
    np.testing.assert_array_equal(dataset.x_test[:, 0, 0, 0], range(4))
    (tmp_path / "mnist_m/mnist_m_test_labels.txt").write_text("00000000.png five")
    refuses(r"such as 00000000.png 5", load_dataset, "mnist_m", root=tmp_path)


def test_cifar10_1_is_all_train(tmp_path):
    x, y = images_of(20, (32, 32, 3), 10)
    np.save(tmp_path / "cifar10.1_v6_data.npy", x)
    np.save(tmp_path / "cifar10.1_v6_labels.npy", y.astype(np.int32))
    dataset = load_dataset("cifar10_1", root=tmp_path)
    np.testing.assert_array_equal(dataset.x_train, x)
    assert dataset.x_test is None
    refuses(r"lacks cifar10.1_v4_data.npy", load_dataset, "cifar10_1", root=tmp_path, release="v4")
    np.save(
        tmp_path / "cifar10.1_v6_labels.npy", np.array([{}] * 20, dtype=object), allow_pickle=True
    )
    refuses("cannot be read", load_dataset, "cifar10_1", root=tmp_path)


def test_ham10000_keeps_the_images_of_a_lesion_together(tmp_path):
    rows = ["lesion_id,image_id,dx,dx_type,age,sex,localization"]
    files = {}
    for lesion in range(30):
        for image in range(1 + lesion % 2):
            name = f"ISIC_{lesion:04d}{image}"
            rows.append(
                f"HAM_{lesion},{name},{('mel', 'nv', 'bcc')[lesion % 3]},histo,50,male,back"
            )
            files[f"HAM10000_images_part_{1 + image}/{name}.jpg"] = picture(
                0, 7 * lesion, kind="jpeg"
            )
    written(tmp_path, files | {"HAM10000_metadata.csv": "\n".join(rows).encode()})
    dataset = load_dataset("ham10000", root=tmp_path)
    assert dataset.classes == ("basal cell carcinoma", "melanoma", "naevus")
    assert sum(sizes(dataset)) == 45
    # The images of a lesion are equal here, and of different lesions differ.
    sides = [{image.tobytes() for image in rows} for rows in (dataset.x_train, dataset.x_test)]
    assert not sides[0] & sides[1]
    assert is_noted(dataset.notes, "ε protects one image")


@pytest.mark.parametrize("table", ["Data_Entry_2017.csv", "Data_Entry_2017_v2020.csv"])
def test_chest_xray14_findings_become_one_label(tmp_path, table):
    findings = ["No Finding", "Mass", "Mass|Nodule", "Hernia"] * 3
    names = [f"{i:08d}_000.png" for i in range(12)]
    files = {
        f"images_{1 + i % 2:03d}/images/{name}": picture(0, i, colour=False)
        for i, name in enumerate(names)
    }
    files[table] = (
        "Image Index,Finding Labels,Patient ID\n"
        + "\n".join(
            f"{n},{f},{17 if i < 3 else 4}"
            for i, (n, f) in enumerate(zip(names, findings, strict=True))
        )
    ).encode()
    files |= {
        "train_val_list.txt": "\n".join(names[:8]).encode(),
        "test_list.txt": "\n".join(names[8:]).encode(),
    }
    written(tmp_path, files)
    dataset = load_dataset("chest_xray14", root=tmp_path)
    np.testing.assert_array_equal(dataset.y_train, [0, 1, 1, 1] * 2)
    assert dataset.classes == ("no finding", "finding")
    single = load_dataset("chest_xray14", root=tmp_path, labels="one")
    assert len(single.classes) == 14
    assert [single.classes[code] for code in single.y_test] == ["mass", "hernia"]
    assert is_noted(single.notes, "6 with none or several were left out")
    assert dataset.persons is None
    assert is_noted(dataset.notes, "chest_xray14:3")
    assert DATASETS["chest_xray14:3"].home() == DATASETS["chest_xray14"].home()
    assert odds.unit("chest_xray14:3") == "person with up to 3 rows"
    assert odds.unit("chest_xray14") == "row"
    for wrong in ("chest_xray14:0", "chest_xray14:100", "chest_xray14:few"):
        assert wrong not in DATASETS
    of_patients = load_dataset("chest_xray14:3", root=tmp_path)
    assert of_patients.persons.of.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert of_patients.persons.most == 3
    assert is_noted(of_patients.notes, "the first ones: at most 3")
    split = pc.split(of_patients)
    assert split.private.tolist() == [0, 1, 2, 3, 4, 5]
    assert split.rows_per_person == 3
    (tmp_path / "test_list.txt").write_text("\n".join(names[8:11]))
    assert is_noted(
        load_dataset("chest_xray14", root=tmp_path).notes, "1 images are in neither list"
    )
    (tmp_path / table).write_text((tmp_path / table).read_text().replace("Hernia", "Broken leg"))
    refuses(
        "findings that ChestX-ray14 does not have: Broken leg",
        load_dataset,
        "chest_xray14",
        root=tmp_path,
    )


def test_chexpert_frontal_views(tmp_path):
    head = "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Edema"
    files = {}
    for table, side in (("train.csv", "train"), ("valid.csv", "valid")):
        lines = [head]
        for i in range(6):
            path = f"{side}/patient{i:05d}/study1/view1_{'frontal' if i < 5 else 'lateral'}.jpg"
            files[f"archive/{path}"] = picture(0, i, colour=False, kind="jpeg")
            lines.append(
                f"CheXpert-v1.0-small/{path},Male,50,{'Frontal' if i < 5 else 'Lateral'},AP,{'1.0' if i % 2 else ''},-1.0"
            )
        files[f"archive/{table}"] = "\n".join(lines).encode()
    dataset = load_dataset("chexpert", root=written(tmp_path, files))
    np.testing.assert_array_equal(dataset.y_train, [1, 0, 1, 0, 1])
    assert len(dataset.x_test) == 5
    of_patients = load_dataset("chexpert:2", root=tmp_path)
    assert len(set(of_patients.persons.of.tolist())) == 5
    assert pc.split(of_patients).rows_per_person == 2


def test_sprxray_takes_gender_from_the_table(tmp_path):
    files = {f"kaggle/train/{i:06d}.png": picture(i % 2, i) for i in range(10)}
    files["train_gender.csv"] = (
        "imageId,gender\n" + "\n".join(f"{i:06d},{i % 2}" for i in range(10))
    ).encode()
    dataset = load_dataset("sprxray", root=written(tmp_path, files))
    assert dataset.classes == ("female", "male")
    assert sum(sizes(dataset)) == 10


def test_a_list_cannot_lead_out_of_its_folder(tmp_path):
    """Paths in lists are looked up among the files found, never opened as paths."""
    written(tmp_path, {"secret/1.png": picture(0, 0)})
    files = {
        f"mnist_m_{side}/{i}.png": picture(i % 2, i) for side in ("train", "test") for i in range(3)
    }
    files |= {
        f"mnist_m_{side}_labels.txt": b"0.png 0\n1.png 1\n../../secret/1.png 0"
        for side in ("train", "test")
    }
    with pytest.raises(
        DataError, match=r"2 of 6 images .* are missing \(mnist_m_train/../../secret/1.png"
    ):
        load_dataset("mnist_m", root=written(tmp_path / "set", files))


HOSTILE = [
    *(
        "torchvision:CIFAR10",
        "torchvision:nothing",
        "medmnist:organmnist3d",
        "medmnist:nothing",
        "openml:../up",
        "openml:a/b",
        "hub:",
    ),
    *(
        "hub:name",
        "hub:../up",
        "hub:a/../b",
        "hub:/etc/passwd",
        "hub:a/b/c",
        "hub:a/b;rm",
        "hub:https://x.y/z",
    ),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_cannot_be_are_refused(name):
    assert name not in DATASETS
    with pytest.raises(UnknownNameError):
        load_dataset(name)
