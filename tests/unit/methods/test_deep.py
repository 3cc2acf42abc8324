"""Deep learners: per-example gradients against automatic differentiation row by row, public phases,
choices, refusals."""

import pickle
import warnings

import deep_rows
import numpy as np
import pytest
import torch
from torch import nn

import pillar_core as pc
from contract import checks
from contract.cases import case_for, few_rows_case, image_split
from pillar_core import errors, rng
from pillar_core.data.images.decoding import resize
from pillar_core.engine.exact import SUM_UNITS
from pillar_core.ledger import Ledger
from pillar_core.methods import METHODS
from pillar_core.methods.parts.deep import classifier, gradients, layers, networks, pixels, train
from pillar_core.methods.parts.deep.layers import FixedNorm, WideResNet
from pillar_core.rng import Streams
from pillar_core.types import Dataset
from users import is_noted, raises, refuses

DEEP = ("second_phase", "private_fine_tuning", "from_scratch")


def small_wide(n_classes=3):
    """WRN-16-4's layers in a tenth of its width."""
    return networks.draw_start(WideResNet(1, n_classes, widths=(16, 32), depth=1), 0)


def with_batch_norm(n_classes=3):
    """A network with batch normalisation that has seen data, frozen, and something done in
    place."""
    generator = rng.stream(0, "batch norm")
    norm = nn.BatchNorm2d(8)
    norm.running_mean.copy_(torch.from_numpy(generator.standard_normal(8)))
    norm.running_var.copy_(torch.from_numpy(generator.uniform(0.5, 2.0, 8)))
    norm.weight.data.copy_(torch.from_numpy(generator.uniform(0.5, 2.0, 8)))
    layers = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        norm,
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, n_classes),
    )
    return layers.eval()


NETWORKS = {
    "small_cnn": lambda: networks.draw_start(networks.small_cnn(1, 3), 0),
    "wide": small_wide,
    "fixed norms": lambda: networks.with_fixed_norms(with_batch_norm()),
}


def small_cnn():
    return networks.build("small_cnn", channels=1, n_classes=3, seed=0)


def rng_torch():
    return torch.Generator().manual_seed(0)


def small_images(n=4):
    """Grey images and their labels."""
    return torch.rand(n, 1, 8, 8, generator=rng_torch()), torch.arange(n) % 3


def summed(wrapped, images, labels, *, copies=1, clip=0.3):
    """The clipped sum of the gradients of a wrapped network's examples."""
    rows = gradients.of_rows(
        wrapped, train.trainable_parameters(wrapped), images, labels, copies=copies
    )
    return gradients.clipped_sum(rows, gradients.factors_of(rows, clip))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("clip", [0.3, 100.0])
def test_the_clipped_sum_is_that_of_rows_differentiated_one_by_one(name, clip):
    module = NETWORKS[name]()
    generator = rng.stream(0, "deep test")
    for parameter in module.parameters():
        parameter.data += (
            0.05 * torch.from_numpy(generator.standard_normal(tuple(parameter.shape))).float()
        )
    parameters, n, copies = train.trainable_parameters(module), 5, 2
    images = torch.from_numpy(generator.uniform(-1, 1, (n * copies, 1, 8, 8))).float()
    labels = torch.from_numpy(generator.integers(0, 3, n))
    with gradients.per_row(module) as wrapped:
        total = summed(wrapped, images, labels, copies=copies, clip=clip)
    expected = torch.zeros_like(total)
    for row in range(n):
        logits = module(images[row * copies : (row + 1) * copies])
        loss = nn.functional.cross_entropy(logits, labels[row].repeat(copies))
        flat = torch.cat(
            [part.flatten() for part in torch.autograd.grad(loss, parameters)]
        ).double()
        expected += flat * min(1.0, clip / float(flat.norm()))
    torch.testing.assert_close(total, expected, rtol=0, atol=1e-4 * float(expected.abs().max()))
    assert all(
        parameter.grad is None and getattr(parameter, "grad_sample", None) is None
        for parameter in parameters
    )


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_call_without_memory_leaves_nothing_for_the_next(where):
    module = NETWORKS["small_cnn"]()
    images, labels = small_images()

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with gradients.per_row(module) as wrapped:
        whole = summed(wrapped, images, labels)
        hooked = (
            module.second.register_forward_hook(full)
            if where == "forward"
            else module.second.register_full_backward_hook(full)
        )
        with pytest.raises(torch.OutOfMemoryError):
            summed(wrapped, images, labels)
        hooked.remove()
        parts = summed(wrapped, images[:2], labels[:2]) + summed(wrapped, images[2:], labels[2:])
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-6)


class AcrossRows(nn.Module):
    """What must not be trained: maps less their mean over the batch, or a state that follows the
    rows."""

    def __init__(self, *, mixes, keeps):
        super().__init__()
        self.mixes, self.keeps = mixes, keeps
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        if self.keeps:
            self.seen += x.square().mean()
        return x - x.mean(dim=0, keepdim=True) * 0.1 if self.mixes else x


@pytest.mark.parametrize(("mixes", "keeps"), [(True, False), (False, True), (False, False)])
def test_networks_that_look_across_rows_or_keep_them_are_told_apart(mixes, keeps):
    image = torch.randn(1, 3, 8, 8, generator=rng_torch())
    module = nn.Sequential(nn.Conv2d(3, 4, 3), AcrossRows(mixes=mixes, keeps=keeps), nn.Flatten())
    assert networks.keeps_rows_apart(module, image) is not (mixes or keeps)


def test_statistics_of_a_batch_are_refused_by_name_of_their_option(tmp_path):
    timm = pytest.importorskip("timm", reason="networks named timm:… need timm: pip install timm")
    from safetensors.torch import save_file

    for option, is_refused in ((None, False), ("evonormb0", True)):
        more = {} if option is None else {"norm_layer": option}
        weights = tmp_path / f"{option}.safetensors"
        save_file(
            dict(timm.create_model("test_efficientnet", num_classes=0, **more).state_dict()),
            weights,
        )
        name = f"timm:test_efficientnet?weights={weights}&size=32" + (
            f"&norm_layer={option}" if option else ""
        )
        if is_refused:
            with pytest.raises(errors.SettingError, match="across the rows"):
                networks.build(name, channels=3, n_classes=3, seed=0)
        else:
            networks.build(name, channels=3, n_classes=3, seed=0)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ("&size=big", errors.SettingError, "size must be a whole number"),
        ("&no_such=3", errors.SettingError, "timm cannot build"),
        ("&mean=0.5", errors.SettingError, "timm cannot build"),
        ("&checkpoint_path=other.pth", errors.SettingError, "no argument of a model"),
    ],
)
def test_a_network_of_timm_takes_options_as_a_backbone_does(options, error, said, tmp_path):
    """Else they ended in errors of Python, and a file of any kind was read."""
    timm = pytest.importorskip("timm")
    from safetensors.torch import save_file

    weights = tmp_path / "a+b c.safetensors"
    save_file(dict(timm.create_model("test_resnet", num_classes=0).state_dict()), weights)
    name = f"timm:test_resnet?weights={weights}"
    asked = {"channels": 3, "n_classes": 3, "seed": 0}
    raises(error, said, networks.build, name + options, **asked)
    raises(
        errors.UnknownNameError,
        "no model of timm",
        networks.build,
        name.replace("resnet", "no_net"),
        **asked,
    )
    built = networks.build(f"{name}&global_pool=max&size=32", **asked)
    assert (built.side, networks.portable(f"{name}&size=32")) == (
        32,
        "timm:test_resnet?weights=a%2Bb%20c.safetensors&size=32",
    )


def test_what_a_network_does_not_have_or_lacks_is_refused(tmp_path):
    with pytest.raises(errors.SettingError, match="private_fine_tuning"):
        pc.run(
            "from_scratch",
            image_split(),
            epsilon=1.0,
            network="timm:resnet18?weights=here.safetensors",
        )

    for trainable, parts, said in (
        ("layers", "conv9", "layers names conv9"),
        ("layers", "", "needs the names of parts"),
        ("lora", "norm", "finds no linear layer"),
    ):
        built = small_cnn()
        with pytest.raises(errors.SettingError, match=said):
            classifier.choose(built, trainable=trainable, layers=parts, lora_rank=2, seed=0)
    with pytest.raises(errors.UnknownNameError, match="small_cnn, wrn_16_4 or timm"):
        networks.build("resnet", channels=3, n_classes=2, seed=0)
    with pytest.raises(errors.SettingError, match="needs its weights as a local file"):
        networks.build("timm:resnet10t", channels=3, n_classes=2, seed=0)


def test_a_row_that_is_not_finite_adds_nothing_and_whole_numbers_stand_for_the_others():
    module = NETWORKS["small_cnn"]()
    images, labels = small_images(3)
    with gradients.per_row(module) as wrapped:
        parts = [summed(wrapped, images[[row]], labels[[row]]) for row in (0, 2)]
        images[1] = torch.nan
        whole = summed(wrapped, images, labels)
    torch.testing.assert_close(whole, sum(parts), rtol=1e-4, atol=1e-6)
    module = NETWORKS["small_cnn"]()
    images, labels = small_images()
    with gradients.per_row(module) as wrapped:
        rows = gradients.of_rows(
            wrapped, train.trainable_parameters(wrapped), images, labels, copies=1
        )
    factors = gradients.factors_of(rows, 0.3)
    whole = gradients.integer_sum(rows, factors, 0.3)
    torch.testing.assert_close(
        whole.double() * (0.3 / SUM_UNITS), gradients.clipped_sum(rows, factors), rtol=0, atol=1e-4
    )
    each = [
        gradients.integer_sum([row[[place]] for row in rows], factors[[place]], 0.3)
        for place in range(4)
    ]
    assert torch.equal(sum(each), whole)
    assert all(
        0.9 * SUM_UNITS < np.linalg.norm(term.numpy().astype(float)) <= SUM_UNITS for term in each
    )
    factors[1] *= 1.01
    assert torch.equal(gradients.integer_sum(rows, factors, 0.3), whole - each[1]), (
        "a factor that leaves a row too long drops it"
    )


def test_frozen_batch_normalisation_is_that_of_test_time():
    module, (images, _) = with_batch_norm(), small_images()
    before = module(images)
    fixed = networks.with_fixed_norms(module)
    torch.testing.assert_close(fixed(images), before)
    assert any(isinstance(layer, FixedNorm) for layer in fixed.modules())
    torch.testing.assert_close(
        fixed.train()(images[:1]), before[:1]
    )  # one row alone, in training mode too


def test_kernels_are_standardised_and_the_paper_s_network_has_its_size():
    kernels = layers.standardise_kernels(torch.randn(6, 4, 3, 3, generator=rng_torch()) * 7 + 3)
    torch.testing.assert_close(kernels.mean(dim=(1, 2, 3)), torch.zeros(6), atol=1e-6, rtol=0)
    torch.testing.assert_close(kernels.square().sum(dim=(1, 2, 3)), torch.ones(6))
    wide = networks.build("wrn_16_4", channels=3, n_classes=10, seed=0).module
    assert round(sum(parameter.numel() for parameter in wide.parameters()) / 1e6, 2) == 2.75
    assert not any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in wide.modules())


@pytest.mark.parametrize("shape", [(8, 8), (14, 11), (4, 9), (3, 5)])
def test_pooling_is_torch_s_adaptive_pooling(shape):
    maps = torch.rand(2, 3, *shape, generator=rng_torch())
    torch.testing.assert_close(layers.Pooled(4)(maps), nn.functional.adaptive_avg_pool2d(maps, 4))


def test_batches_of_a_few_rows_keep_to_the_sensitivity():
    """A step of one row became one of two, whose kernels round otherwise: the sum moved by 1.22
    clip norms."""
    case, row = few_rows_case()
    checks.is_within_sensitivity(case, rows={"noise": row})


@pytest.mark.parametrize(
    ("name", "side", "threads"),
    [
        *(("small_cnn", 8, threads) for threads in (1, 2, 3)),
        pytest.param("wrn_16_4", 4, 3, marks=pytest.mark.slow),
    ],
)
def test_one_row_more_changes_no_bit_of_another_row_s_clipped_gradient(name, side, threads):
    """In batches of the batch's own size it does, and an activation at its edge then turned a
    gradient by half its clip norm."""
    module = deep_rows.drawn(networks.build(name, channels=1, n_classes=10, seed=0).module, 0)
    found = deep_rows.found_in(
        module, pixels.Input((side, side), 1, None), 0, threads=threads, expected=4
    )
    assert (found.size, found.changed) == (8, 0)


def test_no_bit_of_a_row_changes_in_ten_random_networks_and_a_mixing_one_is_found():
    found = [
        deep_rows.found_in(*deep_rows.random_network(number), number, threads=1 + number % 3)
        for number in range(10)
    ]
    assert [one.changed for one in found] == [0] * 10
    # Then rows go one at a time, and in batches of the batch's own size the same comparison sees
    # them change.
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), AcrossRows(mixes=True, keeps=False), nn.Flatten(), nn.Linear(144, 3)
    )
    found = deep_rows.found_in(module, pixels.Input((8, 8), 1, None), 0, threads=1, expected=4)
    assert (found.size, found.changed) == (1, 0)
    assert found.changed_unfilled > 0


def test_networks_are_trained_by_torch_s_own_kernels(monkeypatch):
    """oneDNN broke the memory of a random network; NNPACK would take its place for larger
    batches."""

    def flags():
        return torch.backends.mkldnn.enabled, torch._C._get_nnpack_enabled()

    case, before, seen, real = case_for(METHODS["from_scratch"]), flags(), [], gradients.of_rows
    monkeypatch.setattr(
        gradients, "of_rows", lambda *rows, **more: seen.append(flags()) or real(*rows, **more)
    )
    case.fit(case.view)
    assert set(seen) == {(False, False)}
    assert flags() == before


@pytest.mark.parametrize(
    ("expected", "chance", "size"),
    [(4, 0.05, 8), (24, 0.3, 40), (256, 0.01, 96), (128, 1.0, 128), (1, 0.5, 8)],
)
def test_micro_batches_are_few_and_of_one_size_that_public_numbers_decide(expected, chance, size):
    assert (
        gradients.micro_rows(10_000, 1, torch.device("cpu"), expected=expected, chance=chance)
        == size
    )


def test_a_gpu_without_memory_halves_the_micro_batch_and_says_so(monkeypatch):
    case = case_for(METHODS["from_scratch"])
    whole, _ = case.fit(case.view)
    real, most = gradients.of_rows, 15

    def short_of_memory(wrapped, parameters, images, labels, **arguments):
        if len(labels) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(wrapped, parameters, images, labels, **arguments)

    monkeypatch.setattr(gradients, "of_rows", short_of_memory)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    halved, ledger = case.fit(case.view)
    assert "8 rows at a time" in halved.notes[0]
    assert ledger.total_event == case.method.cost(case.settings, case.view.facts)
    for one, other in zip(whole.classifier.arrays, halved.classifier.arrays, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_moves_are_a_row_s_own_and_reflect_at_borders():
    few, many = (pixels.draw_moves(rng.stream(0, "moves"), n, 3) for n in (5, 9))
    np.testing.assert_array_equal(few, many[:5])
    images = torch.arange(64.0).view(1, 1, 8, 8)
    still = torch.full((1, 1, 3), 1 << 15)
    torch.testing.assert_close(pixels.augment(images, still, mirror=True), images)
    flipped = torch.tensor([[[1 << 15, 1 << 15, 0]]])
    torch.testing.assert_close(pixels.augment(images, flipped, mirror=True), images.flip(3))
    torch.testing.assert_close(pixels.augment(images, flipped, mirror=False), images)
    down = torch.tensor([[[(1 << 16) - 1, 1 << 15, 1 << 15]]])
    torch.testing.assert_close(
        pixels.augment(images, down, mirror=False)[0, 0, :7], images[0, 0, 1:]
    )
    torch.testing.assert_close(pixels.augment(images, down, mirror=False)[0, 0, 7], images[0, 0, 6])


@pytest.mark.parametrize(
    ("trainable", "layers", "is_trained"),
    [
        ("head", "", lambda part: False),
        ("bias", "", lambda part: part.endswith("bias")),
        ("layers", "second", lambda part: part.startswith("second")),
        ("all", "", lambda part: True),
    ],
)
def test_what_is_chosen_is_trained(trainable, layers, is_trained):
    built = small_cnn()
    module = classifier.choose(built, trainable=trainable, layers=layers, lora_rank=2, seed=0)
    for name, parameter in module.named_parameters():
        assert parameter.requires_grad == (name.startswith("head") or is_trained(name)), name


def test_low_rank_additions_start_as_nothing_and_are_named_by_the_seed():
    plain = small_cnn().module
    made = [small_cnn() for _ in range(2)]
    first, again = (
        classifier.choose(built, trainable="lora", layers="second", lora_rank=2, seed=0)
        for built in made
    )
    images, _ = small_images()
    torch.testing.assert_close(first(images), plain(images))
    names = {name for name, parameter in first.named_parameters() if parameter.requires_grad}
    assert names == {
        "second.lora_A.default.weight",
        "second.lora_B.default.weight",
        "head.weight",
        "head.bias",
    }
    torch.testing.assert_close(
        *(module.get_parameter("second.lora_A.default.weight") for module in (first, again))
    )


@pytest.mark.slow
def test_a_network_of_timm_from_a_local_file_is_fine_tuned(tmp_path):
    timm = pytest.importorskip("timm")
    from safetensors.torch import save_file

    torch.manual_seed(0)
    trunk = timm.create_model("test_resnet", pretrained=False, num_classes=0)
    save_file(trunk.state_dict(), tmp_path / "weights.safetensors")
    name = f"timm:test_resnet?weights={tmp_path / 'weights.safetensors'}&size=32"
    split = image_split(n=60)
    for trainable in ("bias", "lora"):
        record = pc.run(
            "private_fine_tuning",
            split,
            epsilon=3.0,
            network=name,
            trainable=trainable,
            steps=2,
            batch_size=10,
            lora_rank=2,
        )
        assert record.guarantee.epsilon.upper <= 3.0
        assert record.classifier.scores(split.features.x_test).shape == (50, 3)
    save_file(
        {key: value for key, value in trunk.state_dict().items() if "layer1" not in key},
        tmp_path / "other.safetensors",
    )
    with pytest.raises(
        errors.DataError, match=r"does not hold the weights of test_resnet.*missing: layer1"
    ):
        networks.build(
            f"timm:test_resnet?weights={tmp_path / 'other.safetensors'}",
            channels=3,
            n_classes=3,
            seed=0,
        )


@pytest.mark.parametrize("name", DEEP)
def test_rows_that_are_no_pixels_are_refused_with_a_data_set_that_fits(name):
    tumours = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1)
    refuses("such as digits", pc.run, name, tumours, epsilon=1.0)


@pytest.mark.parametrize("name", DEEP)
def test_runs_keep_the_budget_and_their_classifier_survives_pickling(name):
    split = image_split()
    record = pc.run(name, split, epsilon=8.0, steps=4, batch_size=None, copies=1, seed=0)
    assert record.guarantee.epsilon.upper <= 8.0
    assert record.accuracy > 0.6  # chance is a third
    assert is_noted(record.notes, "random start") == (name == "private_fine_tuning")
    x = split.features.x_test
    record.classifier.scores(x)
    copy = pickle.loads(pickle.dumps(record.classifier))
    np.testing.assert_array_equal(copy.predict(x), record.classifier.predict(x))
    refuses("pixels of images", copy.scores, x[:, :-1])


def test_the_moving_average_is_what_its_formula_says():
    """Two steps from a known start: the returned weights are the average of the iterates that one-
    and two-step runs end in."""
    case = case_for(METHODS["from_scratch"], noise_multiplier=0.0, copies=0)

    def arrays(steps, ema_decay):
        import dataclasses

        settings = dataclasses.replace(case.settings, steps=steps, ema_decay=ema_decay)
        return [
            np.asarray(a)
            for a in case.method.train(settings, case.view, Streams(3), Ledger()).classifier.arrays
        ]

    start, one, two, averaged = arrays(0, 0.0), arrays(1, 0.0), arrays(2, 0.0), arrays(2, 0.9)
    for zero, first, second, mean in zip(start, one, two, averaged, strict=True):
        inside = 0.1 * zero + 0.9 * first
        np.testing.assert_allclose(mean, 2 / 11 * inside + 9 / 11 * second, atol=1e-6)


def other_classes():
    """Public images of another size and colour with two classes of their own: dark and bright."""
    generator = rng.stream(1, "other images")
    y = np.arange(80) % 2
    x = (generator.integers(0, 100, (80, 12, 12, 3)) + 120 * y[:, None, None, None]).astype(
        np.uint8
    )
    return Dataset("others", x, y, None, None, ("dark", "bright"))


def test_public_images_of_other_classes_sizes_and_colours_train_all_but_the_head():
    own = image_split(n=120)
    split = pc.split(own.features, public=other_classes())
    assert is_noted(split.notes, "brought to 8 × 8 pixels, grey")
    assert split.public_y is None
    assert split.other_classes == ("dark", "bright")
    records = [
        pc.run(
            "second_phase", split, epsilon=8.0, steps=1, noise_multiplier=None, public_epochs=epochs
        )
        for epochs in (0, 2)
    ]
    assert [str(record.public_use) for record in records] == ["none", "labelled, any classes"]
    without, with_phase = (
        dict(zip(r.classifier.names, r.classifier.arrays, strict=True)) for r in records
    )
    assert not np.allclose(without["first.weight"], with_phase["first.weight"])
    with pytest.raises(errors.SettingError, match="more than the head"):
        pc.run("second_phase", split, epsilon=8.0, steps=1, trainable="head")
    refuses("needs labelled public rows", pc.run, "only_public", split)


def test_images_are_resized_and_a_public_phase_helps_where_private_steps_cannot():
    grey, note = resize(other_classes(), (6, 6))
    assert grey.notes == (note,)
    assert "6 × 6" in note
    assert (grey.x_train.shape, grey.x_train.dtype) == ((80, 6, 6), np.uint8)
    assert abs(float(grey.x_train.mean()) - float(other_classes().x_train.mean())) < 1.0
    colour, _ = resize(grey, (9, 9, 3))
    assert colour.x_train.shape == (80, 9, 9, 3)
    np.testing.assert_array_equal(colour.x_train[..., 0], colour.x_train[..., 2])
    refuses("only images", resize, pc.load_dataset("breast_cancer"), (8, 8))
    split = image_split()
    accuracies = [
        pc.run("second_phase", split, epsilon=0.05, steps=1, public_epochs=epochs).accuracy
        for epochs in (0, 60)
    ]
    assert accuracies[1] > accuracies[0] + 0.2


def test_opacus_leaves_no_warnings_and_no_hooks():
    module = NETWORKS["small_cnn"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with gradients.per_row(module):
            pass
    assert not module[0]._forward_hooks
