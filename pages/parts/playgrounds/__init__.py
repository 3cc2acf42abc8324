"""The page Playgrounds: calculators and playgrounds."""
