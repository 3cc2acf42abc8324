"""The card of a backbone, what it needs to run, and the registry of backbones."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones import weights as files
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.backbones.names import address
from pillar_core.backbones.preparing import Preparing
from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.params import Param
from pillar_core.registry import Registry, facts_of

Features = tuple[Array, Array | None]
DEVICE = Param(
    "device", str, "auto", "Where the backbone runs.", choices=("auto", "cpu", "cuda", "mps")
)
BATCH_SIZE = Param(
    "batch_size",
    int,
    64,
    "Images at a time through the backbone; bounds its memory.",
    low=1,
    high=65_536,
    unit="images",
)
FACTS = Path(__file__).with_name("facts.toml")


@dataclasses.dataclass(frozen=True)
class Work:
    """What an opened backbone may use: its weights on this disk (None: it has none) and a device
    (cpu, cuda or mps)."""

    weights: Path | None = None
    device: str = "cpu"


@dataclasses.dataclass(frozen=True)
class Encoder:
    """An opened backbone: `encode(rows)` turns a batch into (b, width) float32; `notes` say what
    was decided on opening.

    network: of a network of torch, the module and how images are prepared for it.
    """

    encode: Callable[[Array], Array]
    notes: tuple[str, ...] = ()
    network: "tuple[torch.nn.Module, Preparing] | None" = None


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """What a recipe says of the columns (d,): which pass as they are, words and numbers of texts;
    which have a declared range, so that they lie in [0, 1]; and of which numbers crowd at its low
    end."""

    is_kept: Array
    is_ranged: Array
    crowds_low: Array

    @property
    def numbers(self) -> Array:
        """The places of the columns of numbers."""
        return np.flatnonzero(~self.is_kept)


@dataclasses.dataclass(frozen=True)
class Backbone:
    """What a backbone is, and how to open it: `open(name, work)`.

    `parameters`, `width`, `pretraining` and `overlap` are facts in words; `overlap` warns where
    private classes may have been seen in pre-training. `weights` says where its weights come from,
    "" where it has none; `fetch(network)` returns the file that comes with the name, from this disk
    or, with `network`, from its hub, and None where there is none to be had; `n_bytes` is its size,
    0 where nobody knows. `is_kept` says whether features are worth a place in the cache,
    `is_own_file` whether the name is the user's own file. `sha256`: of weights that its code finds
    by itself. Raise `version` whenever the features change.

    `fit`: of a map of a table's columns, what makes it of public rows (none: of the layout's
    ranges); numbers stay as given until a split says which rows are public.
    """

    name: str
    title: str
    source: str
    licence: str
    width: str
    pretraining: str
    overlap: str
    open: Callable[[str, Work], Encoder]
    parameters: str = "none"
    takes: Literal["images", "numbers", "texts"] = "images"
    weights: str = ""
    fetch: Callable[[bool], Path | None] | None = None
    n_bytes: int = 0
    is_kept: bool = True
    is_own_file: bool = False
    sha256: str = ""
    version: int = 1
    fit: Callable[[Array, Layout], ColumnMap] | None = None

    @property
    def needs_fetching(self) -> bool:
        """Whether its weights are on a hub and not on this machine; asks no other machine."""
        return (
            self.fetch is not None
            and address(self.name).weights is None
            and self.fetch(False) is None
        )

    @property
    def needs(self) -> str:
        """What it needs before its first use, in words: "" where all comes with the library."""
        size = f" of {self.n_bytes / 2**20:,.0f} MB" if self.n_bytes else ""
        return f"a download{size}" if self.fetch is not None else "a file" if self.weights else ""

    @property
    def label(self) -> str:
        """Its title, with what it needs."""
        return f"{self.title} · needs {self.needs}" if self.needs else self.title

    def weights_file(
        self, weights: str | Path | None = None, *, network: bool = False
    ) -> Path | None:
        """The file with this backbone's weights: `weights`, else the one in its name, else the
        hub's; None where it has none.

        Raises SettingError: a file for a backbone that has no weights, two different ones, or none
        where one is needed.
        """
        named = address(self.name).weights
        if (
            weights is not None
            and named is not None
            and Path(weights).expanduser() != Path(named).expanduser()
        ):
            raise SettingError(
                f"weights are named twice: {str(weights)!r}, and {named!r} in the backbone's name."
                " Keep one."
            )
        chosen = weights if weights is not None else named
        if not self.weights:
            if chosen is not None:
                raise SettingError(
                    f"weights must be none for the backbone {self.name}, which has none; got"
                    f" {str(chosen)!r}."
                )
            return None
        if chosen is None:
            file = None if self.fetch is None else self.fetch(network)
            if file is None:
                raise SettingError(
                    f"the backbone {self.name} needs its weights as a local file (weights=FILE):"
                    f" {self.weights}."
                )
            return file
        path = Path(chosen).expanduser().absolute()
        if not path.is_file():
            raise SettingError(f"weights must be an existing file; there is no {path}.")
        return path


BACKBONES: Registry[Backbone] = Registry("backbone", Backbone, home="pillar_core.backbones")


def card_of(name: str, **others: Any) -> Backbone:
    """The card of a backbone: what `facts.toml` says of it, and its other fields."""
    return Backbone(name=name, **facts_of(name, FACTS), **others)


def fit_of(name: str | None) -> Callable[[Array, Layout], ColumnMap] | None:
    """How the map of columns by this name is fitted; None for another backbone, or no name."""
    card = BACKBONES.find(name)
    return None if card is None else card.fit


def card_with_options(card: Backbone, name: str) -> Backbone:
    """The card of a backbone under `name`, which adds options to the card's own; they are told in
    the title."""
    changes = ", ".join(f"{option} {value}" for option, value in address(name).options.items())
    return dataclasses.replace(
        card, name=name, title=f"{card.title} ({changes})" if changes else card.title
    )


def identity_of(name: str, weights: str | Path | None = None) -> dict[str, Any]:
    """What decides a backbone's features: its name without folders, its version and the SHA-256 of
    its weights.

    Raises SettingError: weights are needed and not on this disk.
    """
    card, spot = BACKBONES[name], address(name)
    file = card.weights_file(weights)
    title = f"{spot.family}:{Path(spot.model).name}" if card.is_own_file else spot.canonical
    return {
        "name": title,
        "version": card.version,
        "sha256": card.sha256 or (file and files.content_hash(file)),
    }


def revision(name: str | None) -> int | str:
    """A mark that changes with a backbone's version and weights; 0 for no backbone of ours."""
    card = BACKBONES.find(name)
    if card is None:
        return 0
    if not card.weights:
        return card.version
    try:
        path = card.weights_file()
    except SettingError:
        path = None
    return fingerprint(card.version, "" if path is None else files.content_hash(path))
