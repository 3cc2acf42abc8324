"""Subspaces of gradients against brute force: rows, directions, angles, and the shapes that must be
refused."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pillar_core import rng
from pillar_core.screening import networks, probe
from pillar_core.screening.batches import Start
from pillar_core.subspace import (
    cosines,
    gradient_chunks,
    gram,
    projection_distance,
    random_distance,
    streamed_directions,
    top_directions,
)
from users import refuses


def basis(seed, p, k):
    return np.linalg.qr(rng.stream(seed, "test basis").standard_normal((p, k)))[0]


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(6, 30))
def test_the_metric_is_symmetric_bounded_and_blind_to_rotation(seed, k, p):
    first, second = basis(seed, p, k), basis(seed + 1, p, k)
    value = projection_distance(first, second)
    turned = first @ np.linalg.qr(rng.stream(seed, "turn").standard_normal((k, k)))[0]
    # Σcos² is exact to a few ulps of k in float64, and the root of a difference near 0 amplifies
    # that to its own root.
    assert projection_distance(second, first) == pytest.approx(value, abs=1e-7)
    assert projection_distance(turned, second) == pytest.approx(value, abs=1e-7)
    assert 0 <= value <= 1
    assert projection_distance(first, second, normalised=False) == pytest.approx(
        math.sqrt(k) * value, rel=1e-12
    )
    projectors = first @ first.T - second @ second.T
    assert projection_distance(first, second, normalised=False) == pytest.approx(
        np.linalg.norm(projectors) / math.sqrt(2), abs=1e-7
    )
    assert projection_distance(first, turned) == 0.0


def test_orthogonal_spaces_lie_at_one_and_random_ones_at_their_null():
    assert projection_distance(np.eye(8)[:, :3], np.eye(8)[:, 4:7]) == 1.0
    assert (cosines(np.eye(8)[:, :3], np.eye(8)[:, :3]) == 1).all()
    k, p, draws = 4, 40, 400
    squares = [
        projection_distance(basis(2 * seed, p, k), basis(2 * seed + 1, p, k)) ** 2
        for seed in range(draws)
    ]
    # E d² = 1 − k/p exactly; six standard errors of the mean.
    error = 6 * np.std(squares) / math.sqrt(draws)
    assert np.mean(squares) == pytest.approx(random_distance(k, p) ** 2, abs=error)
    assert np.mean(squares) != pytest.approx(1 - 2 * k / p, abs=error)


def test_published_projection_metric(shared):
    for case in json.loads((shared / "oracles" / "gsd_projection.json").read_text()):
        if case["A"] is None:
            continue
        first, second = (np.linalg.qr(np.array(case[name]))[0] for name in ("A", "B"))
        if math.isnan(case["official_normalised"]):
            # The official code takes the arc cosine of 1.0000001 where the spaces are the same.
            assert projection_distance(first, second) == 0.0
            continue
        # The official code works in float32.
        assert projection_distance(first, second) == pytest.approx(
            case["official_normalised"], abs=1e-5
        )
        assert projection_distance(first, second, normalised=False) == pytest.approx(
            case["definition3_unnormalised"], abs=1e-5
        )


def test_directions_are_those_of_the_full_svd_and_streamed_ones_agree_where_the_spectrum_falls():
    rows = torch.from_numpy(
        rng.stream(0, "rows").standard_normal((60, 400)) * np.geomspace(1, 0.01, 400)
    ).float()
    found = top_directions(rows, 5)
    values, vectors = np.linalg.svd(rows.double().numpy(), full_matrices=False)[1:]
    assert projection_distance(found.basis, vectors[:5].T) < 1e-3
    np.testing.assert_allclose(found.values, values[:5], rtol=1e-5)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(gram(rows), rows @ rows.T, rtol=1e-4, atol=1e-4)
    generator = rng.stream(1, "rows")
    signal = generator.standard_normal((120, 4)) @ generator.standard_normal((4, 300))
    rows = torch.from_numpy(signal + 0.05 * generator.standard_normal((120, 300))).float()
    streamed = streamed_directions(lambda: iter(rows.split(32)), 4)
    assert projection_distance(streamed.basis, top_directions(rows, 4).basis) < 0.05
    rows = torch.ones(20, 30)
    refuses("k must be at most the number of examples, 20", top_directions, rows, 21)
    refuses("span only 1 direction", top_directions, rows, 2)


def test_probe_rows_are_autograd_rows_and_pools_keep_the_first_of_equal_places():
    net = probe.probe(Start(3))
    images = torch.from_numpy(rng.stream(0, "images").uniform(-1, 1, (3, 3, 224, 224))).float()
    labels = torch.tensor([0, 7, 3])
    expected = next(gradient_chunks(net, images, labels))
    assert expected.shape == (3, probe.PARAMETERS)
    # Sums of up to 1,936 float32 products.
    torch.testing.assert_close(
        probe.probe_rows(net, images, labels), expected, rtol=1e-3, atol=1e-6
    )
    grey = images[:, :1]
    expected = next(gradient_chunks(net, grey.expand(-1, 3, -1, -1), labels))
    torch.testing.assert_close(probe.probe_rows(net, grey, labels), expected, rtol=1e-3, atol=1e-6)
    flat = torch.zeros(2, 3, 224, 224)
    flat[1, :, :60] = 1.0
    maps = torch.nn.functional.conv2d(flat, net[0].weight, net[0].bias, 5)
    pooled, places = torch.nn.functional.max_pool2d(maps, 2, return_indices=True)
    one, at_one, *_ = probe.forward(net, flat)
    torch.testing.assert_close(one, pooled, rtol=0, atol=0)
    torch.testing.assert_close(at_one, places, rtol=0, atol=0)


def test_chunked_rows_are_one_backward_pass_each():
    module = networks.start_network(networks.small_cnn())
    images = torch.from_numpy(rng.stream(0, "images").uniform(-1, 1, (5, 1, 28, 28))).float()
    labels = torch.arange(5)
    rows = torch.cat(list(gradient_chunks(module, images, labels)))
    names = [name for name, _ in module.named_parameters()][-2:]
    head = torch.cat(list(gradient_chunks(module, images, labels, names=names)))
    for number in range(5):
        module.zero_grad()
        torch.nn.functional.cross_entropy(
            module(images[number : number + 1]), labels[number : number + 1]
        ).backward()
        own = torch.cat([parameter.grad.flatten() for parameter in module.parameters()])
        torch.testing.assert_close(rows[number], own, rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(head, rows[:, -head.shape[1] :])
    assert rows.shape[1] == 26_010
