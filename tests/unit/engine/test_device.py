"""The engine away from the CPU, as far as a machine without a GPU can tell: devices are never
mixed, and nothing is read back.

torch's fake tensors carry a device and no numbers: an operation on tensors of two devices raises,
and so does a look at a value.
"""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from pillar_core import rng
from pillar_core.engine import Head, HeadPlan, train, train_heads, training_device
from pillar_core.engine.halfspaces import clipped_joint_sum, logistic
from pillar_core.engine.mixed import clipped_difference_sum, preconditioned_sum
from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.methods.public_subspace.gep import AnchorBasis, embedded_sums
from pillar_core.rng import DeviceStream, Streams
from users import raises

H, C, N, K = 3, 4, 50, 7


class OnAnyDevice(Streams):
    """Streams whose noise comes from the CPU: a generator of a device that is not there cannot be
    made."""

    def secret(self, purpose, *, device="cpu"):
        return super().secret(purpose)


@pytest.fixture
def fake():
    with FakeTensorMode() as mode:
        yield mode


def on_gpu(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="cuda:0")


def rows():
    return on_gpu(N, K), on_gpu(N), on_gpu(N, dtype=torch.int64)


@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize("bias", [False, True])
def test_the_training_loop_stays_on_the_device_and_reads_nothing_back(fake, batch_size, bias):
    z, _, labels = rows()
    plan = HeadPlan(
        3, 0.5, 1.0, 1.0, N, batch_size=batch_size, momentum=0.9, bias=bias, weight_decay=0.1
    )
    state = train.trained_state(
        z, labels, [Head(plan, OnAnyDevice(0), Ledger()) for _ in range(H)], C
    )
    assert (state.device.type, tuple(state.shape)) == ("cuda", (H, C, K + bias))


def test_the_kernels_stay_on_the_device_and_read_nothing_back(fake):
    z, squares, labels = rows()
    weights, clip = on_gpu(H, C, K), on_gpu(H)
    signs = on_gpu(C, N)
    basis = AnchorBasis(on_gpu(C, 5), on_gpu(5, K), on_gpu(5, 2).double())
    made = [
        clipped_difference_sum(z, squares, labels, weights, clip, weights),
        clipped_joint_sum(z, squares, signs, weights, logistic(), clip),
        preconditioned_sum(z, labels, weights[0], weights[0], l2_clip_norm=1.0),
        *embedded_sums(
            z,
            z.square().sum(1),
            on_gpu(N, 5).double(),
            labels,
            weights[0],
            basis,
            embedding_clip=1.0,
            residual_clip=0.4,
        ),
    ]
    assert {total.device.type for total in made} == {"cuda"}
    assert {total.dtype for total in made} == {torch.float64}


def test_fake_tensors_do_see_a_value_that_is_read_back_and_a_device_that_is_mixed(fake):
    with pytest.raises(DataDependentOutputException):
        float(on_gpu(3).sum())
    with pytest.raises(RuntimeError, match="device"):
        on_gpu(3) + torch.empty(3)


def test_the_device_is_the_cpu_unless_asked(monkeypatch):
    monkeypatch.delenv("PILLAR_DEVICE", raising=False)
    assert training_device() == torch.device("cpu")
    monkeypatch.setenv("PILLAR_DEVICE", "auto")
    assert training_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
    for wrong in ("mps", "gpu", "cuda:x", "cpu:1:2"):
        monkeypatch.setenv("PILLAR_DEVICE", wrong)
        raises(SettingError, "PILLAR_DEVICE", training_device)
    monkeypatch.setenv("PILLAR_DEVICE", f"cuda:{torch.cuda.device_count()}")
    raises(SettingError, "CUDA devices here", training_device)


@pytest.mark.parametrize("stream", [lambda name: DeviceStream(3, name, "cpu"), Streams(3).normals])
def test_noise_of_heads_is_seeded_normal_and_never_a_releases(stream):
    first, again = (torch.as_tensor(stream("noise").standard_normal((200, 500))) for _ in range(2))
    other = torch.as_tensor(stream("other").standard_normal((200, 500)))
    assert first.dtype is torch.float64
    assert torch.equal(first, again)
    # 100,000 normals: mean within 6/√N, variance within 6·√(2/N), correlation within 6/√N.
    assert abs(float(first.mean())) <= 6 / np.sqrt(1e5)
    assert abs(float(first.var()) - 1) <= 6 * np.sqrt(2 / 1e5)
    assert abs(float((first * other).mean())) <= 6 / np.sqrt(1e5)
    assert isinstance(Streams(None).normals("noise", device="cuda"), rng.SystemStream)
    assert isinstance(Streams(0).secret("noise"), np.random.Generator)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_gpu_trains_the_head_that_the_cpu_trains(monkeypatch):
    generator = rng.stream(0, "gpu test")
    z, y = generator.standard_normal((500, 20), dtype=np.float32), generator.integers(0, 3, 500)
    plan = HeadPlan(20, 0.5, 0.0, 1.0, 500, batch_size=100)
    heads = {}
    for device in ("cpu", "cuda"):
        monkeypatch.setenv("PILLAR_DEVICE", device)
        [(heads[device], _)] = train_heads(z, y, [Head(plan, Streams(0), Ledger())], n_classes=3)
    np.testing.assert_allclose(heads["cuda"], heads["cpu"], atol=1e-4)
