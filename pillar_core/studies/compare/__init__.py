"""Learners side by side at one budget, and views that vary one thing."""
