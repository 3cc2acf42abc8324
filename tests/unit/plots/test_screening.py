"""Screening's figures and command: what they say in words follows from the table."""

import math

import numpy as np
import pandas as pd

import pillar_core as pc
from pillar_core import plots, screening
from pillar_core.commands.screen import _verdicts
from pillar_core.data import uploads
from pillar_core.studies.screening import answers, benefit
from pillar_core.studies.screening.answers import Ask
from users import output_of, raises, run_command

TABLE = pd.DataFrame(
    {
        "public": ["near", "far"],
        "score": "gsd",
        "value": [0.2, 0.8],
        "low": [0.1, 0.7],
        "high": [0.3, 0.9],
        "rank": [1, 2],
        "n_examples": 100,
        "provenance": "p",
        "epsilon_upper": math.inf,
    }
)


def test_the_ranking_names_its_winner_and_how_sure_it_is():
    clear = plots.ranking(TABLE, random_subspaces=0.99)
    assert clear.layout.title.text == "near lies nearest to the private set"
    assert "without noise" in clear.layout.meta["caption"]
    assert "near 0.20; far 0.80" in clear.layout.meta["alt"]
    unsure = plots.ranking(TABLE.assign(low=[0.1, 0.25], epsilon_upper=1.0))
    assert unsure.layout.title.text == "near and far may tie as nearest to the private set"
    assert "One release at ε ≤ 1 ranks them all" in unsure.layout.meta["caption"]
    single = plots.ranking(TABLE.assign(low=math.nan, high=math.nan))
    assert "seems nearest" in single.layout.title.text
    assert "no interval" in single.layout.meta["caption"]


def test_public_rows_are_drawn_by_nearness_beside_theorys_mark():
    table = benefit.curves("mnist")
    figure = plots.public_rows(table, titles={"mnist": "MNIST", "fashion_mnist": "Fashion"})
    assert {trace.line.dash for trace in figure.data if trace.name.startswith("MNIST")} == {"solid"}
    assert {trace.line.dash for trace in figure.data if trace.name.startswith("Fashion")} == {"dot"}
    marks = sorted(line.x0 for line in figure.layout.shapes)
    assert marks == [375, 1250, 3750]
    assert "MNIST, ε = 1: 50 % with 5 and 79 % with 1,000" in figure.layout.meta["alt"]


def test_what_is_said_of_public_rows_is_in_the_kept_curves():
    assert benefit.curves("never measured")["private"].unique().tolist() == ["fashion_mnist"]
    assert benefit.curves("mnist")["private"].unique().tolist() == ["mnist"]
    for private, classes in (("fashion_mnist", 10), ("mnist", 10), ("pneumonia_mnist", 2)):
        table = benefit.curves(private)
        means = (
            100
            * table.groupby([table["public"] == private, "epsilon", "n_public"])["accuracy"].mean()
        )
        for epsilon in (0.3, 1.0, 3.0):
            near = means[True, epsilon]
            foreign = means[False, epsilon]
            assert near.max() - near[10 * classes] <= 3
            assert near[50] > foreign.max()


def test_neither_the_yardstick_nor_noise_is_named_nearest_and_alike_sets_stand_side_by_side():
    table = TABLE.assign(public=["own_half", "far"])
    figure = plots.ranking(table, yardstick="own_half", titles={"far": "Far"})
    assert figure.layout.title.text.startswith("Far ")
    diamonds = [
        trace
        for trace in figure.data
        if trace.mode == "markers" and trace.marker.symbol == "diamond"
    ]
    assert [list(trace.y) for trace in diamonds] == [["Far"]]
    distance = {"ab": 0.9, "ac": 0.1, "bc": 0.8}
    pairs = [(x, y, distance.get("".join(sorted(x + y)), 0.0)) for x in "abc" for y in "abc"]
    order = list(
        plots.distance_map(pd.DataFrame(pairs, columns=["first", "second", "value"])).data[0].x
    )
    assert abs(order.index("a") - order.index("c")) == 1


def test_the_command_answers_from_the_cache_like_the_page(own_cache, monkeypatch, tmp_path, capsys):
    made = answers.answer(
        Ask("ranking", "digits", ("drawn_digits", "drawn_noise"), k=4, n_examples=60)
    )

    def refuse(*arguments, **settings):
        raise AssertionError("computed again")

    monkeypatch.setattr(
        "pillar_core.commands.screen.screen", refuse
    )  # first: its module takes the other when it is imported
    monkeypatch.setattr(screening, "screen", refuse)
    line = "screen --private digits --public drawn_digits drawn_noise --model linear_head --k 4"
    line += f" --examples 60 --output {tmp_path / 'table.csv'}"
    assert run_command(line) == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv"), made, check_dtype=False)
    assert "not for release" in capsys.readouterr().err
    for more in (
        "--release",
        "--allow-overlap",
        "--epsilon 1 --delta 1e-6",
        "--score gsd missed_energy",
    ):
        raises(AssertionError, "computed again", run_command, f"{line} {more}")


def test_the_command_ranks_by_class_signal_and_releases(own_cache):
    line = "screen --private pneumonia_mnist --public mnist fashion_mnist --score class_signal"
    line += " --epsilon 1 --examples 200"
    said = output_of(line)
    assert "class_signal" in said.out
    assert "one noised release of the private rows' class sums" in said.err
    assert "note: class_signal: fashion_mnist is the best choice" in said.err
    alike = answers.answer(
        Ask("ranking", "digits", ("drawn_digits", "drawn_noise"), k=4, n_examples=60)
    ).assign(low=0.0, high=1.0)
    brought = uploads.keep(pc.features(np.eye(6), np.arange(6) % 2), title="mine.csv")
    assert list(_verdicts(alike.assign(public=["a", brought]))) == [
        "gsd: a is the best choice; mine.csv may tie with it."
    ]
    assert list(_verdicts(alike)) == [
        f"gsd: {alike['public'][0]} is the best choice; {alike['public'][1]} may tie with it."
    ]
    alike.attrs["noise_floor"] = float(alike["value"].iloc[0])
    assert "nothing stands out, noise alone may put" in next(_verdicts(alike))
    assert "came from the operating system" in output_of(f"{line} --release").err
