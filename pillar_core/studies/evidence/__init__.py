"""Attacks and audits of registered learners' runs."""
