"""Registries: names, near misses, and families whose items are built from their names."""

import dataclasses
import sys
import threading
import types

import pytest

from pillar_core.errors import UnknownNameError
from pillar_core.registry import Registry
from users import raises


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


def test_a_family_answers_for_names_that_nobody_registered():
    registry, built = _registry()
    assert registry["hub:a:b?c=1"] == _Item("hub:a:b?c=1", "HUB:A:B?C=1")
    assert registry["hub:a:b?c=1"] is registry["hub:a:b?c=1"]
    assert built == ["hub:a:b?c=1"]
    assert registry["hub:known"].title == "A known one"
    assert "hub:more" in registry
    assert registry.families == ("hub",)


def test_only_registered_items_are_listed_and_near_misses_named():
    registry, _ = _registry()
    assert registry["hub:more"].name == "hub:more"
    assert list(registry) == ["plain", "hub:known"]
    assert len(registry) == 2
    with pytest.raises(UnknownNameError, match="Did you mean plain"):
        registry["plane"]
    with pytest.raises(UnknownNameError, match="hub:…"):
        registry["something else"]


@pytest.mark.parametrize("name", ["hub", "hub:", "other:x", "hub:nothing", "plane", 3])
def test_what_no_family_can_build_is_unknown(name):
    registry, built = _registry()
    assert name not in registry
    with pytest.raises(UnknownNameError):
        registry[name]  # type: ignore[index]
    assert built == []


@pytest.mark.parametrize("prefix", ["hub", "", "a:b"])
def test_a_prefix_belongs_to_one_family(prefix):
    registry, _ = _registry()
    raises(ValueError, "family", registry.register_family, prefix, lambda name: _Item(name, name))


def test_a_registry_is_whole_for_a_reader_that_comes_while_its_home_is_imported(
    tmp_path, monkeypatch
):
    registry = Registry("thing", home="home_of_things")
    meeting = types.ModuleType("meeting_of_things")
    meeting.__dict__.update(
        register=registry.register, item=_Item, half=threading.Event(), go=threading.Event()
    )
    monkeypatch.setitem(sys.modules, "meeting_of_things", meeting)
    code = (
        "from meeting_of_things import *\nregister(item('one',"
        " 'One'))\nhalf.set()\ngo.wait()\nregister(item('two', 'Two'))\n"
    )
    (tmp_path / "home_of_things.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    readers = [threading.Thread(target=lambda: seen.append(list(registry))) for _ in range(3)]
    readers[0].start()
    meeting.half.wait()
    for reader in readers[1:]:
        reader.start()
    readers[1].join(0.2)  # time to read one item, were half a registry shown
    meeting.go.set()
    for reader in readers:
        reader.join()
    monkeypatch.delitem(sys.modules, "home_of_things")
    assert seen == [["one", "two"]] * 3


def test_what_the_import_of_a_home_raises_every_reading_raises(tmp_path, monkeypatch):
    (tmp_path / "broken_home.py").write_text(
        "raise ZeroDivisionError('in the home')", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("thing", home="broken_home")
    for read in (
        len,
        list,
        lambda one: one["plain"],
        lambda one: "plain" in one,
        lambda one: one.families,
    ):
        raises(ZeroDivisionError, "in the home", read, registry)
