"""Screening: distances that must be 0, orders that must hold, what is refused, what ε buys and
where it is charged."""

import dataclasses
import functools
import itertools
import json
import math
import sys
import types

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import pillar_core as pc
from pillar_core import screening
from pillar_core.data import load_candidate
from pillar_core.errors import DataError, SettingError, UnknownNameError, UnsupportedError
from pillar_core.memo import Memo
from pillar_core.rng import stream
from pillar_core.screening import inspection, pretrained
from pillar_core.screening.batches import Start
from pillar_core.screening.release import clip_rows, public_clip, release_moment, residual_of_moment
from pillar_core.screening.rivals import costs, transport_cost
from pillar_core.studies.screening import benefit as experiments
from pillar_core.studies.screening.answers import images_of
from pillar_core.studies.screening.benefit import reconstruction_errors
from pillar_core.subspace import top_directions
from users import is_noted, raises, refuses

FAST = {"model": "linear_head", "n_examples": 120}


def halves(name="digits", n=600):
    whole = pc.load_dataset(name) if name == "digits" else pc.load_dataset(name, n=n)
    assert whole.y_train is not None
    rows = [slice(0, None, 2), slice(1, None, 2)]
    return tuple(
        dataclasses.replace(whole, x_train=whole.x_train[part], y_train=whole.y_train[part])
        for part in rows
    )  # type: ignore[return-value]


@pytest.fixture(scope="module")
def sets():
    private, own = halves()
    return private, {
        "noise": pc.load_dataset("drawn_noise", n=400),
        "textures": pc.load_dataset("drawn_textures", n=400),
        "own half": own,
    }


@pytest.mark.parametrize("model", ["linear_head", "probe", "small_cnn"])
def test_a_set_and_itself_are_at_distance_zero(model):
    digits = pc.load_dataset("digits")
    assert pc.gsd(digits, digits, model=model, n_examples=24, k=4) == 0.0


def test_the_distance_is_symmetric_and_normalised(sets):
    private, public = sets
    value = pc.gsd(private, public["textures"], **FAST)
    assert pc.gsd(public["textures"], private, **FAST) == pytest.approx(value, abs=1e-9)
    assert pc.gsd(private, public["textures"], normalised=False, **FAST) == pytest.approx(
        4 * value, rel=1e-12
    )
    assert 0 < value < 1


def test_a_longer_list_makes_no_directions_again(monkeypatch, sets):
    private, public = sets
    gsd, made = sys.modules["pillar_core.screening.gsd"], []
    monkeypatch.setattr(gsd, "_DIRECTIONS", Memo(slots=12))
    monkeypatch.setattr(
        gsd.subspace,
        "top_directions",
        lambda rows, k, **more: made.append(len(rows)) or top_directions(rows, k, **more),
    )
    options = {"repeats": 1, "k": 4, **FAST}
    short = pc.screen(private, {"noise": public["noise"]}, **options)
    assert len(made) == 2
    copied = {
        "noise": dataclasses.replace(public["noise"], x_train=public["noise"].x_train.copy()),
        "textures": public["textures"],
    }
    longer = pc.screen(private, copied, **options).set_index("public")
    assert len(made) == 3
    assert longer.loc["noise", "value"] == short["value"].iloc[0]
    pc.screen(private, public, **(options | {"seed": 1}))
    assert len(made) == 7, "another seed draws other rows, labels and network"


def test_own_half_is_first_and_noise_is_last(sets):
    private, public = sets
    table = pc.screen(private, public, scores=("gsd", "missed_energy"), **FAST)
    assert list(table.columns) == [
        "public",
        "score",
        "value",
        "low",
        "high",
        "rank",
        "n_examples",
        "provenance",
        "epsilon_upper",
    ]
    for _, part in table.groupby("score"):
        assert part["public"].iloc[0] == "own half"
        assert part["rank"].tolist() == [1, 2, 3]
    assert table["epsilon_upper"].eq(math.inf).all()
    assert (table["low"] <= table["value"]).all()
    assert (table["high"] >= table["value"]).all()
    assert (table["high"] <= 1).all()
    assert 0.9 < table.attrs["random_subspaces"] < 1


def test_one_release_ranks_any_number_of_candidates_at_one_price(sets):
    private, public = sets
    options = {
        "scores": ("gsd", "missed_energy"),
        "model": "linear_head",
        "n_examples": 500,
        "repeats": 2,
        "epsilon": 2.0,
        "k": 4,
    }
    table = pc.screen(private, public, **options)
    twice = pc.screen(private, public | {"more": pc.load_dataset("drawn_shapes", n=400)}, **options)
    assert table["epsilon_upper"].eq(twice["epsilon_upper"].iloc[0]).all()
    # Calibration leaves at most a percent of ε unused.
    assert 1.98 <= table["epsilon_upper"].iloc[0] <= 2.0
    assert table[table["score"] == "missed_energy"]["public"].iloc[0] == "own half"
    assert set(table["provenance"]) == {"DP: spends ε"}


def test_pure_form_stays_within_its_budget(sets):
    private, public = sets
    pure = functools.partial(
        pc.screen,
        private,
        public,
        scores=("gsd_pure",),
        model="linear_head",
        n_examples=200,
        repeats=1,
        epsilon=1.0,
    )
    table = pure(k=2)
    assert table["epsilon_upper"].iloc[0] == pytest.approx(1.0)  # at a δ it would be less
    assert table.attrs["guarantee"].startswith("ε ≤ 1 with")
    assert table["low"].isna().all()
    assert "δ = 0" in table.attrs["guarantee"]
    assert not is_noted(table.attrs["notes"], "gsd_pure")
    assert is_noted(pure(k=4).attrs["notes"], "close to random")
    raises(SettingError, r"below 8.*or gsd", pure, k=16)


def test_two_forms_share_the_budget_and_the_guarantee_is_said_in_words(sets):
    private, public = sets
    table = pc.screen(
        private, public, scores=("gsd", "gsd_pure"), epsilon=2.0, k=2, repeats=1, **FAST
    )
    assert table["epsilon_upper"].max() <= 2.0 + 1e-9
    assert set(table["score"]) == {"gsd", "gsd_pure"}
    table = pc.screen(
        private, public, epsilon=1.0, k=2, repeats=1, model="linear_head", n_examples=100
    )
    words = table.attrs["guarantee"]
    assert "one row added or removed" in words
    assert "one row replaced" in words
    assert f"probability {100 / len(private.x_train):.3g}" in words
    assert "not for release" in words
    secret = pc.screen(private, public, epsilon=1.0, k=2, repeats=1, seed=None, **FAST)
    assert "not for release" not in secret.attrs["guarantee"]
    assert "nobody reads the low bits" in secret.attrs["guarantee"]
    assert "low bits" not in words


def test_a_private_ranking_reads_private_rows_only_through_the_release(monkeypatch, sets):
    """With the release replaced by a constant, other private rows must give the same table."""
    private, public = sets
    fixed = np.eye(64)

    def planted(rows, *, k, **rest):
        real = release_moment(np.zeros_like(rows), k=k, **rest)
        return dataclasses.replace(real, moment=fixed, basis=fixed[:, :k])

    monkeypatch.setattr("pillar_core.screening.release.release_moment", planted)
    options = {"scores": ("gsd", "missed_energy"), "epsilon": 1.0, "repeats": 1, "k": 4, **FAST}
    hostile = dataclasses.replace(private, x_train=255 - private.x_train[::-1])
    pd.testing.assert_frame_equal(
        pc.screen(private, public, **options), pc.screen(hostile, public, **options)
    )


def test_rows_are_clipped_and_a_moments_residual_is_what_the_basis_misses():
    long = clip_rows(np.array([[3.0, 4.0], [0.3, 0.4], [math.nan, 1.0]]), 1.0)
    np.testing.assert_allclose(np.linalg.norm(long, axis=1), [1.0, 0.5, 0.0])
    assert public_clip([np.ones((5, 4)), 3 * np.ones((5, 4))]) == pytest.approx(4.0)
    assert residual_of_moment(np.diag([3.0, 1.0]), np.eye(2)[:, :1]) == pytest.approx(0.25)


def test_refusals(sets):
    private, public = sets
    same = dataclasses.replace(private, x_train=private.x_train.copy())
    assert len(pc.screen(private, {"leak": same}, epsilon=1.0, repeats=1, **FAST)), (
        "beside ε nothing is compared without noise"
    )
    own = pc.screen(private, {"leak": private}, allow_overlap=True, repeats=1, **FAST)
    assert own["value"].iloc[0] == 0.0
    flat = dataclasses.replace(
        private, x_train=np.full((50, 8, 8), 7, dtype=np.uint8), y_train=None
    )
    bare = dataclasses.replace(public["own half"], y_train=None)
    for candidates, asked, error, said in (
        ({"leak": private}, {}, DataError, r"bit by bit, private rows.*allow the overlap"),
        (public, {"k": 200}, DataError, "fewer than k = 200"),
        ({"flat": flat}, {"repeats": 1}, DataError, r"public set 'flat'.*span only"),
        (public, {"scores": ("otdd",), "epsilon": 1.0}, UnsupportedError, "no private form"),
        (public, {"scores": ("gsd_pure",)}, SettingError, "needs epsilon"),
        *(
            (public, {"epsilon": epsilon}, SettingError, "epsilon must be above 0")
            for epsilon in (0.0, -1.0, math.nan, math.inf)
        ),
        ({"bare": bare}, {"scores": ("otdd",), "repeats": 1}, DataError, "no labels"),
    ):
        raises(error, said, pc.screen, private, candidates, **asked, **FAST)
    numbers = pc.load_dataset("breast_cancer")
    for rows, asked, error, said in (
        (numbers, {}, DataError, "takes images"),
        (numbers, {"model": "linear_head"}, DataError, "same columns"),
        (private, {"model": "prob"}, UnknownNameError, "probe"),
        (private, {"model": "timm:mobilenetv2_100"}, SettingError, "weights"),
        *((private, {"k": bad}, SettingError, "k must be") for bad in (0, math.nan, 1.5)),
    ):
        raises(error, said, pc.gsd, rows, private, **asked)


def test_sizes_and_colours_are_made_equal_and_said(sets):
    private, public = sets
    colour = dataclasses.replace(
        public["textures"], x_train=np.repeat(public["textures"].x_train[..., None], 3, axis=3)
    )
    table = pc.screen(
        private,
        {"colour": colour, "grey": public["textures"]},
        model="small_cnn",
        n_examples=32,
        repeats=1,
        k=4,
    )
    assert table["value"].iloc[0] == pytest.approx(table["value"].iloc[1], abs=1e-3)
    assert is_noted(table.attrs["notes"], "resized to 28")
    assert is_noted(table.attrs["notes"], "three equal channels")


def test_a_broken_file_in_a_folder_is_named_skipped_and_counted(tmp_path):
    for number in range(6):
        Image.fromarray(stream(number, "png").integers(256, size=(12, 12)).astype(np.uint8)).save(
            tmp_path / f"{number}.png"
        )
    (tmp_path / "broken.png").write_bytes(b"no image")
    found = load_candidate(tmp_path)
    assert found.x_train.shape == (6, 12, 12)
    assert found.y_train is None
    assert is_noted(found.notes, "1 files", "broken.png")
    with pytest.raises(DataError):
        load_candidate(tmp_path / "nothing.zip")


def test_drawn_sets_shifts_and_mixtures_by_name():
    plain, shifted = (
        experiments.candidate(name, n=100) for name in ("drawn_digits", "drawn_digits~0.8")
    )
    assert plain.x_train.shape == shifted.x_train.shape
    assert plain.fingerprint != shifted.fingerprint
    mixed = images_of("drawn_digits+drawn_noise", n=100)
    assert mixed.x_train.shape[1:] == (32, 32, 3)
    raises(UnknownNameError, "drawn_digits", experiments.candidate, "drawn_digit")


def test_task2vec_and_transport_agree_with_published_code_and_a_linear_program(shared):
    case = json.loads((shared / "oracles" / "task2vec.json").read_text())
    vectors = [np.array(values, dtype=float) for values in case["hessians"]]
    for i, first in enumerate(vectors):
        for j, second in enumerate(vectors):
            assert screening.task2vec_distance(first, second) == pytest.approx(
                case["distances"]["cosine"][i][j], abs=1e-9
            )
    for case in json.loads((shared / "oracles" / "otdd.json").read_text()):
        value = screening.otdd(*(np.array(case[name]) for name in ("XA", "YA", "XB", "YB")))
        # The oracle's rows are written with four decimals.
        assert value == pytest.approx(case["exact_LP_ddof1"]["otdd_sq_half_cost"], rel=1e-3)


def test_transport_of_many_rows_is_exact(monkeypatch):
    generator = stream(0, "transport")
    x, other = generator.standard_normal(300), 1.5 * generator.standard_normal(300) + 1
    cost = np.square(x[:, None] - other) / 2
    assert transport_cost(cost) == pytest.approx(
        np.square(np.sort(x) - np.sort(other)).mean() / 2, rel=1e-9
    )  # on a line: in order
    same = costs(x[:, None], np.zeros(300, dtype=int), x[:, None], np.zeros(300, dtype=int))
    assert transport_cost(same) == pytest.approx(0, abs=1e-9)
    monkeypatch.setattr(sys.modules["pillar_core.screening.rivals"], "STEPS", 10)
    with (
        pytest.raises(DataError, match="was not found"),
        pytest.warns(UserWarning, match="numItermax"),
    ):
        transport_cost(cost)


def test_bures_wasserstein_in_closed_form():
    generator = stream(0, "rows")
    rows = generator.standard_normal((50, 3))
    # A shift by v and a scale by 2 of the same centred rows: ‖v‖² + tr S·(2 − 1)².
    expected = 14.0 + np.trace(np.cov(rows.T))
    moved = 2 * (rows - rows.mean(0)) + rows.mean(0) + np.array([1.0, 2.0, 3.0])
    assert screening.bures_wasserstein(rows, moved) == pytest.approx(expected, rel=1e-9)
    assert screening.bures_wasserstein(rows, rows) == pytest.approx(0, abs=1e-9)


def test_agreement_is_spearman_with_its_permutation_p_value():
    names = list("abcde")
    ranking = pd.DataFrame({"public": names, "score": "gsd", "value": [0.1, 0.2, 0.3, 0.4, 0.5]})
    accuracy = pd.DataFrame({"public": names, "seed": 0, "accuracy": [0.9, 0.8, 0.7, 0.6, 0.5]})
    best = experiments.agreement(ranking, accuracy).iloc[0]
    assert (best["spearman"], best["p_value"], best["sets"]) == (
        pytest.approx(1.0),
        pytest.approx(1 / 120),
        5,
    )
    worst = experiments.agreement(
        ranking.assign(value=ranking["value"].to_numpy()[::-1]), accuracy
    ).iloc[0]
    assert (worst["spearman"], worst["p_value"]) == (pytest.approx(-1.0), 1.0)
    refuses("at least three", experiments.agreement, ranking[:2], accuracy)


def test_inspection_tables_hold_what_they_promise(sets):
    private, public = sets
    few = {"model": "linear_head", "n_examples": 60}
    found = screening.angles(private, public, k=4, **few)
    assert (
        found.groupby("public")["degrees"]
        .apply(lambda values: values.is_monotonic_increasing)
        .all()
    )
    spectrum = screening.spectra(private, public, **few)
    assert spectrum["value"].between(0, 1).all()
    pairs = screening.pairwise({"private": private, **public}, k=4, **few).pivot(
        index="first", columns="second", values="value"
    )
    np.testing.assert_allclose(pairs, pairs.T)
    assert (np.diag(pairs) == 0).all()
    bound = screening.reconstruction(private, public, k=4, **few)
    assert (bound["error"] <= bound["bound"] + 1e-6).all()
    assert (bound["error"] > 0).all()


def test_the_order_over_training_starts_at_the_plain_distance_and_leaves_the_model_as_it_was(sets):
    private, public = sets
    table = screening.over_training(
        private,
        public,
        model="linear_head",
        n_examples=60,
        k=4,
        steps=120,
        looks=3,
        learning_rate=0.5,
    )
    assert sorted(table["step"].unique()) == [0, 60, 120]
    first = table[(table["step"] == 0) & (table["public"] == "textures")]["value"].iloc[0]
    assert first == pytest.approx(
        pc.gsd(private, public["textures"], model="linear_head", n_examples=60, k=4), abs=1e-6
    )
    accuracy = table.groupby("step")["accuracy"].first()
    assert accuracy[120] > accuracy[0] + 0.2
    assert table["value"].between(0, 1).all()
    with pytest.raises(DataError, match="no labels"):
        screening.over_training(
            dataclasses.replace(private, y_train=None), public, model="linear_head"
        )
    few = {"model": "small_cnn", "n_examples": 24, "k": 2}
    before = pc.gsd(private, public["noise"], **few)
    screening.over_training(private, {"noise": public["noise"]}, steps=3, looks=2, **few)
    assert pc.gsd(private, public["noise"], **few) == before
    table = pd.DataFrame(
        {"public": list("abc") * 2, "step": [0] * 3 + [1] * 3, "value": [1, 2, 3, 1, 3, 2]}
    )
    assert screening.order_kept(table) == pytest.approx(2 / 3)


def test_descent_steps_along_the_gradient_and_leaves_what_has_no_part_in_the_loss():
    module = torch.nn.Linear(4, 10)
    rows = torch.randn(3, 4).numpy()
    labels = torch.tensor([1, 2, 3])
    module.register_parameter("idle", torch.nn.Parameter(torch.ones(2)))
    network = types.SimpleNamespace(module=module, names=None, read=torch.from_numpy)
    loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(rows)), labels)
    wanted = module.weight.detach() - 0.5 * torch.autograd.grad(loss, module.weight)[0]
    assert list(itertools.islice(inspection._descend(network, rows, labels, 0.5, 0), 2)) == [0, 1]
    torch.testing.assert_close(module.weight.detach(), wanted)
    assert module.idle.equal(torch.ones(2))


def test_public_directions_hold_more_of_the_private_gradient_than_random_ones(sets):
    private, public = sets
    with_test = dataclasses.replace(
        private, x_test=private.x_train[:50], y_test=private.y_train[:50]
    )
    table = reconstruction_errors(with_test, {"own half": public["own half"]}, k=12)
    means = table.groupby("public")["error"].mean()
    assert table["error"].between(0, 1).all()
    assert means["own half"] < means["random directions"] - 0.1
    # A random k-dimensional subspace of R^256 leaves √(1 − k/256) in root mean square.
    assert means["random directions"] == pytest.approx(math.sqrt(1 - 12 / 256), abs=0.03)
    with pytest.raises(DataError, match="no labels"):
        reconstruction_errors(
            with_test, {"bare": dataclasses.replace(public["own half"], y_train=None)}, k=4
        )


@pytest.mark.parametrize("method", ["gep", "pda_dpmd"])
def test_accuracy_is_measured_with_each_set(sets, method):
    private, public = sets
    with_test = dataclasses.replace(
        private, x_test=private.x_train[:100], y_test=private.y_train[:100]
    )
    table = experiments.measure_accuracies(
        with_test,
        {name: public[name] for name in ("own half", "noise")},
        method=method,
        epsilon=8.0,
        seeds=(0,),
        steps=10,
        **({"anchors": 200} if method == "gep" else {}),
    )
    assert table["public"].tolist() == ["own half", "noise"]
    # Ten classes: well above chance with the set's own other half.
    assert table["accuracy"].iloc[0] > 0.5
    if method == "pda_dpmd":
        bare = {"bare": dataclasses.replace(public["noise"], y_train=None)}
        with pytest.raises(DataError, match="no labels"):
            experiments.measure_accuracies(with_test, bare, method=method, epsilon=8.0, seeds=(0,))


@pytest.mark.parametrize(("rare", "measure"), [(40, "accuracy"), (10, "auc")])
def test_candidates_are_compared_by_auc_where_classes_are_unequal(sets, rare, measure):
    private, _ = sets
    labels = np.repeat([0, 1], [50, rare])
    uneven = dataclasses.replace(private, x_test=private.x_train[: 50 + rare], y_test=labels)
    assert experiments.measure_of(uneven) == measure


def test_chosen_layers_and_low_rank_additions_of_deep_networks(sets):
    pytest.importorskip("timm")
    private, public = sets
    small = {"n_examples": 6, "k": 2}
    layers = "timm:resnet18?weights=random&size=32&layers=layer2.1.conv1,layer2.1.bn1.weight"
    assert pc.gsd(private, private, model=layers, **small) == 0.0
    assert 0 < pc.gsd(private, public["noise"], model=layers, **small) < 1
    module, names = pretrained.with_head(pretrained.parse_trunk(layers), Start())
    assert names == ["0.layer2.1.conv1.weight", "0.layer2.1.bn1.weight", "1.weight", "1.bias"]
    pytest.importorskip("peft")
    lora = "timm:vit_tiny_patch16_224?weights=random&size=32&lora=8"
    assert pc.gsd(private, private, model=lora, **small) == 0.0
    module, names = pretrained.with_head(pretrained.parse_trunk(lora), Start())
    # Twelve blocks: A (8, 192) and B (576, 8) on queries, keys and values; a head of ten classes.
    assert (
        sum(value.numel() for name, value in module.named_parameters() if name in names)
        == 12 * 8 * (192 + 576) + 193 * 10
    )
    plain = pretrained.parse_trunk(lora.replace("&lora=8", ""))
    images = torch.from_numpy(stream(0, "images").uniform(-1, 1, (2, 3, 32, 32))).float()
    # B starts at 0: the network with additions computes what it did without them.
    torch.testing.assert_close(
        module[0](images), pretrained.with_head(plain, Start())[0][0](images)
    )


def test_a_wide_model_says_how_many_passes_it_took(sets):
    private, public = sets
    table = pc.screen(
        private, {"noise": public["noise"]}, model="resnet20", n_examples=8, repeats=1, k=2
    )
    assert table.attrs["width"] == 269_722
    assert is_noted(table.attrs["notes"], "two passes")
    exact = pc.screen(private, {"noise": public["noise"]}, repeats=1, k=2, **FAST)
    assert not is_noted(exact.attrs["notes"], "passes")


def test_refused_deep_models():
    digits = pc.load_dataset("digits")
    for name, words in (
        ("timm:resnet18?weights=random&layers=layer9", "has no layer layer9"),
        ("timm:resnet18?weights=random&lora=8", "vision transformers"),
        ("timm:resnet18?weights=random&lora=8&layers=layer4", "not both"),
        ("timm:resnet18?weights=random&size=big", "size must be a whole number"),
        ("timm:resnet18?weights=random&checkpoint_path=x", "is no argument of a model"),
        ("timm:resnet18?weights=random&depth=x", "timm cannot build resnet18"),
        ("timm:resnet18?weights=random&weights", "written NAME=VALUE"),
        ("timm:resnet18?weights=/none", "weights=FILE"),
    ):
        raises(SettingError, words, pc.gsd, digits, digits, model=name, n_examples=4, k=2)


def test_a_real_pretrained_network(shared, sets):
    pytest.importorskip("timm")
    private, public = sets
    weights = shared / "data" / "weights" / "mobilenetv2_100_imagenet.safetensors"
    base = f"timm:mobilenetv2_100?weights={weights}&pad_type=same"
    few = {"n_examples": 12, "k": 4}
    for model in (base, f"{base}&layers=blocks.6.0.conv_pwl"):
        near, far = (
            pc.gsd(private, public[name], model=model, **few) for name in ("own half", "noise")
        )
        assert near < far
    some = {name: public[name] for name in ("noise", "own half")}
    table = pc.screen(private, some, scores=("otdd",), model=base, n_examples=40, k=4, repeats=1)
    # Transport between features of the pre-trained network, not between pixels.
    assert table[table["score"] == "otdd"]["public"].tolist() == ["own half", "noise"]
    pixels = pc.screen(
        private, some, scores=("otdd",), model="linear_head", n_examples=40, k=4, repeats=1
    )
    assert table["value"].iloc[0] != pytest.approx(pixels["value"].iloc[0], rel=0.05)
