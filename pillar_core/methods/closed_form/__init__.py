"""Learners whose model is computed in closed form from noisy sums."""
