"""Every registry of the code is listed by the command and by docs/architecture.md; the table of
scores is generated."""

import re
from pathlib import Path

from docs.generated import PUBLIC_DATA, scores_table
from pillar_core.commands.listing import WHAT
from pillar_core.registry import PLUGIN_GROUPS

REPOSITORY = Path(__file__).resolve().parents[2]
DECLARED = re.compile(r"^\w+(?:: Registry\[\w+\])? = \w*Registry\(\"([^\"]+)\"", flags=re.MULTILINE)


def _declared() -> dict[str, str]:
    """What each registry of the code holds, and the module that it lies in."""
    modules = sorted((REPOSITORY / "pillar_core").rglob("*.py"))
    return {
        what: (
            ".".join(
                path.relative_to(REPOSITORY / "pillar_core").with_suffix("").parts
            ).removesuffix(".__init__")
        )
        for path in modules
        for what in DECLARED.findall(path.read_text(encoding="utf-8"))
    }


def test_list_knows_every_registry_of_the_code():
    calls = sum(
        len(re.findall(rb"= \w*Registry\(", path.read_bytes()))
        for path in (REPOSITORY / "pillar_core").rglob("*.py")
    )
    assert len(_declared()) == calls
    assert {registry.noun for registry in WHAT.values()} == set(_declared())
    assert all(len(registry) for registry in WHAT.values())


def test_the_documentation_names_every_registry_its_module_and_its_group():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `([a-z-]+)` \| [^|]+ \| `([\w.]+)` \| (.*?) ?\|$", text, flags=re.MULTILINE
    )
    expected = {
        word: (_declared()[registry.noun], PLUGIN_GROUPS.get(registry.noun))
        for word, registry in WHAT.items()
    }
    found = {
        word: (module, group.strip("`") if group.startswith("`") else None)
        for word, module, group in rows
    }
    assert found == expected


def test_the_table_of_scores_is_generated():
    table = re.search(
        r"<!-- scores -->\n(.*?)<!-- /scores -->",
        PUBLIC_DATA.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert table is not None
    assert table[1] == scores_table(), "run `python -m docs.generated` to write it again"
