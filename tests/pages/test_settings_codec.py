"""What a link carries, and what a hostile one cannot do."""

import dataclasses
import math
import shlex
from urllib.parse import parse_qsl

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import pillar_core as pc
from pages.frame import exports
from pages.frame import settings as codec
from pages.frame.settings import PARAMS, Settings
from pillar_core import commands
from pillar_core.data import uploads

names = st.sampled_from([*PARAMS, "v", "surprise"])


def test_a_link_holds_the_version_and_what_differs_from_its_table_that_never_changes():
    changed = Settings(k=12, epsilon=math.inf, data="digits")
    assert codec.to_query(changed) == {"v": "2", "data": "digits", "k": "12", "epsilon": "inf"}
    frozen = """fashion_mnist_2k part 0.1 auto pillar 0 0.3 1e-05 0 5 auto add_or_remove_one auto 75 k budgets - - - 0"""
    found, notes = codec.from_query({"v": "2"})
    assert notes == []
    assert [str(getattr(found, name)) or "-" for name in PARAMS] == frozen.split()
    old = "data=digits&public=part&public_fraction=0.2&backbone=auto&method=pillar&k=7&epsilon=1&delta=1e-05&seed=4&seeds=3&accountant=auto"
    old += "&relation=replace_one&target=75&view=odds&compare=budgets&learners=&runs=&screen=&controls=&a=&hide=&lesson=0"
    found, notes = codec.from_query({"v": "2", **dict(parse_qsl(old, keep_blank_values=True))})
    assert notes == []
    assert found == Settings(
        data="digits",
        public_fraction=0.2,
        k=7,
        epsilon=1.0,
        seed=4,
        seeds=3,
        relation="replace_one",
        view="odds",
    )
    found, notes = codec.from_query(
        {
            "runs": "view:plan;x:1",
            "screen": "p:digits;c:mnist,drawn_digits~0.5",
            "learners": "pillar,dp_sgd",
        }
    )
    words = "runs-view:plan;screen-private:digits;screen-public:mnist,drawn_digits0.5;compare-learners:pillar,dp_sgd"
    assert (found, notes) == (Settings(controls=f";{words}"), [])


@given(
    st.builds(
        Settings,
        k=st.integers(0, 2048),
        epsilon=st.sampled_from(codec.EPSILONS),
        delta=st.floats(1e-12, 0.1),
        public_fraction=st.floats(0.01, 0.9),
        seed=st.integers(0, 10**6),
        view=st.sampled_from(codec.choices("view")),
        relation=st.sampled_from(codec.choices("relation")),
        hide=st.sampled_from(["", "backbone", "backbone,delta"]),
    )
)
def test_link_to_settings_to_link(settings):
    found, notes = codec.from_query(codec.to_query(settings))
    assert notes == []
    assert codec.to_query(found) == codec.to_query(settings)


@given(st.dictionaries(names, st.text(max_size=60)))
def test_whatever_a_link_says_gives_allowed_settings(query):
    found, _ = codec.from_query(query)
    for name, param in PARAMS.items():
        value = getattr(found, name)
        assert param.check(value) == value
        assert (
            not codec.choices(name) or value in codec.choices(name) or codec.is_stored(name, value)
        )
    assert codec.from_query(codec.to_query(found)) == (found, [])


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("k", "-5", 0),
        ("k", "1e300", 100_000),
        ("k", "nan", 0),
        ("epsilon", "0", 0.01),
        ("epsilon", "nan", Settings().epsilon),
        ("epsilon", "-inf", 0.01),
        ("epsilon", "'; drop table", Settings().epsilon),
        ("delta", "1", 0.1),
        ("delta", "0", 1e-12),
        ("seed", "-1", 0),
        ("relation", "<script>alert(1)</script>", "add_or_remove_one"),
        ("data", "../../etc/passwd", Settings().data),
        ("data", "digit", "digits"),
        ("a", "foo~bar", ""),
        ("public", "cifar10_2", "cifar10_1"),
    ],
)
def test_hostile_values_are_moved_and_told(name, text, value):
    found, notes = codec.from_query({name: text})
    assert getattr(found, name) == value
    assert len(notes) == 1
    if codec.choices(name):  # quoted letter by letter: the page draws notes as text
        assert f"“{text}”" in notes[0]


def test_infinity_is_a_budget_and_other_versions_and_names_are_told():
    assert codec.from_query({"epsilon": "inf"}) == (Settings(epsilon=math.inf), [])
    found, notes = codec.from_query({"v": "9", "colour": "red", "k": "12"})
    assert found == Settings(k=12)
    assert len(notes) == 2
    settings = Settings(
        k=33, epsilon=math.inf, delta=3e-7, data="digits", a=codec.pin(Settings(k=2))
    )
    found, notes = codec.from_query(
        dict(parse_qsl(yaml.safe_load(exports.settings_yaml(settings))["link"].removeprefix("?")))
    )
    assert (found, notes) == (settings, [])


def test_three_pins_share_one_parameter_and_each_is_checked():
    settings = Settings(k=40, epsilon=0.3, data="digits", view="plane")
    a = codec.unpin(codec.pin(settings))
    assert a == dataclasses.replace(settings, view="k")
    assert codec.unpin("") is None
    assert codec.unpin(codec.pin(settings) + "~1") is None
    assert codec.unpin(codec.pin(settings).replace("digits", "no_such_set")) is None
    settings = Settings()
    for letter, k in zip("AC", (3, 9), strict=True):
        settings = dataclasses.replace(settings, a=codec.with_pin(settings, letter, Settings(k=k)))
    assert {letter: pinned.k for letter, pinned in codec.pins(settings).items()} == {"A": 3, "C": 9}
    found, notes = codec.from_query(codec.to_query(settings))
    assert (found, notes) == (settings, [])
    assert codec.with_pin(settings, "C", None) == codec.pin(Settings(k=3))
    bad, notes = codec.from_query({"a": settings.a + "~no", "v": "2"})
    assert (bad.a, len(notes)) == ("", 1)


def test_the_command_line_is_understood_and_names_every_setting_of_the_run():
    words = shlex.split(
        exports.command_line(
            Settings(k=12, epsilon=math.inf, public="digits", backbone="raw_pixels", seed=7)
        )
    )
    options = commands.parser().parse_args(words[3:])
    assert (options.method, options.dataset, options.backbone, options.public) == (
        "pillar",
        Settings().data,
        "raw_pixels",
        "digits",
    )
    assert (options.epsilon, options.delta, options.seed, options.set) == (
        math.inf,
        1e-5,
        7,
        ["k=12"],
    )
    assert options.public_fraction is None
    plain = commands.parser().parse_args(shlex.split(exports.command_line(Settings()))[3:])
    assert (plain.public_fraction, plain.set, plain.backbone) == (0.1, [], None)
    bare = commands.parser().parse_args(
        shlex.split(exports.command_line(Settings(method="non_private", k=12)))[3:]
    )
    assert (bare.epsilon, bare.set) == (None, [])  # as the page runs it


def test_the_command_of_rows_that_were_brought_names_the_files_that_are_saved(own_cache):
    """It named them by the key of this cache, which no other machine has."""
    rows = np.random.default_rng(0).standard_normal((40, 3))
    private = uploads.keep(pc.features(rows, np.arange(40) % 2), title="my ward.csv")
    public = uploads.keep(pc.features(rows + 1, np.arange(40) % 2), title="../open set (2).parquet")
    options = commands.parser().parse_args(
        shlex.split(exports.command_line(Settings(data=private, public=public)))[3:]
    )
    assert (options.dataset, options.public) == ("my_ward.npz", "open_set_2_.npz")
