"""`advise`: which learner and which public set, and what accuracy to expect, before any private row is read."""

import argparse
import json
from typing import Any

from pillar_core.commands import options as shared
from pillar_core.commands.options import features_of, is_table_file
from pillar_core.studies.advice import Advice, advise
from pillar_core.studies.advice.free import IN_WORDS


def command(options: argparse.Namespace) -> int:
    """Prints the sentence, its grounds, and what every learner should reach."""
    split = shared.load_split(options, seed=options.seed)
    candidates = {name: name if is_table_file(name) else features_of(name, options.backbone, {}) for name in options.candidates}
    asked = {name: getattr(options, name) for name in ("epsilon", "delta", "relation", "alike", "target_accuracy", "seed")}
    found = advise(split, candidates=candidates or None, **asked)
    print(json.dumps(_plain(found), indent=2, ensure_ascii=False) if options.json else _words(found))
    return 0


def _plain(found: Advice) -> dict[str, Any]:
    names = ("method", "settings", "expected_accuracy", "predicted", "held", "public", "epsilon", "sentence", "reasons", "price")
    return {name: getattr(found, name) for name in names}


def _words(found: Advice) -> str:
    lines = [found.sentence, *(f"why  {line}" for line in found.reasons), f"price {found.price}"]
    for one in found.predictions:
        low, high = (100 * end for end in one.accuracy)
        lines.append(f"{one.method:<24} {one.public:<24} {100 * one.middle:5.1f} %  ({low:.1f} to {high:.1f}){IN_WORDS[one.metric]}")
    return "\n".join(lines)
