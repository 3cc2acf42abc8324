"""Data sets of torchvision by name: `torchvision:cifar10`, `torchvision:gtsrb` …; the name is the
class's, in small letters.

torchvision says which files to fetch and compares their checksums, `downloading` gets them,
`layouts` reads them. A folder or zip of class folders (train/ and test/) is accepted in place of
torchvision's layout.
"""

from collections.abc import Callable
from pathlib import Path

from pillar_core.data import downloading, places
from pillar_core.data.cards import DATASETS, FACTS, DatasetCard, card_of, listed_members, member_of
from pillar_core.data.images import layouts
from pillar_core.data.images.layouts import LAYOUTS, TorchvisionLayout
from pillar_core.data.images.loading import build, read_images
from pillar_core.data.places import RootSettings
from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset

PREFIX = "torchvision"
NAMES = listed_members(PREFIX)


def _read_for(layout: TorchvisionLayout) -> Callable[[RootSettings, int, bool], Dataset]:
    def read(settings: RootSettings, seed: int, download: bool) -> Dataset:
        card = DATASETS[f"{PREFIX}:{layout.name}"]
        place = places.home(card.name, settings.root)

        def is_whole() -> bool:
            return layouts.root_of(layout, place) is not None and not places.unfinished_note(place)

        if download and card.can_fetch:
            card.fill(place, lambda: _fetch(layout, place, card.n_bytes), is_there=is_whole)
        root = layouts.root_of(layout, place)
        if root is not None:
            return build(layouts.read(layout, root, official=True), name=layout.name, seed=seed)
        try:
            return read_images(place)
        except DataError as error:
            wanted = f"{place} holds no {layout.marker}, and no images by class or as a npz either"
            raise DataError(f"{wanted} ({error}) {card.how_to_get(settings.root)}") from error

    return read


def _fetch(layout: TorchvisionLayout, place: Path, size: int | None) -> None:
    dataset_class = layouts.class_of(layout)
    with downloading.for_torchvision(size):
        if layout.version is not None:  # torchvision's class would unpickle what it fetched
            from torchvision.datasets.utils import download_and_extract_archive

            download_and_extract_archive(
                dataset_class.url,
                str(place),
                filename=dataset_class.filename,
                md5=dataset_class.tgz_md5,
            )
            return
        for split in (*layout.train, *layout.test) or ({},):
            dataset_class(str(place), download=True, **split)


def _card(name: str) -> DatasetCard:
    return card_of(f"{PREFIX}:{name}", _read_for(LAYOUTS[name]))


DATASETS.register_family(PREFIX, lambda name: _card(member_of(PREFIX, name)))
for _name in NAMES:
    if "papers" in toml_tables(FACTS)[f"{PREFIX}:{_name}"]:
        DATASETS.register(_card(_name))
