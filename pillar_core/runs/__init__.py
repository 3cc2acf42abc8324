"""Runs and sweeps: the only place where data, methods and accounting are wired together."""
