"""Data sets that their sources hand out as one folder per class, perhaps under train/ and test/."""

from pillar_core.data.images import folders
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import register

KNOWN = frozenset({*folders.SPLITS, *folders.LEFT_OUT})


def _arranged(files: Tree, _: RootSettings) -> Layout:
    """Class folders; beside train and test, whatever else lies there is left out (copies of the whole set, other editions)."""
    depths = [parts.index("train") for parts in (member.path.parts for member in files.members) if "train" in parts]
    if not depths:
        return folders.arranged(files.members)
    depth = min(depths)
    return folders.arranged([member for member in files.members if set(member.path.parts[depth : depth + 1]) & KNOWN])


for _name in ("pneumonia", "dermnet", "flower_16", "kagskin", "kneeos"):
    register(_name, _arranged)
