"""The page Why: what is drawn, for which sets, from cached calls."""
