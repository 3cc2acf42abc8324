"""One file per view; `frame` is what they share, `parts` holds their larger parts, a folder a
page."""
