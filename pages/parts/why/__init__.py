"""The Geometry page: what is drawn, for which sets, from cached calls."""
