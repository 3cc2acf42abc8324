"""Which learner to try first, from public facts alone, with the reasons."""

import dataclasses
import math

from pillar_core import checks
from pillar_core.accounting import mu_of
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules
from pillar_core.types import PrivacyBudget, PublicFacts, PublicUse

RICH_CLASS = 60.0
"""μN/C from which one release's noise is small against a class's signal: judged from
docs/methods/pillar_one_shot.md."""
MANY_CLASSES = 50
LABELLED_A_CLASS = 10
"""Labelled public rows a class from which a start trained on them was ahead at every ε tried
(docs/papers.md)."""


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """A learner's name, settings worth giving (others follow its rules), reasons, and what to try
    next."""

    method: str
    settings: dict[str, int]
    reasons: tuple[str, ...]
    alternatives: tuple[str, ...]


def recommend(
    facts: PublicFacts, public: str | None = None, *, epsilon: float = 1.0, delta: float = 1e-5
) -> Recommendation:
    """The learner to try first for `facts` within (ε, δ).

    public: what the public rows offer: none, unlabelled or labelled; None takes unlabelled where
    there are public rows. Nothing private enters, so asking costs nothing.
    Raises SettingError: another word, or public data claimed without public rows. BudgetError: ε or
    δ out of range.
    """
    use = _use(facts, public)
    budget = PrivacyBudget(epsilon, delta)
    if math.isinf(budget.epsilon):
        return Recommendation("non_private", {}, ("ε = ∞ asks for no protection.",), ("pillar",))
    path_length = mu_of(epsilon, delta) * facts.n_private
    per_class = path_length / facts.n_classes
    k = rules.default_k(path_length, rules.public_rank(facts))
    size = (
        f"with {facts.n_private:,} private rows, each class's signal is about {per_class:,.3g}"
        f" times the noise at ε = {epsilon:g}"
    )
    if use is PublicUse.NONE:
        wanted = round(rules.K_FACTOR * path_length ** (2 / 3))
        if wanted < facts.d / 4:
            advice = (
                f"about {wanted} directions would suit this budget; a random projection keeps no"
                " signal, public rows would"
            )
            return Recommendation("noisy_gd", {}, (size, advice), ("jl",))
        return Recommendation(
            "noisy_gd",
            {},
            (size, "the budget carries all features; full batches need no sampler"),
            ("dp_sgd",),
        )
    fewer = f"k = {k} of {facts.d} directions: noise has {facts.d / k:.1f} times fewer places to go"
    reasons: tuple[str, ...]
    labelled = facts.n_public / facts.n_classes if use is PublicUse.LABELLED else 0.0
    if labelled and (per_class < RICH_CLASS or labelled >= LABELLED_A_CLASS):
        weak = (
            "private signal is weak at this budget"
            if per_class < RICH_CLASS
            else f"{labelled:,.0f} labelled public rows a class"
        )
        reasons = (
            size,
            (
                f"{weak}: a start trained on public labels is worth most, if the public rows are"
                " like the private ones"
            ),
        )
        return Recommendation("adamix", {}, reasons, ("pillar", "only_public"))
    if facts.n_classes >= MANY_CLASSES and per_class >= RICH_CLASS and "pillar_one_shot" in METHODS:
        reasons = (
            size,
            fewer,
            (
                "with many classes and budget enough for each, one release of class sums has no"
                " step to tune"
            ),
        )
        return Recommendation("pillar_one_shot", {}, reasons, ("pillar", "dp_sgd"))
    reasons = (size, fewer, "public rows choose the directions at no cost")
    return Recommendation("pillar", {"k": k}, reasons, ("pillar_one_shot", "dp_sgd"))


def _use(facts: PublicFacts, public: str | None) -> PublicUse:
    if public is None:
        return PublicUse.UNLABELLED if facts.n_public else PublicUse.NONE
    allowed = (PublicUse.NONE, PublicUse.UNLABELLED, PublicUse.LABELLED)
    checks.one_of(allowed, public=public)
    if public != PublicUse.NONE and not facts.n_public:
        raise SettingError(
            f"public is {public!r}, but the facts count no public rows (n_public = 0)."
        )
    return PublicUse(public)
