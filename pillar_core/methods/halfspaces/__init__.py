"""The learners of the two theory papers: halfspaces and disjunctions."""
