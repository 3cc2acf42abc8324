"""Learners that release votes of private rows on public ones."""
