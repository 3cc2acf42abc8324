"""Embedded datasets: shapes, repeatability, refusals, and what importing them costs."""

import numpy as np
import pytest

import pillar_core as pc
from contract.checks import bad_values
from pillar_core.data import DATASETS, embedded, load_dataset
from pillar_core.data.cards import DatasetCard, fact_text, number_of
from pillar_core.data.places import RootSettings
from pillar_core.errors import SettingError, UnknownNameError
from pillar_core.params import params_of
from pillar_core.types import Dataset
from unit.image_files import all_rows, sizes
from users import raises

BROUGHT = [name for name, card in DATASETS.items() if not card.needs_files]
SMALL = {name: {"n": 200} for name in BROUGHT if name.startswith("drawn")}
SMALL |= {
    "gaussian_mixture": {"n": 300, "n_test": 100, "d": 16},
    "spiked_features": {"n": 400, "n_test": 100, "d": 24},
}


@pytest.mark.parametrize("name", BROUGHT)
def test_every_dataset_fits_its_type(name):
    dataset = load_dataset(name, **SMALL.get(name, {}))
    card = DATASETS[name]
    assert (dataset.name, dataset.title, dataset.synthetic, dataset.version) == (
        card.name,
        card.title,
        card.synthetic,
        card.version,
    )
    for x, y in ((dataset.x_train, dataset.y_train), (dataset.x_test, dataset.y_test)):
        assert x.dtype == (np.uint8 if dataset.is_images else np.float32)
        assert x.flags.c_contiguous
        assert len(x) == len(y)
        assert y.dtype == np.int64
        assert set(y.tolist()) <= set(range(len(dataset.classes)))
    assert set(dataset.y_train.tolist()) == set(range(len(dataset.classes)))
    assert np.isfinite(dataset.x_train).all()
    assert card.source
    assert card.licence
    assert card.synthetic == (card.kind == "generator")


@pytest.mark.parametrize("name", [name for name in BROUGHT if name not in embedded.NAMES])
def test_seed_decides_the_rows(name):
    first, again, other = (
        load_dataset(name, seed=seed, **SMALL.get(name, {})) for seed in (3, 3, 4)
    )
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("name", "rows", "test_rows"), [("digits", 1438, 359), ("breast_cancer", 456, 113)]
)
def test_held_out_fifth_is_stratified(name, rows, test_rows):
    dataset = load_dataset(name)
    assert (len(dataset.y_train), len(dataset.y_test)) == (rows, test_rows)
    assert (DATASETS[name].n_train, DATASETS[name].n_test) == (rows, test_rows)
    for code in range(len(dataset.classes)):
        train, test = int((dataset.y_train == code).sum()), int((dataset.y_test == code).sum())
        assert test == round(0.2 * (train + test))


def test_sets_of_scikit_learn_are_its_own_and_a_fact_has_its_number():
    sklearn_datasets = pytest.importorskip("sklearn.datasets")
    dataset = load_dataset("digits")
    levels = np.rint(all_rows(dataset).astype(float) * 16 / 255)
    source = sklearn_datasets.load_digits().images
    assert sorted(map(bytes, levels.astype(np.uint8))) == sorted(
        map(bytes, source.astype(np.uint8))
    )
    tumours, source = load_dataset("breast_cancer"), sklearn_datasets.load_breast_cancer()
    rows = np.vstack(
        [
            np.column_stack([tumours.x_train, tumours.y_train]),
            np.column_stack([tumours.x_test, tumours.y_test]),
        ]
    )
    whole = np.column_stack([source.data.astype(np.float32), source.target])
    assert sorted(map(bytes, rows)) == sorted(map(bytes, whole.astype(rows.dtype)))
    assert tumours.classes == tuple(source.target_names)
    assert fact_text(DATASETS["cifar10_1"].d) == "3,072 (32 × 32 pixels, colour)"
    for fact, number, words, short in (
        ((50_000, "setting n"), 50_000, "50,000 (setting n)", "50,000"),
        (2_000, 2_000, "2,000", "2,000"),
        ("a fifth", None, "a fifth", "a fifth"),
    ):
        assert (number_of(fact), fact_text(fact), fact_text(fact, in_short=True)) == (
            number,
            words,
            short,
        )


@pytest.mark.parametrize("name", DATASETS)
def test_bad_settings_are_refused_by_name(name):
    raises(SettingError, "has no setting nonsense", load_dataset, name, nonsense=1)
    for field, param in params_of(DATASETS[name].settings).items():
        for bad in bad_values(param):
            raises(SettingError, field, load_dataset, name, **{field: bad})


def test_other_spellings_are_known_or_lead_to_a_name():
    raises(UnknownNameError, "digits", load_dataset, "digit")
    small = SMALL["spiked_features"]
    assert (
        load_dataset("spiked_features", n_classes=5, **small).fingerprint
        == load_dataset("spiked_features", C=5, **small).fingerprint
    )


@pytest.mark.parametrize(
    ("source", "is_noted"), [(100, True), (80, False), ((100, "setting n"), False), ("100", False)]
)
def test_files_with_fewer_rows_than_their_source_counts_are_noted(source, is_noted, tmp_path):
    rows = Dataset("few", np.zeros((80, 2), dtype=np.float32), None)
    facts = {
        "n_test": "0",
        "n_classes": "1",
        "d": 2,
        "source": "",
        "licence": "",
        "kind": "tabular",
    }
    card = DatasetCard(
        "few",
        "Few",
        n_train=source,
        read=lambda *_: rows,
        settings=RootSettings,
        by_hand="copy it.",
        **facts,
    )
    (tmp_path / "rows.npz").touch()
    assert bool(card.load(RootSettings(root=str(tmp_path))).notes) == is_noted


@pytest.mark.parametrize("name", embedded.NAMES)
def test_an_embedded_set_holds_what_its_card_says_and_its_licence_lies_beside_it(name):
    card, data = pc.DATASETS[name], pc.load_dataset(name)
    assert (*sizes(data), len(data.classes)) == (
        card.n_train,
        card.n_test,
        card.n_classes,
    )
    assert data.x_train.shape[1:] == (28, 28)
    file = embedded.PARTS.get(name, (name, 0))[0]
    lines = [
        line
        for line in (embedded.FOLDER / "README.md").read_text().splitlines()
        if f"`{file}.npz`" in line
    ]
    assert len(lines) == 1
    assert card.licence in lines[0]


def test_embedded_images_go_through_the_backbone_of_their_card_in_a_sweep():
    from pillar_core.runs.sweep import specs_of

    grid = {"method": "pillar", "epsilon": 1.0, "k": 5, "public_fraction": 0.1, "seed": 0}
    asked = [specs_of(grid | {"dataset": name})[0] for name in ("fashion_mnist", "digits")]
    assert [one.data["backbone"] for one in asked] == ["efficientnet_lite0", None]


def test_a_part_is_the_first_rows_of_the_whole_and_neither_is_public_data_for_the_other():
    part, whole = pc.load_dataset("fashion_mnist_2k"), pc.load_dataset("fashion_mnist")
    assert np.array_equal(part.x_train, whole.x_train[:2000])
    assert np.array_equal(part.x_test, whole.x_test)
    assert embedded.whole_of("fashion_mnist_2k") == "fashion_mnist"
    assert embedded.whole_of("chexpert:3") == "chexpert"
    assert embedded.whole_of("mnist") == "mnist"
