"""The page Public data: the question, the sets it is about, the answer drawn."""
