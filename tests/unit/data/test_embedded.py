"""Real images that come with the library."""

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.data import embedded


@pytest.mark.parametrize("name", embedded.NAMES)
def test_an_embedded_set_holds_what_its_card_says_and_its_licence_lies_beside_it(name: str) -> None:
    card, data = pc.DATASETS[name], pc.load_dataset(name)
    assert (len(data.x_train), len(data.x_test), len(data.classes)) == (card.n_train, card.n_test, card.n_classes)
    assert data.x_train.dtype == np.uint8
    assert data.x_train.shape[1:] == (28, 28)
    assert set(np.unique(data.y_train)) == set(range(len(data.classes)))
    file = embedded.PARTS.get(name, (name, 0))[0]
    lines = [line for line in (embedded.FOLDER / "README.md").read_text().splitlines() if f"`{file}.npz`" in line]
    assert len(lines) == 1
    assert card.licence in lines[0]


def test_embedded_images_go_through_the_backbone_of_their_card_in_a_sweep() -> None:
    from pillar_core.runs.sweep import specs_of

    asked = specs_of({"dataset": "fashion_mnist", "method": "pillar", "epsilon": 1.0, "k": 5, "public_fraction": 0.1, "seed": 0})[0]
    assert asked.data["backbone"] == "efficientnet_lite0"
    plain = specs_of({"dataset": "digits", "method": "pillar", "epsilon": 1.0, "k": 5, "public_fraction": 0.1, "seed": 0})[0]
    assert plain.data["backbone"] is None


def test_a_part_is_the_first_rows_of_the_whole_and_neither_is_public_data_for_the_other() -> None:
    part, whole = pc.load_dataset("fashion_mnist_2k"), pc.load_dataset("fashion_mnist")
    assert np.array_equal(part.x_train, whole.x_train[:2000])
    assert np.array_equal(part.x_test, whole.x_test)
    assert embedded.whole_of("fashion_mnist_2k") == "fashion_mnist"
    assert embedded.whole_of("chexpert:3") == "chexpert"
    assert embedded.whole_of("mnist") == "mnist"
