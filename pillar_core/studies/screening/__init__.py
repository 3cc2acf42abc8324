"""Screening by name, kept on disk, and beside what it is for: the accuracy that each candidate
really brings."""
