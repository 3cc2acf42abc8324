"""`data`: the data sets, whether their files are here, how to get them, what they or files hold;
`extract`: images through a backbone, with progress, where what is killed goes on where it stopped;
`recipe`: how a table with words and gaps becomes numbers, written for the other commands and for
whoever fills in what is unknown.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

from pillar_core import store
from pillar_core.backbones.cards import BATCH_SIZE, DEVICE
from pillar_core.commands.options import (
    Commands,
    add_column_options,
    add_command,
    as_lines,
    assignments,
    assignments_option,
    flag,
    is_table_file,
    option,
    printer,
    private_of,
    setting,
    settings_words,
)
from pillar_core.data import (
    DATASETS,
    DatasetCard,
    downloading,
    load,
    load_dataset,
    places,
    raw,
    recipes,
    uploads,
)
from pillar_core.data.cards import fact_text
from pillar_core.data.npz import npz_of
from pillar_core.data.raw import Roles
from pillar_core.errors import DataError, SettingError
from pillar_core.runs.loading import through_backbone
from pillar_core.runs.receipts import forget_data, n_sharing
from pillar_core.store.files import writable
from pillar_core.types import Dataset, FeatureSet


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    root = assignments_option("a setting, such as root")
    parser = add_command(
        commands,
        "data",
        _describe,
        download=flag("fetch it where its files are not here, then read it"),
        read=flag("read it and say what it holds, as always of a file"),
        forget=flag(
            "delete what the cache keeps of its rows, such as stored:<key>; its files stay. Of a"
            " file: with the options by which it was read"
        ),
        dataset_setting=root,
        public=option("of a table: the public rows beside it", metavar="FILE"),
    )
    parser.add_argument(
        "name",
        nargs="?",
        help="a data set, such as ham10000 or hub:<owner>/<name>, or a file; none: all",
    )
    add_column_options(parser)
    parser.set_defaults(rows_per_person=1)
    add_command(
        commands,
        "extract",
        _extract,
        dataset=option("a registered data set, or a npz, folder or zip of images", required=True),
        dataset_setting=root,
        download=flag("fetch the data set where its files are not here"),
        backbone=option(
            "see `list backbones`; options follow a ?, as in timm:resnet50?input_size=160",
            required=True,
        ),
        weights=option(
            "the backbone's weights (safetensors or a PyTorch state dictionary)", metavar="FILE"
        ),
        device=setting(DEVICE),
        batch_size=setting(BATCH_SIZE),
        output=option("write the features into a npz file as well", metavar="FILE"),
    )
    parser = add_command(
        commands,
        "recipe",
        _write_recipe,
        rows_per_person=option("rows of a person that count, the first ones", int, 1),
        public=option(
            "public rows for categories, fills and ranges (default: fill in by hand)",
            metavar="FILE",
        ),
        output=option("the recipe, as JSON", metavar="FILE", required=True),
    )
    parser.add_argument("file", help="the table")
    add_column_options(parser, for_recipe=True)


def _describe(options: argparse.Namespace) -> int:
    if options.name is None:
        if options.download or options.read or options.forget:
            raise SettingError("--download, --read and --forget need the name of a data set.")
        print(f"data folder: {places.folder()}\n")
        print(as_lines({name: _line(card) for name, card in DATASETS.items()}))
        print(f"\nAlso: {', '.join(f'{family}:<name>' for family in DATASETS.families)}.")
        return 0
    if options.forget and uploads.is_name(options.name):
        return _forget(options.name, None)
    if is_table_file(name := options.name) or (name not in DATASETS and Path(name).exists()):
        rows = _rows_of_file(options)
    else:
        settings = assignments(options.dataset_setting)
        print(as_lines(_card(DATASETS[options.name], settings.get("root"))))
        if not (options.download or options.read or options.forget):
            return 0
        with downloading.report_progress(printer(unit="bytes")):
            rows = load_dataset(options.name, download=options.download, **settings)
        print()
    print(as_lines(_contents(rows)))
    return _forget(options.name, rows) if options.forget else 0


def _forget(name: str, rows: Dataset | FeatureSet | None) -> int:
    print(f"entries deleted from the cache: {forget_data(name, rows)}, of {name}")
    if rows is not None and (count := n_sharing(rows)):
        print(
            "note: hashes of other files or readings, with some of the same rows, stay:"
            f" {count}. Forget each of them with the options by which it was read.",
            file=sys.stderr,
        )
    return 0


def _rows_of_file(options: argparse.Namespace) -> Dataset | FeatureSet:
    if not is_table_file(options.name):
        return load(options.name)
    return private_of(options.name, options, [options.public] if options.public else [])


def _line(card: DatasetCard) -> str:
    place = "here" if card.is_here() else f"not here, {card.size}"
    papers = f"; {', '.join(card.papers)}" if card.papers else ""
    n_train, n_classes = (fact_text(fact, in_short=True) for fact in (card.n_train, card.n_classes))
    return f"{card.title}: {n_train} train rows, {n_classes} classes; {place}{papers}"


def _card(card: DatasetCard, root: str | None) -> dict[str, str]:
    known = settings_words(card.settings)
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


def _contents(dataset: Dataset | FeatureSet) -> dict[str, str]:
    test = dataset.n_test
    notes = {f"note {number}": note for number, note in enumerate(dataset.notes, 1)}
    return {
        "read": (
            f"{len(dataset.x_train):,} train and {test:,} test rows of"
            f" {' × '.join(map(str, dataset.x_train.shape[1:]))}"
        ),
        "classes": (
            ", ".join(dataset.classes[:20])
            + (f" … ({len(dataset.classes)})" if len(dataset.classes) > 20 else "")
        ),
        **notes,
    }


def _extract(options: argparse.Namespace) -> int:
    started = time.monotonic()
    how = {name: getattr(options, name) for name in ("weights", "device", "batch_size")}
    features = through_backbone(_images(options), options.backbone, **how, progress=printer())
    n_test = features.n_test
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )  # bytes of this process
    lines = {
        "features": (
            f"{len(features.x_train)} train and {n_test} test rows, {features.d} numbers each"
        ),
        "backbone": features.backbone,
        "time": f"{time.monotonic() - started:.1f} s",
        "peak memory": f"{peak / 2**20:.0f} MiB",
        "cache": str(store.default().root),
    }
    print("\n".join([as_lines(lines), *(f"note {note}" for note in features.notes)]))
    if options.output:
        with writable(options.output):
            Path(options.output).write_bytes(npz_of(features))
        print(f"written: {options.output}")
    return 0


def _images(options: argparse.Namespace) -> Dataset:
    name = options.dataset
    if name not in DATASETS and Path(name).expanduser().exists():
        data = load(name)
        if isinstance(data, Dataset):
            return data
        raise DataError(f"{name} holds features already: there is nothing to extract.")
    with downloading.report_progress(printer(unit="bytes")):
        return load_dataset(name, download=options.download, **assignments(options.dataset_setting))


def _write_recipe(options: argparse.Namespace) -> int:
    roles = Roles(
        options.label,
        options.person,
        tuple(options.leave_out),
        rows_per_person=options.rows_per_person,
        text=options.text,
    )
    recipe, lines = raw.template(options.file, roles, options.public)
    text = json.dumps(recipes.form_of(recipe), indent=2, ensure_ascii=False)
    with writable(options.output):
        Path(options.output).write_text(text + "\n", encoding="utf-8")
    print(
        f"written: {options.output}, {len(recipe.columns)} columns to predict {recipe.label!r} from"
    )
    for line in lines:
        print(f"note: {line}", file=sys.stderr)
    return 0
