"""The page Answer: candidates, the advice about them, and the model that follows from it."""
