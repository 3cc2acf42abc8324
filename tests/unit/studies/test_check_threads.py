"""What people ask other projects about their ε, with the answer that `check_run` gives: one case a
thread of their trackers."""

import math

import pytest

from costs import checked, said, unproven, upper

ADD_REMOVE, REPLACE = "add_or_remove_one", "replace_one"
MNIST = {"n": 60_000, "delta": 1e-5}


def opacus(body):
    return (
        "from opacus import PrivacyEngine\nengine = PrivacyEngine(accountant='rdp')\nm, o, l ="
        f" engine.{body}"
    )


WEIGHTED_SCRIPT = """
sampler = WeightedRandomSampler(weights, num_samples=128, replacement=True)
loader = DataLoader(dataset, batch_size=16, sampler=sampler)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model, optimizer=optimizer, data_loader=loader, target_epsilon=8.0, target_delta=1e-6, epochs=1, max_grad_norm=1.0)
"""


def test_opacus_813_a_weighted_sampler_has_no_epsilon():
    asked = checked(n=100_000, script=WEIGHTED_SCRIPT)
    assert "how batches are drawn" in asked.problems[0]
    check = checked(n=100_000, script=WEIGHTED_SCRIPT, sampler="weighted")
    assert asked.epsilon == check.epsilon == {ADD_REMOVE: None, REPLACE: None}
    assert "weight" in said(check)
    assert "1 / (number of batches)" in said(check)


def test_opacus_587_large_targets_leave_no_noise_to_feel():
    run = {"n": 1_599, "batch_size": 50, "epochs": 10, "delta": 1e-4}
    checks = [checked(epsilon=epsilon, **run) for epsilon in (1.0, 50.0)]
    assert checks[0].counted["noise_multiplier"] > 4 * checks[1].counted["noise_multiplier"]
    assert "promises little" in said(checks[1])
    assert "promises little" not in said(checks[0])


def test_opacus_467_and_128_what_is_not_passed_on_is_read_and_shuffling_breaks_the_analysis():
    script = opacus(
        "make_private_with_epsilon(target_epsilon=3, target_delta=1e-5, epochs=5,"
        " poisson_sampling=False, clipping='per_layer')"
    )
    check = checked(n=50_000, batch_size=500, script=script)
    assert check.counted["sampler"] == "shuffled"
    assert "per layer" in said(check)
    assert "no amplification is proven" in said(check)
    assert upper(check) > 5 * check.reported[0].epsilon


def test_fast_dp_46_fewer_steps_than_planned_report_less_and_the_clip_does_nothing():
    script = (
        "from fastDP import PrivacyEngine\nPrivacyEngine(model, batch_size=1000, sample_size=50000,"
        " epochs=10, target_epsilon=4, clipping_fn='automatic')"
    )
    check = checked(delta=1e-5, script=script)
    noise = check.counted["noise_multiplier"]
    assert check.reported[0].epsilon == pytest.approx(4.0, rel=1e-3)
    # one way to the half that the thread saw: a fifth of the planned steps, as gradients were
    # accumulated
    part = checked(n=50_000, batch_size=1000, steps=100, noise_multiplier=noise, delta=1e-5)
    assert 1.8 < part.reported[1].epsilon < 2.6
    assert "steps it saw" in said(check)
    assert "changes nothing" in said(check)


def test_private_transformers_15_a_small_target_needs_ordinary_noise():
    script = (
        "from private_transformers import PrivacyEngine\nPrivacyEngine(model, batch_size=1000,"
        " sample_size=67349, epochs=3, max_grad_norm=0.1, target_epsilon=0.1)"
    )
    check = checked(script=script)
    assert check.counted["noise_multiplier"] > 10_000  # the thread saw 20,854
    tight = checked(n=67_349, batch_size=1000, epochs=3, epsilon=0.1, delta=check.counted["delta"])
    assert tight.counted["noise_multiplier"] < 20
    assert upper(tight) <= 0.1
    assert "orders stop at 63" in said(check)


def test_tensorflow_privacy_483_and_opacus_80_three_samplers_three_answers():
    run = {"batch_size": 250, "epochs": 15, "noise_multiplier": 1.3, **MNIST}
    found = {name: checked(sampler=name, **run) for name in ("poisson", "fixed_size", "shuffled")}
    assert (
        upper(found["poisson"])
        < upper(found["fixed_size"], REPLACE)
        < upper(found["shuffled"], REPLACE)
    )
    assert upper(found["fixed_size"]) > 2 * upper(found["poisson"])  # constant sizes cost more
    assert "own coin" in said(found["fixed_size"])
    assert all("no bound" in said(found[name]) for name in ("fixed_size", "shuffled"))


def test_tensorflow_privacy_71_delta_near_one_over_n():
    loose = checked(n=60_000, batch_size=256, epochs=60, noise_multiplier=1.1, delta=1e-5)
    strict = checked(n=60_000, batch_size=256, epochs=60, noise_multiplier=1.1, delta=1e-7)
    assert "far below 1/n" in said(loose)
    assert "far below 1/n" not in said(strict)
    assert upper(loose) < upper(strict)
    assert "random row outright" in said(
        checked(n=60_000, batch_size=256, epochs=60, noise_multiplier=1.1, delta=1e-4)
    )


def test_tensorflow_privacy_620_and_81_and_46_microbatches_double_the_sensitivity():
    text = "compute_dp_sgd_privacy_statement(60000, 250, 15, 1.3, 1e-5, used_microbatching={})"
    apart, together = (checked(script=text.format(flag)) for flag in (False, True))
    assert upper(together) > 2 * upper(apart)
    assert "two clip norms" in said(together)
    assert "two clip norms" not in said(apart)


def test_opacus_153_and_tensorflow_privacy_103_incomplete_batches_and_the_examples_page():
    for epochs, noise, thread in ((15, 1.3, 1.16), (45, 0.7, 6.859), (60, 1.1, 2.905)):
        check = checked(batch_size=240, epochs=epochs, noise_multiplier=noise, **MNIST)
        assert upper(check) < check.reported[1].epsilon < thread
    check = checked(batch_size=256, epochs=60, noise_multiplier=1.1, **MNIST)
    assert check.counted["steps"] == 14_063
    assert "14,100 steps" in said(check)


def test_opacus_115_and_177_no_noise_or_no_clip_no_epsilon():
    check = checked(batch_size=256, epochs=1, noise_multiplier=0.0, **MNIST)
    assert upper(check) == math.inf
    assert "No noise" in said(check)
    assert "without a clip" in unproven(
        batch_size=256, epochs=1, noise_multiplier=1.0, l2_clip_norm=math.inf, **MNIST
    )


@pytest.mark.parametrize(
    ("thread", "run"),
    [
        (
            "meta-pytorch/opacus#601 and #591",
            {"batch_size": 600, "epochs": 50, "noise_multiplier": 0.4, **MNIST},
        ),
        ("meta-pytorch/opacus#604", {"batch_size": 600, "epochs": 50, "epsilon": 50.0, **MNIST}),
        (
            "microsoft/prv_accountant#42",
            {"n": 1000, "batch_size": 200, "steps": 500, "noise_multiplier": 1.0, "delta": 1e-5},
        ),
    ],
)
def test_large_epsilons_have_an_answer(thread, run):
    found = checked(**run).epsilon[ADD_REMOVE]
    assert 0.97 * found.upper < found.lower <= found.upper < math.inf


def test_prv_accountant_17_tiny_deltas_do_not_jump():
    run = {"n": 750_000, "batch_size": 250, "steps": 10_000, "noise_multiplier": 4.0}
    found = [upper(checked(delta=delta, **run)) for delta in (1.1e-18, 1.13e-18)]
    assert found[1] <= found[0] < 0.669
    assert found[0] - found[1] < 0.01


def test_jax_privacy_84_and_121_a_keras_fit_that_does_not_sample_is_told():
    text = (
        "DPKerasConfig(epsilon=3.0, delta=1e-6, clipping_norm=1.0, batch_size=64,"
        " gradient_accumulation_steps={}, train_steps=2000, train_size=50000,"
        " poisson_sampling_in_fit={})"
    )
    cases = ((4, False), (4, True), (1, True))
    loop, joined, sampled = (checked(script=text.format(*case)) for case in cases)
    assert joined.counted["batch_size"] == 256
    assert joined.epsilon == {ADD_REMOVE: None, REPLACE: None}
    assert "Poisson sample of its own" in said(joined)
    assert upper(sampled) <= 3.03  # what its search accepts may lie 0.01 above the target
    assert loop.counted["sampler"] == "shuffled"
    assert upper(loop) > 10
