"""`screen`: rank public sets for a private one, into a table."""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from pillar_core import params, store
from pillar_core.arrays import Json
from pillar_core.commands.options import (
    Commands,
    add_column_options,
    add_command,
    fields_of,
    flag,
    is_table_file,
    option,
    print_table,
    printer,
    private_of,
    public_of,
    setting,
    several,
)
from pillar_core.data import uploads
from pillar_core.data.wording import join
from pillar_core.runs.receipts import Ranking, Training, account_of
from pillar_core.runs.records import write_csv
from pillar_core.runs.splitting import match_private
from pillar_core.screening import MODELS, SCORES, screen
from pillar_core.screening.gsd import N_EXAMPLES, REPEATS, K
from pillar_core.screening.ranking import is_noise, ties
from pillar_core.studies.screening.answers import (
    OWN_HALF,
    OWN_PART,
    Ask,
    answer,
    drawn_rows,
    feature_sets_of,
    features_at_hand,
    images_of,
    is_of_features,
    paid_ranking,
    part_candidates,
    sets_of,
)
from pillar_core.types import Dataset, FeatureSet

Rows = Dataset | FeatureSet


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = add_command(
        commands,
        "screen",
        command,
        private=option(
            "a data set, npz, folder or zip of images; for class_signal a table, too",
            required=True,
        ),
        public=several(
            "candidates: the same, a~0.5 (shifted), a+b (mixed), part (a tenth of --private),"
            " own_half",
            required=True,
        ),
        score=several(f"any of {', '.join(SCORES)}", default=["gsd"]),
        model=option(
            f"{', '.join(MODELS)}, or timm:NAME?weights=FILE[&layers=…|&lora=8]", default="probe"
        ),
        k=setting(K),
        examples=setting(N_EXAMPLES),
        repeats=setting(REPEATS),
        epsilon=option(
            "rank from one private release at this ε (default: a non-private diagnostic)", float
        ),
        delta=setting(params.DELTA),
        seed=option("of everything public, and of the noise unless --release", int, 0),
        release=flag("draw the noise from the operating system: for a ranking that is published"),
        allow_overlap=flag("accept public rows that are private rows"),
        output=option("CSV file of the table"),
    )
    add_column_options(parser)


def command(options: argparse.Namespace) -> int:
    """Prints the table, best first; writes what was asked for."""
    request = fields_of(options, "model", "k", "repeats", "epsilon", "seed")
    ask = Ask(
        "ranking",
        options.private,
        tuple(options.public),
        n_examples=options.examples,
        score=options.score[0],
        **request,
    )
    key = ask.key
    whole, *sets = _sets(ask, options)
    private, public = sets
    is_paid = options.release and options.epsilon is not None
    if is_paid:
        store.default().check_room()
    table = (
        answer(ask, printer(unit="steps"), sets=(private, public), key=key)
        if _is_kept(options)
        else _rank(private, public, options)
    )
    account = account_of(whole, ask.private)
    if is_paid:
        account.keep(_entry(table, private, options))
    else:
        account.look(is_ranking=options.epsilon is not None)
    notes = [
        *table.attrs["notes"],
        *(note for data in (private, *public.values()) for note in data.notes),
        _provenance(table, options),
    ]
    print_table(table.drop(columns=["provenance"]))
    for note in [*_verdicts(table), *notes]:
        print(f"note: {note}", file=sys.stderr)
    if options.output:
        write_csv(table, options.output)
    return 0


def _sets(ask: Ask, options: argparse.Namespace) -> tuple[Json, Json, dict[str, Json]]:
    """(all private rows, the private set without what of it is a candidate, candidates by name); of
    a private table all go through one recipe."""
    named = [name for name in ask.public if name not in (OWN_PART, OWN_HALF)]
    if is_table_file(ask.private):
        whole = private_of(ask.private, options, named)
        tables = {name: match_private(public_of(name, whole), whole)[0] for name in named}
        return whole, *part_candidates(ask, whole, tables)
    private, public = feature_sets_of(ask) if is_of_features(ask) else sets_of(ask)
    if named == [*ask.public] and not Path(ask.private).exists():
        return private, private, public
    at_hand = features_at_hand(ask.private)
    return at_hand or images_of(ask.private, n=2 * drawn_rows(ask)), private, public


def _entry(table: pd.DataFrame, private: Rows, options: argparse.Namespace) -> Ranking | Training:
    """What the account keeps of a ranking with secret noise: one by gradients adds to the sum of
    ε, one by class sums is composed with a later training."""
    if "noise_multiplier" in table.attrs:
        return paid_ranking(options.public, table)
    return Training(
        f"A ranking by {join(options.score)}",
        options.private,
        len(private.x_train),
        float(table["epsilon_upper"].max()),
        options.delta,
        "add_or_remove_one",
        None if private.persons is None else 1,
    )


def _rank(private: Rows, public: Mapping[str, Rows], options: argparse.Namespace) -> pd.DataFrame:
    return screen(
        private,
        public,
        scores=options.score,
        n_examples=options.examples,
        seed=None if options.release else options.seed,
        progress=printer(unit="steps"),
        **fields_of(options, "model", "k", "repeats", "epsilon", "delta", "allow_overlap"),
    )


def _is_kept(options: argparse.Namespace) -> bool:
    """Whether the cache answers: one score, nothing that the page does not ask, no release, and no
    file whose content may change."""
    is_plain = (
        options.delta == params.DELTA.default
        and not options.allow_overlap
        and not options.release
        and len(options.score) == 1
    )
    parts = [
        part for name in (options.private, *options.public) for part in (name, *name.split("+"))
    ]
    return is_plain and not any(Path(part).expanduser().exists() for part in parts)


def _verdicts(table: pd.DataFrame) -> Iterator[str]:
    """Which candidate each score puts first, and which may tie with it."""
    for score, rows in table[table["public"] != OWN_HALF].groupby("score", sort=False):
        names = [rows["public"].iloc[0], *(name for name in ties(rows) if name != OWN_HALF)]
        first, *tied = [uploads.title_of(name) if uploads.is_name(name) else name for name in names]
        others = f"; {join(tied)} may tie with it" if tied else ""
        yield (
            f"{score}: nothing stands out, noise alone may put {first} first{others}."
            if is_noise(rows)
            else f"{score}: {first} is the best choice{others}."
        )


def _provenance(table: pd.DataFrame, options: argparse.Namespace) -> str:
    """What reading this table costs."""
    if math.isinf(float(table["epsilon_upper"].max())):
        return (
            "This ranking reads private rows without noise: a diagnostic for your eyes, not for"
            " release. --epsilon makes it private."
        )
    return str(table.attrs["guarantee"]) + (
        " Noise, sample and labels came from the operating system." if options.release else ""
    )
