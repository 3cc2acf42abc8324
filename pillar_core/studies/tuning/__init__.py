"""How settings are chosen, and what choosing them costs."""
