"""The Explore page: the result of a slider, its curves, tuning, release."""
