"""The page Check: your own training, and a model's zip."""
