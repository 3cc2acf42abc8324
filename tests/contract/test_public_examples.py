"""Every public name shows how it is used, and what it then says."""

import doctest
import inspect
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("name", pc.__all__)
def test_the_example_of_a_public_name_says_what_it_says(name):
    item = getattr(pc, name)
    shown = item if isinstance(item, ModuleType) or callable(item) else type(item)
    text = inspect.getdoc(inspect.unwrap(shown))
    example = doctest.DocTestParser().get_doctest(
        text, {"pc": pc, "np": np, "pd": pd}, name, None, 0
    )
    assert example.examples
    assert doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(example).failed == 0
