"""The page Runs: plan, jobs, results, exports, papers."""
