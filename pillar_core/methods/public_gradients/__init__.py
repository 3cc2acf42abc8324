"""Learners that labelled public rows guide: by a start, a reference, a scale, a clip norm or a
subspace of gradients."""
