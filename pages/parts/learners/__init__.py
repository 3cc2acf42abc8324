"""The page Learners: one budget, and the views that vary one thing."""
