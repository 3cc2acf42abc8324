"""The Screen page: the question, the sets it is about, the answer drawn."""
