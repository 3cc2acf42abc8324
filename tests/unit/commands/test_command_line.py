"""The command line says what the functions say, and refuses with the fix."""

import importlib.metadata
import json
import subprocess
import sys

import pandas as pd
import pytest
import torch

import pillar_core as pc
from pillar_core import store
from pillar_core.commands import listing, parser
from pillar_core.commands.options import load_split
from pillar_core.data.npz import npz_of
from pillar_core.errors import DataError
from pillar_core.runs import starter
from pillar_core.runs.versions import VERSION
from unit.image_files import picture, written
from users import output_of, run_command


def test_run_prints_the_record_and_epsilon_and_noise_are_inverse():
    line = "run --dataset digits --public-fraction 0.1 --epsilon 1 --set k=8"
    printed = json.loads(output_of(f"{line} --json").out)
    record = pc.run(
        "pillar", pc.split(pc.load_dataset("digits"), public_fraction=0.1), epsilon=1.0, k=8
    )
    assert printed["accuracy"] == record.accuracy
    assert printed["guarantee"]["epsilon"] == record.guarantee.epsilon.upper
    assert "ε ≤" in output_of(line).out
    noise = output_of("noise 1.5 --steps 20").out.split()[-1]
    assert "upper 1.5" in output_of(f"epsilon {noise} --steps 20").out


DIGITS = "run --dataset digits --public-fraction"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run --dataset digitz", "Did you mean digits"),
        (f"{DIGITS} 0.1", "pass epsilon"),
        (f"{DIGITS} 2 --epsilon 1", "public_fraction must be in"),
        ("run --dataset digits --epsilon 1", "--public-fraction"),
        (f"{DIGITS} 0.1 --epsilon 1 --export m.zip", "known seed"),
        (f"{DIGITS} 0.1 --epsilon 1 --set k=900", "k must be at most"),
        (f"{DIGITS} 0.1 --epsilon 1 --set k", "NAME=VALUE"),
        ("epsilon nan", "noise_multiplier"),
        ("noise 1 --delta 1", "delta"),
        ("sweep /no/such/grid.yaml", "cannot be read"),
        ("predict /no/such/model /no/such/rows.npz", "no file"),
        ("advise --dataset /no/ward.csv --label sick", "no file /no/ward.csv"),
        ("advise --dataset digits --public /no/open.csv", "no file /no/open.csv"),
        ("list scoers", "Did you mean scores"),
        ("list ?!", "Known: methods"),
    ],
)
def test_refusals_exit_with_2_and_name_the_fix(line, says):
    assert says in output_of(line, status=2).err


def test_lists_hold_the_registries():
    printed = output_of("list").out
    for word, registry in listing.WHAT.items():
        assert f"{word}:\n" in printed
        assert all(name in printed for name in registry)
        assert registry.noun in output_of(f"list {next(iter(registry))}").out
    assert "noise_multiplier" in output_of("list pillar").out


def test_doctor_finds_everything_and_every_starter_record_ships_for_the_current_code():
    lines = dict(
        line.split(maxsplit=1) for line in output_of("doctor").out.splitlines() if " " in line
    )
    assert lines["torch"] == importlib.metadata.version("torch")
    assert lines["library"].startswith(f"{VERSION}, source ")
    assert lines["mode"] == "local, for you"
    assert lines["threads"].startswith(f"{torch.get_num_threads()} of torch")
    assert lines["cache"].startswith(f"{store.default().root}: {len(store.default().ls())} entries")
    assert {"python", "device"} <= set(lines)
    assert starter.missing() == []
    assert run_command("starter --check") == 0
    assert len(starter.hero_table(starter.GRIDS)) > 100


def test_a_sweep_takes_several_grids_and_files_as_data_and_counts_before_it_runs(
    tmp_path, own_cache
):
    rows = pc.load_features(pc.load_dataset("breast_cancer"))
    (tmp_path / "ward.npz").write_bytes(npz_of(rows))
    shared = "public_fraction: 0.2\nmethod: pillar\nepsilon: 1.0\n"
    grid = tmp_path / "grids.yaml"
    grid.write_text(
        f"---\ndataset: {tmp_path / 'ward.npz'}\nk: [2, 4]\n{shared}---\ndataset: breast_cancer\nk:"
        f" 3\n{shared}"
    )
    assert "3 runs, 0 of them cached" in output_of(f"sweep {grid} --count").err
    assert run_command(f"sweep {grid} --output {tmp_path / 'table.csv'}") == 0
    assert sorted(pd.read_csv(tmp_path / "table.csv")["k"]) == [2, 3, 4]
    assert "3 runs, 3 of them cached" in output_of(f"sweep {grid} --count").err
    assert "--scheduler" in output_of(f"sweep {grid} --gpu", status=2).err
    grid.write_text("- 1\n")
    assert run_command(f"sweep {grid}") == 2


@pytest.mark.parametrize(("size", "width"), [((72, 72), 1280), ((64, 64), 3 * 64 * 64)])
def test_large_images_of_a_file_pass_the_network_unless_a_backbone_is_named(
    size, width, tmp_path, own_cache
):
    files = {
        f"{side}/{code}/{i}.png": picture(code, i, size=size)
        for side in ("a", "b")
        for code in (1, 2)
        for i in range(5)
    }
    root = written(tmp_path, files)
    for named in ("", "--backbone raw_pixels"):
        line = f"run --dataset {root / 'a'} --public {root / 'b'} --allow-overlap {named}"
        rows = load_split(parser("run").parse_args(line.split()), seed=0)
        assert (
            rows.features.d == rows.public_x.shape[1] == (3 * size[0] * size[1] if named else width)
        )


def test_a_reader_that_closes_the_pipe_ends_the_command_quietly():
    command = [sys.executable, "-m", "pillar_core", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


def test_a_refusal_says_the_matter_and_each_door_its_own_way_on(tmp_path):
    (tmp_path / "ward.csv").write_text("a,b,day\n" + "1,2,2020-01-02\n3,4,2020-01-03\n" * 20)
    said = output_of(f"run --dataset {tmp_path / 'ward.csv'}", status=2).err
    assert "Say which: a, b, day." in said
    assert "\noptions: --label\n" in said
    with pytest.raises(DataError) as refusal:
        pc.load_features(tmp_path / "ward.csv")
    assert "label" not in str(refusal.value).partition("Say which")[2].partition("Rows")[0]
    assert refusal.value.__notes__ == ["Arguments: label=…."]
    table = f"run --dataset {tmp_path / 'ward.csv'} --label b --public"
    (tmp_path / "open.csv").write_text("a,b,day\n" + "1,2,2020-01-02\n3,4,2020-01-03\n" * 20)
    assert (
        "\noptions: --leave-out day" in output_of(f"{table} {tmp_path / 'open.csv'}", status=2).err
    )
