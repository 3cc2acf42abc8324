"""`choose`: private rows choose among public sets within ε, and the learner is trained with the rest of it."""

import argparse
import json

from pillar_core.commands import options as shared
from pillar_core.commands.options import features_of, is_table_file
from pillar_core.runs.models import guarantee_card, save_model
from pillar_core.studies.advice import choose


def command(options: argparse.Namespace) -> int:
    """Chooses, trains and prints what was chosen."""
    split = shared.load_split(options, seed=options.seed)
    candidates = {name: name if is_table_file(name) else features_of(name, options.backbone, {}) for name in options.candidates}
    asked = {name: getattr(options, name) for name in ("epsilon", "delta", "relation", "methods")}
    found = choose(split, candidates, **asked, seed=None if options.release else options.seed)
    if options.json:
        names = ("public", "method", "settings", "expected_accuracy", "reasons", "sentence")
        plain = {name: getattr(found, name) for name in names} | {"backbone": options.backbone, "accuracy": found.record.accuracy}
        print(json.dumps(plain | {"guarantee": guarantee_card(found.guarantee)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join([found.sentence, *(f"why  {line}" for line in found.reasons)]))
        if found.record.accuracy is not None:
            print(f"accuracy  {100 * found.record.accuracy:.2f} % (non-private release of the test rows)")
    if options.export:
        print(f"model written to {save_model(found.record, options.export, split=found.split)}")
    return 0
