"""Tables of the documents that come from the registries; `python -m docs.generated` writes them again."""

import re
from pathlib import Path
from typing import Any

from pillar_core import params
from pillar_core.data import DATASETS
from pillar_core.data.cards import fact_text
from pillar_core.methods import METHODS, Method
from pillar_core.screening import SCORES

LEARNERS, DATA, PUBLIC_DATA = (Path(__file__).with_name(f"{name}.md") for name in ("learners", "data", "public_data"))
PAGES_OF_LEARNERS = sorted(Path(__file__).with_name("methods").glob("*.md"))


def methods_table() -> str:
    """The table of learners, in Markdown."""
    rows = [
        f"| `{method.name}` | {method.title} | {method.public_use} | {noise_law(method)} | {method.idea} | {method.source} |\n"
        for method in METHODS.values()
    ]
    return "| name | learner | public data | noise | idea | source |\n| --- | --- | --- | --- | --- | --- |\n" + "".join(rows)


def noise_law(method: Method[Any]) -> str:
    """The law of the noise of a release with default settings: exact, fast, or none where nothing is released."""
    return "none" if not method.is_private else "exact" if method.is_exact(method.settings()) else "fast"


def learner_facts(name: str) -> str:
    """The idea, public data, presets and settings of a learner, in Markdown."""
    method = METHODS[name]
    presets = f" Presets: {', '.join(f'`{preset}`' for preset in method.presets)}." if method.presets else ""
    rows = [
        f"| `{setting}` | {param.none_means if param.default is None else param.default} | {param.help} | "
        f"{param.range.partition(', or none')[0]} |\n"
        for setting, param in params.params_of(method.settings).items()
    ]
    head = "| setting | default | sets | values |\n| --- | --- | --- | --- |\n"
    settings = head + "".join(rows) if rows else "It has no settings.\n"
    return (
        f"{method.idea}\nName: `{name}`. Public data: {method.public_use}. Noise of a release: {noise_law(method)}.{presets}\n\n{settings}"
    )


def datasets_table() -> str:
    """The table of data sets that lie in files, in Markdown."""
    rows = [
        f"| `{name}` | {card.title} | {fact_text(card.n_train)} / {fact_text(card.n_test)} | {fact_text(card.n_classes)} | {card.size} | "
        f"{card.licence} | {', '.join(card.papers)} | {card.by_hand} |\n"
        for name, card in DATASETS.items()
        if card.needs_files
    ]
    head = "| name | data set | rows train / test | classes | files | licence | papers | by hand |\n"
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


def _write(path: Path, mark: str, table: str) -> None:
    block = f"<!-- {mark} -->\n{table}<!-- /{mark} -->"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(f"<!-- {mark} -->.*<!-- /{mark} -->", lambda _: block, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    _write(LEARNERS, "methods", methods_table())
    _write(DATA, "datasets", datasets_table())
    _write(PUBLIC_DATA, "scores", scores_table())
    for page in PAGES_OF_LEARNERS:
        _write(page, "learner", learner_facts(page.stem))
