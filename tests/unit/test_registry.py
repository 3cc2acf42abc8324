"""Registries: names, near misses, and families whose items are built from their names."""

from __future__ import annotations

import dataclasses

import pytest

from pillar_core.errors import UnknownNameError
from pillar_core.registry import Registry


@dataclasses.dataclass(frozen=True)
class _Item:
    name: str
    title: str


def _registry() -> tuple[Registry[_Item], list[str]]:
    built: list[str] = []

    def build(name: str) -> _Item:
        if name.endswith("nothing"):
            raise UnknownNameError(f"the hub has no {name}")
        built.append(name)
        return _Item(name, name.upper())

    registry: Registry[_Item] = Registry("thing")
    registry.register(_Item("plain", "Plain"))
    registry.register(_Item("hub:known", "A known one"))
    registry.register_family("hub", build)
    return registry, built


def test_a_family_answers_for_names_that_nobody_registered() -> None:
    registry, built = _registry()
    assert registry["hub:a:b?c=1"] == _Item("hub:a:b?c=1", "HUB:A:B?C=1")
    assert registry["hub:a:b?c=1"] is registry["hub:a:b?c=1"]
    assert built == ["hub:a:b?c=1"]
    assert registry["hub:known"].title == "A known one"
    assert "hub:more" in registry
    assert registry.families == ("hub",)


def test_only_registered_items_are_listed() -> None:
    registry, _ = _registry()
    assert registry["hub:more"].name == "hub:more"
    assert list(registry) == ["plain", "hub:known"]
    assert len(registry) == 2


@pytest.mark.parametrize("name", ["hub", "hub:", "other:x", "hub:nothing", "plane", 3])
def test_what_no_family_can_build_is_unknown(name: object) -> None:
    registry, built = _registry()
    assert name not in registry
    with pytest.raises(UnknownNameError):
        registry[name]  # type: ignore[index]
    assert built == []


def test_messages_name_near_misses_and_families() -> None:
    registry, _ = _registry()
    with pytest.raises(UnknownNameError, match="Did you mean plain"):
        registry["plane"]
    with pytest.raises(UnknownNameError, match="hub:…"):
        registry["something else"]


@pytest.mark.parametrize("prefix", ["hub", "", "a:b"])
def test_a_prefix_belongs_to_one_family(prefix: str) -> None:
    registry, _ = _registry()
    with pytest.raises(ValueError, match="family"):
        registry.register_family(prefix, lambda name: _Item(name, name))
