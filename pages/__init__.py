"""One file per view; `frame` is what they share, `panels` are their larger parts."""
