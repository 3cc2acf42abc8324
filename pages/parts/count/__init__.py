"""The page Count: a run of noisy steps, counted."""
