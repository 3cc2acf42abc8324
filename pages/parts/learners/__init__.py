"""The Compare page: one budget, and the views that vary one thing."""
