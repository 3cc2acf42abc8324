"""Runs, sweeps, jobs and tables: the only place where data, methods and accounting are wired together."""

from pillar_core.experiments import jobs_extraction, jobs_geometry, jobs_screening, jobs_sweep

__all__ = ["jobs_extraction", "jobs_geometry", "jobs_screening", "jobs_sweep"]
