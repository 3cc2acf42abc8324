"""Areas, recalls and accuracies against scikit-learn."""

import numpy as np
import pytest

from pillar_core.metrics import evaluate

sklearn_metrics = pytest.importorskip("sklearn.metrics")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n", "classes", "levels"), [(200, 2, 4), (200, 2, 10_000), (500, 7, 5), (3_000, 20, 10_000)]
)
def test_scores_agree_with_scikit_learn(n, classes, levels, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    y = generator.permutation(np.arange(n) % classes)
    raw = generator.integers(0, levels, (n, classes)) + np.eye(classes, dtype=np.int64)[y] * (
        levels // 3
    )
    # Whole numbers with equal row sums: centring is exact, and ties stay ties.
    scores = classes * raw - raw.sum(axis=1, keepdims=True)
    found = evaluate(scores.astype(np.float32), y, n_classes=classes)
    areas = [sklearn_metrics.roc_auc_score(y == code, scores[:, code]) for code in range(classes)]
    assert found["auc"] == pytest.approx(np.mean(areas), abs=1e-12)
    predicted = scores.argmax(axis=1)
    assert found["accuracy"] == pytest.approx(
        sklearn_metrics.accuracy_score(y, predicted), abs=1e-12
    )
    assert found["balanced_accuracy"] == pytest.approx(
        sklearn_metrics.balanced_accuracy_score(y, predicted), abs=1e-12
    )
    np.testing.assert_allclose(
        found["per_class"], sklearn_metrics.recall_score(y, predicted, average=None), atol=1e-12
    )


def test_areas_of_probabilities_agree_with_scikit_learns():
    generator = np.random.Generator(np.random.PCG64(9))
    y = generator.permutation(np.arange(1_000) % 5)
    probabilities = generator.dirichlet(np.ones(5), 1_000) * 0.7 + 0.3 * np.eye(5)[y]
    expected = sklearn_metrics.roc_auc_score(y, probabilities, multi_class="ovr", average="macro")
    # float32 rounds the probabilities: a few of the 800,000 pairs (1.6e5 a class) may swap, each
    # worth 6e-6 of one class.
    assert evaluate(probabilities.astype(np.float32), y, n_classes=5)["auc"] == pytest.approx(
        expected, abs=2e-5
    )
