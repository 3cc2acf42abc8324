"""Evidence for a data protection officer: a model's zip as one page of HTML, each sentence from its
statement or its card."""

import html
import math
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core.accounting.risk import turned_guesses
from pillar_core.data import DATASETS
from pillar_core.errors import DataError
from pillar_core.plots.odds import promise
from pillar_core.runs import private_tests, statement, versions
from pillar_core.runs.assumptions import HOLDS, owner_of
from pillar_core.runs.loaded import changed_files, reading
from pillar_core.runs.models import STATEMENT, SUMS
from pillar_core.types import Form

_TEMPLATE = Path(__file__).with_suffix(".html")
UNSEEN = (
    "No audit or attack proves a guarantee. None sees a division by the realised batch size,"
    " shuffled batches that are counted as Poisson samples, or tuning on private validation rows."
)
UNKNOWN = "The file knows this training alone. Losses of other trainings on the same rows add up."
NOTHING = "Nothing of private rows was released: the model was trained without them."
MIXING = "Mixing Differential Privacy With Other Data Releases"
ELSEWHERE = (
    "This page says nothing about who may read the private rows, how they are stored, why and on"
    " what legal ground they were collected, or whether the model treats groups of people alike."
)
UNATTACKED = "The file holds no attack on the model and no audit of it."
UNTESTED = "The file holds no private test of the model."
BEFORE = (
    " It was written before the private tests that the sum above counts, or those were of other"
    " models."
)


def evidence_page(source: Any, *, attacks: Sequence[str] = (), spent: str = "") -> str:
    """One page of HTML about the model in a zip, which needs no network: what is protected, how
    well, and what all of it rests on.

    attacks: sentences on attacks and audits, with their run. spent: what all trainings on the same
    rows cost together. Raises DataError: no model's zip, or one with a changed file.
    """
    with reading(source) as (archive, card):
        if changed := changed_files(archive, card):
            raise DataError(
                f"the model's file is not as it was written: {'; '.join(changed)}. Download it"
                " again."
            )
        stated, sums = (archive.read(name).decode().splitlines() for name in (STATEMENT, SUMS))
    guarantee, left = card["guarantee"], dict[str, list[str]]()
    for line in stated:
        left.setdefault(line.partition(":")[0], []).append(line)

    def take(*starts: str) -> str:
        return "".join(_paragraph(line) for start in starts for line in left.pop(start, []))

    (charged,), noise = left.pop("Releases charged"), take("What that means")
    counted = statement.COUNTED * charged.endswith(f"{statement.COUNTED}.")
    events = (f"<li>{html.escape(event)}{counted}</li>" for event in guarantee["events"])
    odds = _odds(guarantee) + " What follows uses the noise of this model, too." * bool(noise)
    owners = [(line, owner_of(line)) for line in guarantee["assumptions"]]
    trained = f"The model was trained on {card['n_private']:,} private examples."
    tests = take(
        "Tested privately",
        "Private tests of other models on these test rows",
        "Training and tests together",
        private_tests.UNITS_APART,
        private_tests.SHOWN,
    )
    made = (
        versions.in_words(card["versions"])
        if "versions" in card
        else card["deployment"]["implementation"]
    )
    sections = (
        (
            "What is protected",
            "The Unit of Privacy",
            take("Unit of protection") + _paragraph(trained if guarantee["events"] else NOTHING),
        ),
        (
            "How much can leak",
            (
                "The Privacy Parameter ε; Variants of Differential Privacy; Comparing Differential"
                " Privacy Guarantees"
            ),
            take("Privacy loss") + _paragraph(odds) + noise,
        ),
        (
            "What was released",
            "Basic Mechanisms and Common Elements",
            f"<ol>{''.join(events)}</ol>{take('Sampling', 'Accountant')}",
        ),
        (
            "What the guarantee rests on",
            "Threat Models",
            _table((HOLDS, "who answers for it"), owners)
            + _paragraph(
                f"Deployment model: {card['deployment']['deployment_model']}. Whoever trained the"
                " model saw the private rows."
            ),
        ),
        (
            "How settings were chosen, and what that cost",
            MIXING,
            take("Choice of settings", "To confirm"),
        ),
        (
            "All trainings on these rows",
            MIXING,
            _paragraph(spent or UNKNOWN) + take("Not protected"),
        ),
        (
            "How good the model is",
            "Utility and Accuracy",
            take(statement.EXPECTED)
            + (tests or _paragraph(UNTESTED + BEFORE * ("private test" in spent))),
        ),
        (
            "Attacks and audits",
            "Mechanism Implementation Challenges",
            "".join(map(_paragraph, [*(attacks or [UNATTACKED]), UNSEEN])),
        ),
        (
            "Data and licences",
            "Data Collection Exposure",
            take("Public data") + _licences(card),
        ),
        ("For you to add", "Data Security and Access Control; Bias", _paragraph(ELSEWHERE)),
        (
            "Versions and commands",
            "",
            _paragraph(f"Made with {made}.") + f"<pre>{html.escape(_commands(card))}</pre>",
        ),
        (
            "As a registry of deployments files it",
            "",
            _table(("field", "value"), card["deployment"].items()),
        ),
        (
            "Files and their SHA-256",
            "",
            _table(("file", "SHA-256"), [line.split("  ", 1)[::-1] for line in sums]),
        ),
    )
    rest = [start for start in left if not start.startswith((HOLDS, "- "))]
    about = ("The model", "Machine Learning", take("Model", *rest))
    body = ""
    for title, nist, content in (about, *sections):
        source_of = f'<p class="nist">NIST SP 800-226: {nist}</p>' if nist else ""
        body += f"<h2>{title}</h2>{source_of}{content}"
    words = {
        "predicts": html.escape(f"“{card['predicts']}”" if card.get("predicts") else "a label"),
        "sections": body,
    }
    return string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(words)


def _odds(guarantee: Form) -> str:
    """What ε and δ alone allow whoever guesses."""
    epsilon = float(guarantee["epsilon"])
    share = turned_guesses(epsilon, guarantee["delta"])[0] if math.isfinite(epsilon) else 0.5
    return (
        f"{promise(share, 'one ' + guarantee['privacy_unit'])}. That is what ε and δ alone allow;"
        " without the model, half of the guesses are right."
    )


def _licences(card: Form) -> str:
    """What private and public rows are called, and their licences."""
    private = card.get("private_set")
    public = card.get("public_set") or {"name": None, "rows": card["public_data"] != "none"}
    words = _licence("Private rows", private, private)
    if public.get("rows"):
        part = f"a part of {private}" if private else None
        words += _licence("Public rows", public["name"] or part, public["name"] or private)
    return words


def _licence(rows: str, words: str | None, name: str | None) -> str:
    """What rows are called, and the licence of the set `name`."""
    card = DATASETS.find(name)
    licence = "this library knows none" if card is None else card.licence
    return _paragraph(
        f"{rows}: the file names none."
        if words is None
        else f"{rows}: {words}. Licence: {licence}."
    )


def _commands(card: Form) -> str:
    again = (
        [f"# an experiment with the same settings\n{card['command']}"]
        if card.get("command")
        else []
    )
    lines = [
        "# this page",
        "python -m pillar_core evidence model.zip --output evidence.html",
        "# new rows",
    ]
    return "\n".join([*lines, "python -m pillar_core predict model.zip ROWS", *again])


def _paragraph(words: str) -> str:
    return f"<p>{html.escape(words)}</p>"


def _table(head: tuple[str, str], rows: Iterable[Sequence[Any]]) -> str:
    cells = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_cell(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f"<table><tr><th>{head[0]}</th><th>{head[1]}</th></tr>{cells}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_cell(part)}" for name, part in value.items())
    return "; ".join(map(_cell, value)) if isinstance(value, list) else str(value)
