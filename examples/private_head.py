"""A private head on features of your own: `python examples/private_head.py [FILE.npz] [--epsilon
1]`.

Without a file, the embedded digits stand in. Some of the train rows are taken as public; the rest
is what ε protects.
"""

import argparse

import pillar_core as pc

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "file",
    nargs="?",
    help="npz with x_train, y_train and perhaps x_test, y_test, classes; or csv, parquet",
)
parser.add_argument("--epsilon", type=float, default=1.0)
options = parser.parse_args()

features = (
    pc.load_features(options.file) if options.file else pc.load_features(pc.load_dataset("digits"))
)
split = pc.split(features, public_fraction=0.1)
for method in ("pillar", "dp_sgd"):
    record = pc.run(method, split, epsilon=options.epsilon)  # seeded: an experiment
    print(
        f"{method:>8}: {record.accuracy:.1%} on test rows, ε ≤ {record.guarantee.epsilon.upper:.3f}"
    )

release = pc.run(
    "pillar", split, epsilon=options.epsilon, seed=None
)  # noise from the operating system: may leave the machine
path = pc.save_model(release, "private_head.zip", classes=features.classes)
print(f"saved {path}; pc.load_model({str(path)!r}).predict(x) gives labels")
