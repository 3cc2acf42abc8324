"""The Runs page: plan, jobs, results, exports, papers."""
