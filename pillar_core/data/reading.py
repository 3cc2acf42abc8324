"""Whatever lies in a file, a folder or an upload: images or features, checked."""

import dataclasses
from pathlib import Path

from pillar_core.data import files, objects
from pillar_core.data.images import loading as images
from pillar_core.data.partition import with_drawn_test
from pillar_core.data.parts import opened, place_of
from pillar_core.types import Dataset, FeatureSet, Progress, unwatched


def read(
    source: str | Path | bytes | Dataset | FeatureSet,
    *,
    filename: str = "",
    keys: tuple[str, str | None] | None = None,
    progress: Progress = unwatched,
) -> Dataset | FeatureSet:
    """What lies at a path or was uploaded, images or features; a dataset or feature set comes back as it is.

    filename: an upload's name, whose ending says the format; a path needs none. keys: of rows and labels in a npz. progress: counts images.
    Labelled rows without test rows give a stratified fifth of themselves to the test.

    Raises:
        DataError: a file or rows that cannot be used.
    """
    if isinstance(source, Dataset | FeatureSet):
        return source
    place = source if isinstance(source, bytes) else place_of(source)
    name = Path(filename) if isinstance(place, bytes) else place
    if name.suffix.lower() == ".zip" or (isinstance(place, Path) and place.is_dir()):
        found = images.read_images(place, filename=filename, progress=progress)
        return dataclasses.replace(found, test_drawn=images.SET_APART in found.notes)
    if name.suffix.lower() == ".npz":
        parts = files.read_parts(place, filename=filename, keys=keys)
        if parts.holds_images:
            found = images.checked_images(parts, name=name.stem)
            return dataclasses.replace(found, test_drawn=images.SET_APART in found.notes)
        return with_drawn_test(files.checked_features(parts, name=name.stem))
    if name.suffix.lower() == ".npy":
        return objects.read_array(opened(place), name=name.stem)
    return files.read_features(place, filename=filename)
