"""The library's one name for a numpy array; its shape, type and meaning stand in the docstring of what takes or returns it."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
