"""Data that the library makes itself, from settings and a seed."""
