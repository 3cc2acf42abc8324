"""The library's one name for a numpy array; its shape, type and meaning stand in the docstring of what takes or returns it."""

import dataclasses
from typing import Annotated, Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Axes:
    """A name for each axis of an argument, none of them empty, but the first where `may_be_empty`; `is_whole`: whole numbers only.

    Axes of one name are equally long in all arguments of a call, and `arguments` holds what comes in through the public face to it.
    """

    names: str
    may_be_empty: bool = False
    is_whole: bool = False


Rows = Annotated[Array, Axes("n d")]
Labels = Annotated[Array, Axes("n")]
