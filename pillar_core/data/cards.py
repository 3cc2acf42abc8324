"""The card of a dataset, the registry of cards, and loading by name."""

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pillar_core.data import places
from pillar_core.errors import DataError, SettingError
from pillar_core.params import SEED, check_settings, params_of
from pillar_core.registry import Registry, facts_of, toml_tables, unknown_name
from pillar_core.types import Dataset

Kind = Literal["tabular", "images", "texts", "generator"]
Fact = int | tuple[int, str] | str
"""A number, a number with a remark on what it depends on or is made of, or words where nobody knows
the number."""
SPELLINGS = {"n_classes": "C"}
FACTS = Path(__file__).with_name("sets") / "facts.toml"


def number_of(fact: Fact) -> int | None:
    """The number in a card's fact; None where it is words alone."""
    return None if isinstance(fact, str) else fact if isinstance(fact, int) else fact[0]


def fact_text(fact: Fact, *, in_short: bool = False) -> str:
    """A card's fact for people, such as "50,000 (setting n)"; in short without the remark."""
    if isinstance(fact, str):
        return fact
    number, remark = fact if isinstance(fact, tuple) else (fact, "")
    return f"{number:,} ({remark})" if remark and not in_short else f"{number:,}"


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """The settings of a dataset that has none."""


@dataclasses.dataclass(frozen=True)
class DatasetCard:
    """What a dataset is and how to get it.

    title: what stands in brackets explains it and may be left out. n_train, n_test, n_classes, d:
    facts, which `fact_text` writes. read: `read(settings, seed, download)` returns the rows;
    settings: a dataclass of parameters. version: raise it whenever the rows change. papers: those
    whose tables use the set. backbone: what images go through where none is named (None: pixels as
    they are). by_hand: how to get the files; "" where the set comes with the library. A set in
    files has a setting `root`, `size` of the files, and `can_fetch`, whether download=True gets
    them; `ask` asks the source for bytes and licence where the card does not know them.
    rows_per_person: how many train rows of one person count; None where a row is an example.
    """

    name: str
    title: str
    source: str
    licence: str
    kind: Kind
    n_train: Fact
    n_test: Fact
    n_classes: Fact
    d: Fact
    read: Callable[[Any, int, bool], Dataset]
    settings: type = NoSettings
    synthetic: bool = False
    version: int = 1
    papers: tuple[str, ...] = ()
    backbone: str | None = None
    size: str = "comes with the library"
    by_hand: str = ""
    can_fetch: bool = False
    ask: Callable[[], tuple[int, str]] | None = None
    rows_per_person: int | None = None

    @property
    def short_title(self) -> str:
        """The title without its explanation."""
        return self.title.partition(" (")[0]

    @property
    def n_rows(self) -> int:
        """Train and test rows, as far as the card counts them."""
        return (number_of(self.n_train) or 0) + (number_of(self.n_test) or 0)

    @property
    def n_bytes(self) -> int | None:
        """What the files take up, where the card says it in a number."""
        match = re.fullmatch(r"([\d.]+) ([MG])B", self.size)
        return None if match is None else int(float(match[1]) * 2 ** {"M": 20, "G": 30}[match[2]])

    @property
    def needs_files(self) -> bool:
        """Whether the rows lie in files that the library does not bring along."""
        return bool(self.by_hand)

    def is_here(self, root: str | None = None) -> bool:
        """Whether its files seem to be on this machine; looks at one folder, reads no file."""
        return not self.needs_files or places.is_filled(self.home(root))

    def home(self, root: str | None = None) -> Path:
        """Where its files are looked for; a set that counts persons has those of the set that it
        names."""
        return places.home(
            self.name if self.rows_per_person is None else self.name.partition(":")[0], root
        )

    def state(self, root: str | None = None) -> str:
        """Text that changes when its files do; "" where it needs none, or none can be looked at."""
        try:
            return places.state_of(self.home(root)) if self.needs_files else ""
        except (RuntimeError, TypeError, ValueError):  # a root that is no path
            return ""

    def how_to_get(self, root: str | None = None) -> str:
        """What to do to have the rows, in words."""
        if not self.needs_files:
            return "Nothing: it comes with the library."
        fetch = (
            f"Fetch it ({self.size}): `{places.FETCH_COMMAND.format(name=self.name)}`. "
            if self.can_fetch
            else ""
        )
        place = self.home(root)
        return (
            f"{fetch}By hand: {self.by_hand} Put it into {place}, or say where it lies with the"
            " setting root."
        )

    def fill(
        self, place: Path, fetch: Callable[[], object], *, is_there: Callable[[], bool]
    ) -> None:
        """Has `fetch` fill `place`, unless what is wanted is there; one process does at a time.

        Raises DataError, Cancelled: as `places.fetching`.
        """
        if not is_there():
            with places.fetching(self.title, place, self.by_hand):
                if not is_there():
                    fetch()

    def load(self, settings: Any = None, *, seed: int = 0, download: bool = False) -> Dataset:
        """The rows under `settings` (defaults where None), which are checked first.

        Raises SettingError: a setting or the seed is out of range. DataError: files that are not
        here, damaged, or cannot be fetched; the message says what to do.
        """
        chosen = check_settings(self.settings() if settings is None else settings)
        number = int(
            dataclasses.replace(SEED, none_means="").check(seed) or 0
        )  # rows without one could not be had again
        if self.needs_files and not (download and self.can_fetch) and not self.is_here(chosen.root):
            place = self.home(chosen.root)
            raise DataError(
                f"{self.title} is not on this machine ({place})."
                f" {places.unfinished_note(place)}{self.how_to_get(chosen.root)}"
            )
        dataset = self.read(chosen, number, download)
        notes, n_train, n_rows = dataset.notes, self.n_train, len(dataset.x_train)
        if self.needs_files and isinstance(n_train, int) and n_rows < 0.99 * n_train:
            notes += (
                (
                    f"The source counts {n_train:,} train rows, these files hold {n_rows:,}: parts"
                    " may be missing."
                ),
            )
        return dataclasses.replace(
            dataset,
            name=self.name,
            title=self.title,
            synthetic=self.synthetic,
            version=self.version,
            notes=notes,
        )


def card_of(
    name: str,
    read: Callable[[Any, int, bool], Dataset],
    *,
    settings: type = places.RootSettings,
    entry: str | None = None,
    **others: Any,
) -> DatasetCard:
    """The card of the data set that `read` reads, with what `sets/facts.toml` says under its name
    (or `entry`)."""
    return DatasetCard(
        name=name,
        read=read,
        settings=settings,
        **{"kind": "images", **facts_of(entry or name, FACTS)},
        **others,
    )


def listed_members(family: str) -> list[str]:
    """The members of a family of which `sets/facts.toml` says something."""
    names = (name.split(":", 1) for name in toml_tables(FACTS) if name.startswith(f"{family}:"))
    return [member for _, member in names if member != "*"]


def member_of(family: str, name: str) -> str:
    """The member of a family that `family:member` names. Raises UnknownNameError: it is not
    listed."""
    member, known = name.removeprefix(f"{family}:"), listed_members(family)
    if member not in known:
        raise unknown_name(f"dataset of {family}", member.lower(), known)
    return member


DATASETS: Registry[DatasetCard] = Registry("dataset", DatasetCard, home="pillar_core.data")


def load_dataset(name: str, *, seed: int = 0, download: bool = False, **settings: Any) -> Dataset:
    """The dataset registered as `name`, or a member of a family: `torchvision:<name>`,
    `medmnist:<name>`, `openml:<name>`, `hub:<id>`.

    Args:
        name: a key of `DATASETS`.
        seed: names the random streams: a generator's rows, or the train/test split where the source
        has none. download: whether the network may be used; the embedded sets never need it.
        settings: the dataset's own: n, d, C … of a generator (`n_classes` is accepted for C),
        `root` of one that lies in files.

    Raises UnknownNameError: no such dataset. SettingError: a setting that the dataset does not
    have, or one out of range. DataError: files that are not here, damaged, or cannot be fetched;
    the message says what to do.

    >>> pc.load_dataset("gaussian_mixture", n=100, d=20).x_train.shape[1]
    20
    """
    card = DATASETS[name]
    chosen = {
        SPELLINGS.get(key, key): os.fspath(value) if isinstance(value, os.PathLike) else value
        for key, value in settings.items()
    }
    known = params_of(card.settings)
    unknown = [key for key in chosen if key not in known]
    if unknown:
        valid = f"valid settings: {', '.join(known)}" if known else "it has no settings"
        raise SettingError(f"dataset {name!r} has no setting {', '.join(unknown)}; {valid}.")
    return card.load(card.settings(**chosen), seed=seed, download=download)


def local_names() -> list[str]:
    """Names of the data sets whose rows are on this machine: registered ones, then members of
    families in the data folder."""
    names = [name for name, card in DATASETS.items() if card.is_here()]
    for path in sorted(places.folder().glob("*-*")):
        family, _, member = path.name.partition("-")
        name = f"{family}:{member.replace('--', '/')}"
        if (
            family in DATASETS.families
            and name not in names
            and name in DATASETS
            and DATASETS[name].is_here()
        ):
            names.append(name)
    return names
