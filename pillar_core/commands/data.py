"""`data`: the data sets, whether their files are here, how to get them, and what they hold."""

import argparse

from pillar_core import params
from pillar_core.commands.options import Commands, as_lines, assignments, printer
from pillar_core.data import DATASETS, DatasetCard, downloading, forget, load_dataset, places
from pillar_core.data.cards import fact_text
from pillar_core.errors import SettingError
from pillar_core.types import Dataset


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("data", help="data sets: what is here, how to get the others, what one holds")
    parser.add_argument("name", nargs="?", help="a data set, such as ham10000 or hub:<owner>/<name>; none: all")
    parser.add_argument("--download", action="store_true", help="fetch it where its files are not here, then read it")
    parser.add_argument("--read", action="store_true", help="read it and say what it holds")
    parser.add_argument("--forget", action="store_true", help="delete what decoding its images kept in the cache; its files stay")
    parser.add_argument("--dataset-setting", action="append", default=[], metavar="NAME=VALUE", help="a setting, such as root")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Prints it."""
    if options.name is None:
        if options.download or options.read or options.forget:
            raise SettingError("--download, --read and --forget need the name of a data set.")
        print(f"data folder: {places.folder()}\n")
        print(as_lines({name: _line(card) for name, card in DATASETS.items()}))
        print(f"\nAlso: {', '.join(f'{family}:<name>' for family in DATASETS.families)}.")
        return 0
    settings = assignments(options.dataset_setting)
    print(as_lines(_card(DATASETS[options.name], settings.get("root"))))
    if options.download or options.read or options.forget:
        with downloading.report_progress(printer(unit="bytes")):
            dataset = load_dataset(options.name, download=options.download, **settings)
        print(f"\n{as_lines(_contents(dataset))}")
        if options.forget:
            forget(dataset)
            print(f"deleted from the cache: {len(dataset.stored_rows)} entries of decoded images")
    return 0


def _line(card: DatasetCard) -> str:
    place = "here" if card.is_here() else f"not here, {card.size}"
    papers = f"; {', '.join(card.papers)}" if card.papers else ""
    n_train, n_classes = (fact_text(fact, in_short=True) for fact in (card.n_train, card.n_classes))
    return f"{card.title}: {n_train} train rows, {n_classes} classes; {place}{papers}"


def _card(card: DatasetCard, root: str | None) -> dict[str, str]:
    known = {name: f"{param.help} {param.range}; default {param.default}" for name, param in params.params_of(card.settings).items()}
    return {
        "title": card.title,
        "source": card.source,
        "licence": card.licence,
        "used by": ", ".join(card.papers) or "none of the papers",
        "rows": f"{fact_text(card.n_train)} train, {fact_text(card.n_test)} test",
        "classes": fact_text(card.n_classes),
        "features": fact_text(card.d),
        "size": card.size,
        "here": "yes" if card.is_here(root) else "no",
        "how to get it": card.how_to_get(root),
        **{f"setting {name}": meaning for name, meaning in known.items()},
    }


def _contents(dataset: Dataset) -> dict[str, str]:
    test = 0 if dataset.x_test is None else len(dataset.x_test)
    notes = {f"note {number}": note for number, note in enumerate(dataset.notes, 1)}
    return {
        "read": f"{len(dataset.x_train):,} train and {test:,} test rows of {' × '.join(map(str, dataset.x_train.shape[1:]))}",
        "classes": ", ".join(dataset.classes[:20]) + (f" … ({len(dataset.classes)})" if len(dataset.classes) > 20 else ""),
        **notes,
    }
