"""The page Curves: the result of a slider, its curves, tuning, release."""
