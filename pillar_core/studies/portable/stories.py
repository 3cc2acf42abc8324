"""Ten stories: a question asked of one data set, what to see in its explorer, and one surprise."""

import dataclasses
import math

Setting = tuple[str, float, int]
"""A learner, ε and the k that was asked for, 0 for the learner's rule or none."""


@dataclasses.dataclass(frozen=True)
class Story:
    """A question to a data set, what its explorer, which opens at a setting, shows, and a surprise
    with the measured gap: the first of two settings less the second."""

    name: str
    question: str
    dataset: str
    opening: Setting
    see: str
    surprise: str
    compared: tuple[Setting, Setting]


STORIES = (
    Story(
        "few-directions",
        "How many directions can 1,799 clothes afford at ε = 0.1?",
        "fashion_mnist_2k",
        ("pillar", 0.1, 10),
        (
            "The curve rises to its top and falls again: more directions carry more signal, and "
            "more noise."
        ),
        "Ten directions beat all 1,280 features by {gap:.0f} points.",
        (("pillar", 0.1, 10), ("dp_sgd", 0.1, 0)),
    ),
    Story(
        "best-k-moves",
        "Does a larger budget want more directions?",
        "fashion_mnist_2k",
        ("pillar", 1.0, 160),
        "Move ε from 0.1 to 3: the top of the curve walks to the right.",
        (
            "At ε = 1, 160 directions are {gap:.0f} points better than ten, which were best at ε "
            "= 0.1."
        ),
        (("pillar", 1.0, 160), ("pillar", 1.0, 10)),
    ),
    Story(
        "x-rays",
        "What does privacy cost on children's chest x-rays?",
        "pneumonia_mnist",
        ("pillar", 1.0, 20),
        "Compare the private curve with the line without privacy.",
        (
            "With 20 directions and ε = 1 the model is {gap:.1f} points better than with the "
            "same directions and no noise. Three seeds, one penalty: no law of nature."
        ),
        (("pillar", 1.0, 20), ("non_private", math.inf, 20)),
    ),
    Story(
        "public-labels",
        "What are 201 public labels worth?",
        "fashion_mnist_2k",
        ("adamix", 0.1, 0),
        "The line of public rows alone, and AdaMix, which starts from it.",
        (
            "At ε = 0.1 the public labels alone are {gap:.0f} points better than PILLAR on 1,799 "
            "private rows."
        ),
        (("only_public", 0.0, 0), ("pillar", 0.1, 0)),
    ),
    Story(
        "many-rows",
        "Do 9,000 private rows still need a projection?",
        "fashion_mnist",
        ("pillar", 0.3, 40),
        "The line without projection lies above most of the curve.",
        (
            "At ε = 0.3 training in all 1,280 features is no worse than in 40 directions "
            "({gap:+.1f} points): with enough rows the noise of all features is small."
        ),
        (("dp_sgd", 0.3, 0), ("pillar", 0.3, 40)),
    ),
    Story(
        "digits",
        "When does projecting handwritten digits pay?",
        "digits",
        ("pillar", 0.1, 10),
        "Compare the curve with the line without projection at ε = 0.1, then at ε = 1.",
        "At ε = 0.1 ten of 64 directions gain {gap:.0f} points; at ε = 1 they lose.",
        (("pillar", 0.1, 10), ("dp_sgd", 0.1, 0)),
    ),
    Story(
        "nothing-to-choose",
        "What if you need not choose k at all?",
        "fashion_mnist_2k",
        ("pillar_kalman", 0.3, 0),
        (
            "PILLAR Kalman has no slider for k: it weighs each direction by what the noise "
            "leaves of it."
        ),
        "At ε = 0.3 it is {gap:.1f} points better than PILLAR with the k of its rule.",
        (("pillar_kalman", 0.3, 0), ("pillar", 0.3, 0)),
    ),
    Story(
        "random-directions",
        "Is any small set of directions good enough?",
        "fashion_mnist_2k",
        ("jl", 1.0, 0),
        "Random directions (JL) and public ones (PILLAR) pay the same noise.",
        "At ε = 1 the public directions are {gap:.0f} points better than as many random ones.",
        (("pillar", 1.0, 0), ("jl", 1.0, 0)),
    ),
    Story(
        "bought-directions",
        "Could private rows find the directions themselves?",
        "fashion_mnist_2k",
        ("dp_pca", 0.1, 0),
        "DP-PCA spends a part of ε on the directions, and trains with what is left.",
        (
            "At ε = 0.1 directions from 201 public images are {gap:.0f} points better than "
            "directions that private rows pay for."
        ),
        (("pillar", 0.1, 0), ("dp_pca", 0.1, 0)),
    ),
    Story(
        "handwriting",
        "Can features learnt on photographs read handwriting privately?",
        "mnist",
        ("pillar", 0.1, 20),
        (
            "MNIST through a network that was trained on photographs, 2,250 private rows. Move ε "
            "and watch both lines."
        ),
        (
            "At ε = 0.1 twenty directions gain {gap:.0f} points over all 1,280; at ε = 1 nothing "
            "is left of that."
        ),
        (("pillar", 0.1, 20), ("dp_sgd", 0.1, 0)),
    ),
)
