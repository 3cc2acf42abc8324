"""Questions asked of many runs: comparisons, the papers' tables, evidence, tuning, screening,
geometry, lessons."""
