"""Learners that train networks on images."""
