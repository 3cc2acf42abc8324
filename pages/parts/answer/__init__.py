"""The Answer page: candidates, the advice about them, and the model that follows from it."""
