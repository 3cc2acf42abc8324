"""What a guarantee rests on, line by line, and who answers for each."""

from collections.abc import Iterator, Sequence
from typing import Any

from pillar_core.data import raw
from pillar_core.methods import Method
from pillar_core.runs import private_tests
from pillar_core.types import BY_COIN, SemiPrivateSplit

SIZE_PUBLIC = (
    "the number of private rows is public: settings and scaling take it as known, and one example"
    " more or less does not change it"
)
NOISE_SECRET = (
    "the noise stays secret: this is a simulation with a known seed, an experiment and not for"
    " release"
)
NOISE_SYSTEM = "noise and sampling came from the operating system and were recorded nowhere"
NOISE_EXACT = (
    "noise and sampling came from the operating system, with exactly the law that is charged, and"
    " were recorded nowhere"
)
LOW_BITS = (
    "nobody reads the low bits of the noise, which was drawn in floating point: they may show what"
    " it was added to"
)
CLASSES_PUBLIC = (
    "the list of classes is public and fixed beforehand; of one read off the labels, that a class"
    " occurs is not protected"
)
FORM_PUBLIC = (
    "how rows became features (columns, scaling, image size, colour, backbone) is public, fixed"
    " without looking at private rows"
)
EXTRACTED = (
    "each row's features depend on that row alone, whatever rows went through the backbone with it:"
    " batches have one size, and no test of this library holds their rounding to that"
)
MAPPED = (
    "the map of columns {} was fitted on public rows or declared ranges alone, before anything was"
    " released, and takes each row by itself"
)
FORM_SEEN = (
    "how rows became features (columns, scaling, image size, colour, backbone) is public, and"
    " private rows decided nothing of it but this, which no ε covers: {}"
)
PERSON_NAMED = "every row names its person rightly, and no person has two names"
PERSON_APART = (
    "no person of the private rows has public rows: names of both were compared, and private rows"
    " of such a person left out"
)
PERSON_STATED = (
    "you state that no person of the private rows has public rows: their names were not compared"
)
ROW_APART = "no private row is among the public ones too: ε protects none that is"
DECLARED = (
    "public rows are made up from ranges and categories, which are public, declared without looking"
    " at private rows"
)
TEXT_PUBLIC = "the embeddings of class names are public, made without looking at private rows"
FOREIGN = (
    "the learner, from the package {}, charges all that it releases: no test of this library has"
    " held it to that"
)
SPLIT_GIVEN = f"the split is taken as given{private_tests.UNTESTED}"
SPLIT_BY_COIN = (
    "a secret coin of each row or person, drawn by this library, alone made test"
    f" rows{private_tests.UNTESTED}"
)
HOLDS = "It holds if"
LIBRARY = "this library"
DATA = "whoever prepared the data"
MAKERS = "whoever made the backbone, the weights or the package"
TRAINER, NOBODY = "whoever trained the model", "nobody: this library does not defend against it"
_OWNERS = {
    LIBRARY: (
        SPLIT_BY_COIN,
        MAPPED,
        NOISE_SYSTEM,
        NOISE_EXACT,
        PERSON_APART,
        "the public set was chosen on private rows",
    ),
    NOBODY: (LOW_BITS,),
    DATA: (
        *("the number of private rows is public", CLASSES_PUBLIC, FORM_PUBLIC, FORM_SEEN, DECLARED),
        *(PERSON_NAMED, PERSON_STATED, ROW_APART, "no person has more than"),
    ),
    MAKERS: (
        EXTRACTED,
        TEXT_PUBLIC,
        FOREIGN,
        "the weights that the network starts from",
        "each row's gradient depends",
    ),
}
"""Who answers for an assumption, by how it begins, up to a place that is filled in; all others are
for `TRAINER`."""


def assumptions_of(
    split: SemiPrivateSplit, learner: Method[Any], *, is_seeded: bool, is_exact: bool
) -> Iterator[str]:
    """What the guarantee of a run rests on, line by line."""
    features, is_of_persons = split.features, split.rows_per_person is not None
    yield from (SIZE_PUBLIC, CLASSES_PUBLIC)
    yield FORM_SEEN.format(", and ".join(features.caveats)) if features.caveats else FORM_PUBLIC
    yield SPLIT_BY_COIN if features.test_drawn == BY_COIN else SPLIT_GIVEN
    if is_of_persons:
        yield PERSON_NAMED
    if learner.is_private and is_seeded:
        yield NOISE_SECRET
    elif learner.is_private:
        yield from (NOISE_EXACT,) if is_exact else (NOISE_SYSTEM, LOW_BITS)
    if features.columns is not None:
        yield MAPPED.format(features.backbone)
    elif features.backbone not in ("identity", "raw_pixels"):
        yield EXTRACTED
    if split.public_name == raw.MADE_UP_NAME and split.settings.get("public") is not None:
        yield DECLARED
    elif split.settings.get("public") is not None:
        of_persons = PERSON_APART if split.is_apart else PERSON_STATED
        yield of_persons if is_of_persons else ROW_APART
    if split.text_embeddings is not None:
        yield TEXT_PUBLIC
    if learner.package:
        yield FOREIGN.format(learner.package)
    yield from learner.assumptions


def owner_of(assumption: str) -> str:
    """Who answers for an assumption of a guarantee."""
    owners = (
        owner
        for owner, starts in _OWNERS.items()
        if assumption.startswith(tuple(start.partition("{")[0] for start in starts))
    )
    return next(owners, TRAINER)


def in_lines(assumptions: Sequence[str]) -> list[str]:
    """A heading, and each assumption on a line with who answers for it."""
    return [
        f"{HOLDS} all of this is true (in brackets, who answers for it):",
        *(f"- {line} ({owner_of(line)})" for line in assumptions),
    ]
