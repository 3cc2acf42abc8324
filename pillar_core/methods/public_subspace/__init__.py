"""Learners that work in directions which unlabelled public rows span."""
