"""GEP: private gradients split on a basis of public gradients; the part inside and the part outside
are noised separately.

Each step, k directions of the public rows' gradients at the current weights (labels drawn at
random, or the rows' own) make the basis. A private row's embedding (k numbers) is clipped to C₁,
its residual to C₂ < C₁; both sums get noise in proportion to their clip norms and are added up
again. Most of the gradient lies inside, so most of the noise has k places only.

A row's gradient is r ⊗ z and a basis vector a combination Σ_l A_lj r_l ⊗ z_l of m anchors, so the
embedding of a row is c = Aᵀ[(r_l·r)(z_l·z)]_l and its residual has squared norm ‖r‖²‖z‖² − ‖c‖²: an
n × m product, never n × (d·C). That difference must not be below the true one, and A has entries up
to 1e3 times those of a well-conditioned basis: all of it is float64. (In float32 a row that lies
almost wholly in the basis left with twice the clip norm.)

Guarantee: basis and anchors are functions of public rows, public randomness and released weights. A
step is one joint Gaussian release of two sums with sensitivities C₁ and C₂ from one Poisson sample,
charged as one Gaussian at 1/σ² = 1/σ₁² + 1/σ₂²: equal shares mean σ₁ = σ₂ = √2 σ. The residual's
noise has the parameter's dimension. Source: Yu, Zhang, Chen & Liu 2021 (GEP); gsd, Algorithm 2. The
published code charged two releases as less than they are, and sampled by shuffling. Cost: one (n,
m) product of private with anchor rows, once; n·m·(C + k) a step.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier, heavy_ball, training_device
from pillar_core.engine.gradient import (
    SUM_ROWS,
    clip_factors,
    row_sum,
    squared_lengths,
    squared_residuals,
)
from pillar_core.engine.mixed import head_residuals
from pillar_core.errors import DataError
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import Batches, GaussianMechanism, release_joint
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import descent, rules
from pillar_core.params import Param
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.subspace import anchor_coefficients, rank_one_gram
from pillar_core.threads import threads_for
from pillar_core.types import PublicFacts, PublicUse, TrainResult

CHUNK_ROWS = 2048
RESIDUAL_MARGIN = 1e-6
"""Added to a residual's squared norm, as a share of the gradient's, before clipping: the rows'
squared norms are float32 (6e-8), an embedding is off by 1e-9 of the gradient's norm, V is
orthonormal to 1e-7 or so."""


RESIDUAL_CLIP_RATIO = Param(
    "residual_clip_ratio",
    float,
    0.4,
    "Clip norm of the residual, as a share of the embedding's.",
    low=0.001,
    high=10,
)


@dataclasses.dataclass(frozen=True)
class AnchorBasis:
    """V = Σ_l A_l r_l ⊗ z_l. residuals: (C, m); z: (m, d); float32; coefficients A: (m, k)
    float64."""

    residuals: torch.Tensor
    z: torch.Tensor
    coefficients: torch.Tensor

    def expand(self, embedding: torch.Tensor) -> torch.Tensor:
        """(C, d) Σ_j V_j e_j for an embedding (k,), float64."""
        return (self.residuals.double() * (self.coefficients @ embedding)) @ self.z.double()


def embedded_sums(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    products: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    basis: AnchorBasis,
    *,
    embedding_clip: float,
    residual_clip: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(Σ clip(c_i), Σ clip(g_i − V c_i)): (k,) and (C, d) float64; the residual is that of the
    unclipped embedding.

    z: (n, d) float32; squared_rows: (n,) its rows' squared norms; products: (n, m) float64, z ·
    basis.zᵀ; labels: (n,) int64; weights: (C, d). A row with a norm that is not finite adds 0.
    """
    clips = torch.tensor([embedding_clip, residual_clip], dtype=torch.float64, device=z.device)
    embedding = torch.zeros(basis.coefficients.shape[1], dtype=torch.float64, device=z.device)
    unclipped, total = torch.zeros_like(embedding), torch.zeros_like(weights, dtype=torch.float64)
    for part in slices(len(z), CHUNK_ROWS):
        residuals = head_residuals(z[part], labels[part], weights)
        wide = residuals.double()
        rows = ((wide.T @ basis.residuals.double()).mul_(products[part])) @ basis.coefficients
        squared_norms = squared_residuals(wide, 0) * squared_rows[part]
        inner, outer = part_factors(rows, squared_norms, clips)
        finite = (inner > 0) & (outer > 0)
        rows, wide = torch.where(finite[:, None], rows, 0.0), torch.where(finite, wide, 0.0)
        inner, outer = (torch.where(finite, factors, 0.0) for factors in (inner, outer))
        embedding += inner @ rows
        unclipped += outer @ rows
        total += row_sum(wide * outer, z[part])
    return embedding, total - basis.expand(unclipped)


def part_factors(
    rows: torch.Tensor, squared_norms: torch.Tensor, clips: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Clip factors (n,) of embeddings and of residuals, float64. rows: (n, k) embeddings;
    squared_norms: (n,) of gradients; clips: (2,)."""
    inside = rows.square().sum(1)
    outside = (squared_norms - inside).clamp_(min=0) + RESIDUAL_MARGIN * squared_norms
    inner, outer = clip_factors(torch.stack([inside, outside]), clips, terms=rows.shape[1])
    return inner, outer


@dataclasses.dataclass(frozen=True)
class GepSettings(descent.StepSettings):
    """DP-SGD's settings without a bias, the size of the basis, and how clip and noise are
    shared."""

    bias: ClassVar[bool] = False
    k: int | None = params.setting(params.K, help="Directions of the basis.")
    anchors: int = params.declare(
        500,
        "Public rows whose gradients span the basis (all of them where there are fewer).",
        low=1,
        unit="rows",
        log=True,
    )
    residual_clip_ratio: float = params.setting(RESIDUAL_CLIP_RATIO)
    embedding_share: float = params.declare(
        0.5,
        "Share of each step's 1/σ² that the embedding gets.",
        low=0,
        low_open=True,
        high=1,
        high_open=True,
    )
    l2_clip_norm: float = params.setting(
        params.L2_CLIP_NORM, help="Largest L2 norm of one row's embedding."
    )
    noise_multiplier: float | None = params.setting(
        params.NOISE_MULTIPLIER, help="Noise of a step's two releases together."
    )


@dataclasses.dataclass(frozen=True)
class GepLabelledSettings(GepSettings):
    """Anchors with their own labels say more about private gradients, so less needs to be kept
    outside the basis."""

    residual_clip_ratio: float = params.setting(RESIDUAL_CLIP_RATIO, default=0.1)


def noise_multipliers(settings: GepSettings) -> tuple[float, float]:
    """(σ₁, σ₂) of embedding and residual, each in units of its own clip norm: 1/σ₁² = share/σ²,
    1/σ₂² = (1 − share)/σ²."""
    noise = settings.noise_multiplier or 0.0
    return noise / math.sqrt(settings.embedding_share), noise / math.sqrt(
        1.0 - settings.embedding_share
    )


def cost(settings: GepSettings, facts: PublicFacts) -> DpEvent:
    """T joint Gaussian releases, each on a batch."""
    return descent.cost_of_steps(
        descent.plan_of(settings, facts), events.joint_noise_multiplier(noise_multipliers(settings))
    )


def resolve_hyperparameters(settings: GepSettings, facts: PublicFacts) -> Plan[GepSettings]:
    """Fills k and the rate from the noise. Raises DataError for k above the number of anchors."""
    most = min(settings.anchors, facts.n_public)
    if settings.k is not None and settings.k > most:
        raise DataError(
            f"k must be at most {most}, the anchors there are; got {settings.k}. Lower k, or raise"
            " anchors or public rows."
        )
    return rules.resolve_projection(settings, facts, k_ceiling=most)


@dataclasses.dataclass(frozen=True)
class _AnchoredRows:
    """What a run needs of the data: private rows and labels, anchors, and products of both with the
    anchors, (n, m) and (m, m)."""

    z: torch.Tensor
    squared: torch.Tensor
    labels: torch.Tensor
    anchors: torch.Tensor
    anchor_labels: torch.Tensor
    products: torch.Tensor
    anchor_products: Array


@group_runs(*descent.PREPROCESSING, "anchors", per_seed=True)
def fit_many(view: View, runs: list[Run[GepSettings]]) -> Iterator[TrainResult]:
    """Runs of one seed share anchors and products."""
    first, first_streams, _ = runs[0]
    prepared = descent.all_features(first, view, first_streams)
    rows = _with_anchors(first, prepared, view, first_streams)
    for settings, streams, ledger in runs:
        yield _fit(settings, prepared, rows, view.facts, streams, ledger)


def _with_anchors(
    settings: GepSettings, prepared: Prepared, view: View, streams: Streams
) -> _AnchoredRows:
    """The anchors are a random choice of public rows; their labels are their own, or drawn where
    the method sees none."""
    generator = streams.public("anchors")
    chosen = generator.permutation(len(prepared.z_public))[: settings.anchors]
    drawn = generator.integers(view.facts.n_classes, size=len(chosen))
    labels = drawn if view.y_public is None else view.y_public[chosen]
    where = training_device()
    z, anchors = (
        torch.from_numpy(prepared.z).to(where),
        torch.from_numpy(prepared.z_public[chosen]).to(where),
    )
    with threads_for(z.numel() * len(anchors)):
        wide = anchors.double()
        products = torch.cat([part.double() @ wide.T for part in torch.split(z, SUM_ROWS)])
        anchor_products = (wide @ wide.T).cpu().numpy()
    return _AnchoredRows(
        z,
        squared_lengths(z),
        torch.from_numpy(view.y).to(where),
        anchors,
        torch.from_numpy(labels).to(where),
        products,
        anchor_products,
    )


def _fit(
    settings: GepSettings,
    prepared: Prepared,
    rows: _AnchoredRows,
    facts: PublicFacts,
    streams: Streams,
    ledger: Ledger,
) -> TrainResult:
    plan = descent.plan_of(settings, facts)
    clips = (plan.l2_clip_norm, plan.l2_clip_norm * settings.residual_clip_ratio)
    where = rows.z.device
    noise = streams.secret("noise", device=str(where))
    mechanisms = [
        GaussianMechanism(sigma, clip, noise, ledger)
        for sigma, clip in zip(noise_multipliers(settings), clips, strict=True)
    ]
    probability = plan.sampling_probability
    batches = Batches(
        probability, plan.steps_of_pass, len(rows.z), streams.secret("sampling"), [ledger]
    )
    weights = torch.zeros((facts.n_classes, rows.z.shape[1]), device=where)
    descend = heavy_ball([plan], weights[None])
    with threads_for(2 * probability * rows.z.numel() * facts.n_classes):
        for _ in range(plan.steps):
            basis = _basis(rows, weights, int(settings.k or 0))
            with batches.next() as indices:
                picked = slice(None) if probability == 1 else torch.from_numpy(indices).to(where)
                z, squared, products, labels = (
                    part[picked] for part in (rows.z, rows.squared, rows.products, rows.labels)
                )
                sums = embedded_sums(
                    z,
                    squared,
                    products,
                    labels,
                    weights,
                    basis,
                    embedding_clip=clips[0],
                    residual_clip=clips[1],
                )
                embedding, residual = release_joint(
                    sums, mechanisms, label="embedding and residual"
                )
            weights = descend(weights[None], (basis.expand(embedding) + residual).float()[None])[0]
    learned = np.ascontiguousarray(weights.T.cpu().numpy())
    return TrainResult(LinearClassifier.without_bias(prepared.transform, learned))


def _basis(rows: _AnchoredRows, weights: torch.Tensor, k: int) -> AnchorBasis:
    residuals = head_residuals(rows.anchors, rows.anchor_labels, weights)
    gram = rank_one_gram(residuals.cpu(), rows.anchor_products)
    if not np.isfinite(gram).all():
        raise DataError(
            "the public rows' gradients are not finite. Training diverged: lower the learning rate."
        )
    coefficients = anchor_coefficients(gram, k)
    return AnchorBasis(residuals, rows.anchors, torch.from_numpy(coefficients).to(residuals.device))


_GEP = Method(
    name="gep",
    title="GEP",
    source="Yu, Zhang, Chen & Liu 2021; baseline of PILLAR and of gsd",
    idea="Public gradients with random labels span where private gradients live: little noise"
    " there, small clip elsewhere.",
    public_use=PublicUse.UNLABELLED,
    settings=GepSettings,
    cost=cost,
    fit_many=fit_many,
    resolve_schedule=rules.resolve_schedule,
    resolve_hyperparameters=resolve_hyperparameters,
    assumptions=(
        "with normalise off, no private row is so long (about 1e4) that its products with the"
        " anchors are rounding alone",
    ),
    version=4,
    presets={
        "paper": {
            "k": 120,
            "residual_clip_ratio": 0.2,
            "anchors": 2000,
            "steps": 1000,
            "batch_size": 1024,
            "learning_rate": 0.1,
            "momentum": 0.9,
            "standardise": True,
            "normalise": False,
        }
    },
)

METHODS.register(_GEP)
METHODS.register(
    dataclasses.replace(
        _GEP,
        name="gep_labelled",
        title="GEP, labelled anchors",
        idea="GEP whose anchor gradients use the public rows' own labels.",
        public_use=PublicUse.LABELLED,
        settings=GepLabelledSettings,
    )
)
