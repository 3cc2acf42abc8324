"""What documents and metadata repeat of the registries; `python -m docs.generated` writes it
again."""

import collections
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pillar_core import params
from pillar_core.data import DATASETS
from pillar_core.data.cards import fact_text
from pillar_core.data.sets.embedded import FOLDER
from pillar_core.methods import METHODS, Method
from pillar_core.screening import SCORES
from pillar_core.studies import open_questions
from pillar_core.types import Form

LEARNERS, DATA, PUBLIC_DATA = (
    Path(__file__).with_name(f"{name}.md") for name in ("learners", "data", "public_data")
)
OPEN_QUESTIONS = Path(__file__).parents[1] / "research" / "open_questions.md"
QUESTIONS = ("never_worse", "never_worse_cells", "made_up", "labels", "world")
BIBTEX = Path(__file__).with_name("papers.bib")
HOMES = {
    "fashion_mnist": "https://github.com/zalandoresearch/fashion-mnist",
    "library_docs": "https://scikit-learn.org",
    "mnist": "http://yann.lecun.com/exdb/mnist",
    "pneumonia_mnist": "https://medmnist.com",
    "python_docs": "https://docs.python.org",
    "scipy_docs": "https://scipy.org",
    "union_sentences": "https://stdlib.io",
}
"""Where the sets of `pillar_core/data/embedded` come from."""
SHARED = 4
"""So many learners that have a setting share its line."""
PAGES_OF_LEARNERS = sorted(Path(__file__).with_name("methods").glob("*.md"))


def methods_table() -> str:
    """The table of learners, in Markdown."""
    rows = [
        f"| `{method.name}` | {method.title} | {method.public_use} | {noise_law(method)} |"
        f" {method.idea} | {method.source} |\n"
        for method in METHODS.values()
    ]
    return (
        "| name | learner | public data | noise | idea | source |\n| --- | --- | --- | --- | --- |"
        " --- |\n" + "".join(rows)
    )


def noise_law(method: Method[Any]) -> str:
    """The law of the noise of a release with default settings: exact, fast, or none where nothing
    is released."""
    return "none" if not method.is_private else "exact" if method.is_exact else "fast"


def learner_facts(name: str) -> str:
    """The idea, public data, presets and settings of a learner, in Markdown."""
    method = METHODS[name]
    presets = (
        f" Presets: {', '.join(f'`{preset}`' for preset in method.presets)}."
        if method.presets
        else ""
    )
    law = noise_law(method) + (
        " ([why](../accounting.md#exact-releases))" if noise_law(method) == "fast" else ""
    )
    own, others = [], []
    for setting, param in params.params_of(method.settings).items():
        default = param.none_means if param.default is None else param.default
        if _meaning(setting, param) in shared_settings():
            others.append(f"`{setting}` ({default})")
        else:
            own.append(
                f"| `{setting}` | {default} | {' | '.join(_meaning(setting, param)[1:])} |\n"
            )
    head = "| setting | default | sets | values |\n| --- | --- | --- | --- |\n"
    settings = head + "".join(own) if own else ""
    if others:
        line = "Settings that [other learners have, too](../learners.md#settings), with defaults"
        settings = f"{line}: {', '.join(others)}.\n" + ("\n" + settings if own else "")
    settings = settings or "It has no settings.\n"
    return (
        f"{method.idea}\nName: `{name}`. Public data: {method.public_use}. Noise of a release:"
        f" {law}.{presets}\n\n{settings}{citation(method.source)}"
    )


def shared_settings() -> list[tuple[str, str, str]]:
    """(name, what it sets, values) of the settings that at least `SHARED` learners have."""
    meanings = collections.Counter(
        _meaning(setting, param)
        for method in METHODS.values()
        for setting, param in params.params_of(method.settings).items()
    )
    return [meaning for meaning, count in meanings.items() if count >= SHARED]


def settings_table() -> str:
    """The table of the settings that several learners have, in Markdown."""
    rows = [f"| `{name}` | {sets} | {values} |\n" for name, sets, values in shared_settings()]
    return "| setting | sets | values |\n| --- | --- | --- |\n" + "".join(rows)


def _meaning(setting: str, param: params.Param) -> tuple[str, str, str]:
    return setting, param.help, param.range.partition(", or none")[0]


def citation(source: str) -> str:
    """The keys in `papers.bib` of the papers that the first part of a learner's source names, as a
    line of Markdown."""
    entries = re.findall(
        r"^@\w+{(.*?),.*?^  keywords = {(.*?)}",
        BIBTEX.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    named = [
        f"[{key}](../papers.bib)"
        for key, words in entries
        if any(word in source.partition(";")[0] for word in words.split("; "))
    ]
    return f"\nIn BibTeX: {', '.join(named)}.\n" if named else ""


def croissant(name: str) -> Form:
    """The Croissant metadata of a set whose file comes with the library, in JSON-LD."""
    card, file = DATASETS[name], FOLDER / f"{name}.npz"
    names = {
        "dct": "http://purl.org/dc/terms/",
        "cr": "http://mlcommons.org/croissant/",
        "sc": "https://schema.org/",
    }
    rows = (
        f"{fact_text(card.n_train)} train and {fact_text(card.n_test)} test rows of"
        f" {fact_text(card.n_classes)} classes"
    )
    content = {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "encodingFormat": "application/zip",
    }
    return {
        "@context": {
            "@language": "en",
            "@vocab": "https://schema.org/",
            "conformsTo": "dct:conformsTo",
            "citeAs": "cr:citeAs",
            **names,
        },
        "@type": "sc:Dataset",
        "name": name,
        "description": f"{card.title}: {rows}, as NumPy's npz. Source: {card.source}.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "citeAs": card.source,
        "license": card.licence,
        "url": HOMES[name],
        "version": f"{card.version}.0.0",
        "distribution": [content | {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}],
    }


def datasets_table() -> str:
    """The table of data sets that lie in files, in Markdown."""
    rows = [
        f"| `{name}` | {card.title} | {fact_text(card.n_train)} / {fact_text(card.n_test)} |"
        f" {fact_text(card.n_classes)} | {card.size} | {card.licence} | {', '.join(card.papers)} |"
        f" {card.by_hand} |\n"
        for name, card in DATASETS.items()
        if card.needs_files
    ]
    head = (
        "| name | data set | rows train / test | classes | files | licence | papers | by hand |\n"
    )
    return head + "| --- | --- | --- | --- | --- | --- | --- | --- |\n" + "".join(rows)


def scores_table() -> str:
    """The table of scores of public data, in Markdown."""
    rows = [
        f"| `{name}` | {score.title} | {score.idea} | {', '.join(sorted(score.needs))} | "
        f"{score.private_form or 'none'} | {score.source} |\n"
        for name, score in SCORES.items()
    ]
    head = "| name | score | what it compares | needs | private form | source |\n"
    return head + "| --- | --- | --- | --- | --- | --- |\n" + "".join(rows)


def question_table(question: str) -> str:
    """What was measured of an open question, in Markdown: a line a row, a column a series."""
    means = open_questions.table(question)
    cells = {
        (line.row, line.series): (
            f"{line.mean:.1f}"
            + (f" ± {line.high - line.mean:.1f}" if line.high == line.high else "")
        )
        for line in means.itertuples()
    }
    series = list(dict.fromkeys(means["series"]))
    head = f"| | {' | '.join(series)} |\n| --- |{' --- |' * len(series)}\n"
    lines = [
        f"| {row} | {' | '.join(cells.get((row, name), '') for name in series)} |\n"
        for row in dict.fromkeys(means["row"])
    ]
    return head + "".join(lines).replace("-0.0", "0.0").replace("| -", "| −")


def documents() -> dict[Path, str]:
    """What each document that is generated, or holds tables that are, must say."""
    tables: dict[Path, dict[str, str]] = {
        LEARNERS: {"methods": methods_table(), "settings": settings_table()},
        DATA: {"datasets": datasets_table()},
        PUBLIC_DATA: {"scores": scores_table()},
        OPEN_QUESTIONS: {question: question_table(question) for question in QUESTIONS},
        **{page: {"learner": learner_facts(page.stem)} for page in PAGES_OF_LEARNERS},
    }
    metadata = {
        FOLDER / f"{name}.croissant.json": json.dumps(croissant(name), indent=2, ensure_ascii=False)
        for name in HOMES
    }
    return {path: _with_tables(path, tables[path]) for path in tables} | {
        path: f"{text}\n" for path, text in metadata.items()
    }


def _with_tables(path: Path, tables: dict[str, str]) -> str:
    """A document with these tables between their marks, each of which it must hold once."""
    text = path.read_text(encoding="utf-8")
    for mark, table in tables.items():
        before, start, rest = text.partition(f"<!-- {mark} -->")
        _, end, after = rest.partition(f"<!-- /{mark} -->")
        if not start or not end:
            raise ValueError(f"{path} has no marks of {mark}")
        text = f"{before}{start}\n{table}{end}{after}"
    return text


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
