"""What the documentation lists is what the code has: commands, pages, settings of learners."""

import argparse
import re
import shlex
from pathlib import Path

import pytest
from repository import REPOSITORY, text_of

from docs.generated import HOMES, PAGES_OF_LEARNERS, documents
from pages.frame.navigation import PAGES
from pillar_core import params
from pillar_core.commands import parser
from pillar_core.commands.listing import WHAT
from pillar_core.data.sets.embedded import FOLDER
from pillar_core.methods import METHODS
from pillar_core.registry import PLUGIN_GROUPS

README = text_of("README.md")
FILES = sorted(
    [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *(REPOSITORY / "research").rglob("*.md"),
    ]
)
FORM = ["How it works", "Guarantee", "Cost", "Measured", "Differences from the paper"]
"""The headings of a learner's page; the last one may be missing."""


def table(head: str, text: str) -> set[str]:
    """The entries of the first column of the text's table that begins with this head."""
    rows = text.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {entry.strip(" `") for row in rows for entry in row.split("|")[1].split(",")}


def commands(named: str = "") -> set[str]:
    action = next(
        item for item in parser(named)._actions if isinstance(item, argparse._SubParsersAction)
    )
    return set(action.choices)


def test_tables_of_commands_and_pages_list_every_one_and_no_other():
    assert table("command", text_of("docs/runs.md")) == commands()
    assert commands("--help") == commands(), "the help names every one without its module"
    assert all(command in commands(command) < commands() for command in commands()), (
        "its module is another in pillar_core/commands"
    )
    assert table("page", README) == {title for _, title, _ in PAGES}


FORMER = "Accounting|Compare|Data & backbone|Evidence|Explore|Geometry|Home|Screen|Theory lab"
"""What pages were called once; Explore is now a place of several."""


def page_names(text: str) -> set[str]:
    """What a text takes for the name of a page: what follows "page", and what pages were called."""
    text = re.sub(r"[*\"]*\n?[*\" ]+|(?<=\w)\n(?=\w)", " ", text)
    named = re.findall(r"\bpages? ([A-Z][\w&]*(?: data| & backbone)?)", text)
    named += re.findall(rf"\b(?:[oO]n|[oO]pen|see|by) ({FORMER})\b(?! →)", text)
    return {*named, *re.findall(rf"\b({FORMER})(?: page|'s)\b", text)}


def test_a_page_is_called_what_the_menu_calls_it():
    titles = {title for _, title, _ in PAGES}
    assert page_names('See the page *Public data*, and the page\n" Rows.') == {
        "Public data",
        "Rows",
    }
    assert page_names("Drawn by Screen, kept on **Home**.") == {"Screen", "Home"}
    folders = ("pillar_core", "pages", "examples", "benchmarks")
    paths = [path for folder in folders for path in (REPOSITORY / folder).rglob("*")]
    offenders = {
        str(path.relative_to(REPOSITORY)): names
        for path in [*FILES, *paths]
        if path.suffix in (".py", ".toml", ".csv", ".html", ".js", ".md")
        and path.name != "CHANGELOG.md"
        and (names := page_names(text_of(path)) - titles)
    }
    assert not offenders


def headings(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL)
    return {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    }


def test_links_of_documents_and_mentions_in_code_lead_to_documents():
    offenders = []
    for path in FILES:
        text = re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            if "://" not in link and not (
                target.exists() and (not anchor or anchor in headings(target))
            ):
                offenders.append(f"{path.relative_to(REPOSITORY)}: {link}")
    for folder in ("pillar_core", "pages", "tests", "benchmarks", "research", "examples", "docs"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.suffix in (".py", ".toml", ".md"):
                text = text_of(path)
                named = re.findall(
                    r"docs/[\w/-]+\.md|(?:benchmarks|research)/\w+\.(?:md|py|csv)", text
                )
                offenders += [
                    f"{path.relative_to(REPOSITORY)}: {name}"
                    for name in named
                    if not (REPOSITORY / name).exists()
                ]
    assert not offenders, "\n".join(offenders)


def test_commands_of_documents_parse():
    for path in FILES:
        text = text_of(path).replace("\\\n", " ")
        for line in re.findall("^python -m pillar_core (.*)$", text, flags=re.MULTILINE):
            assert parser().parse_args(shlex.split(line, comments=True)), f"{path.name}: {line}"


def test_the_python_of_the_readme_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "%" in capsys.readouterr().out


def test_the_page_of_a_learner_names_its_own_settings():
    offenders = {}
    for path in PAGES_OF_LEARNERS:
        method, text = METHODS[path.stem], text_of(path)
        known = {
            *params.params_of(method.settings),
            *method.presets,
            "preset",
            "allow_overlap",
            "public_fraction",
        }
        if unknown := set(re.findall(r"`([a-z_0-9]+) ?= ?[^`]+`", text)) - known:
            offenders[path.name] = sorted(unknown)
    assert not offenders


def test_what_is_generated_is_as_written_and_pages_of_learners_have_one_form():
    stale = [path.name for path, text in documents().items() if text_of(path) != text]
    assert not stale, "run `python -m docs.generated` to write them again"
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(HOMES)
    for path in PAGES_OF_LEARNERS:
        titles = re.findall(r"^## (.*)", text_of(path), flags=re.MULTILINE)
        assert titles in (FORM, FORM[:-1]), path.name


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's, of what mlcroissant uses
@pytest.mark.parametrize("name", HOMES)
def test_the_library_of_croissant_takes_the_metadata(name):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    assert mlcroissant.Dataset(FOLDER / f"{name}.croissant.json").metadata.name == name


def test_command_and_document_list_every_registry_its_module_and_its_group():
    modules = {path: text_of(path) for path in (REPOSITORY / "pillar_core").rglob("*.py")}
    kept_in = {
        what: ".".join(path.relative_to(REPOSITORY / "pillar_core").with_suffix("").parts)
        for path, text in modules.items()
        for what in re.findall(r"(?m)^\w+(?:: Registry\[\w+\])? = \w*Registry\(\"([^\"]+)\"", text)
    }
    made = re.findall(r"= \w*Registry\(", "".join(modules.values()))
    assert len(kept_in) == len(made)
    assert {registry.noun for registry in WHAT.values()} == kept_in.keys()
    assert all(len(registry) for registry in WHAT.values())
    rows = re.findall(
        r"(?m)^\| `([a-z-]+)` \| [^|]+ \| `([\w.]+)` \| `?(.*?)`? ?\|$",
        text_of("docs/architecture.md"),
    )
    assert {word: (module, group.partition("(")[0]) for word, module, group in rows} == {
        word: (
            kept_in[registry.noun].removesuffix(".__init__"),
            PLUGIN_GROUPS.get(registry.noun, ""),
        )
        for word, registry in WHAT.items()
    }


def pitfalls() -> list[list[str]]:
    """The rows of the tables of pitfalls, cell by cell."""
    text = text_of("docs/glossary.md").split("\n## Pitfalls\n", 1)[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return [row for row in rows if row[0] not in ("severity", "---")]


def test_a_pitfall_has_a_severity_somebody_who_falls_in_and_a_test_that_holds_it():
    offenders = []
    for row in pitfalls():
        path, _, name = row[-1].strip("`").partition("::")
        has_test = re.search(rf"^def {name}\(", text_of(path), flags=re.MULTILINE)
        if row[0] not in ("critical", "theoretical", "note") or not all(row[1:-1]) or not has_test:
            offenders.append(" | ".join((row[0], row[1][:40], row[-1])))
    assert not offenders, "\n".join(offenders)
