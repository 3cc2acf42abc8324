"""The library's names for types without one: a numpy array, and a value of JSON."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""Shape, type and meaning stand in the docstring of what takes or returns it."""
Json = Any
"""A text, number, truth, None, list or object, as JSON holds it; its reader checks which."""
