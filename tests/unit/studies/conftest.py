"""What tests of studies share."""

import pytest

import pillar_core as pc


@pytest.fixture(scope="module")
def split():
    return pc.split(pc.load_dataset("digits"), public_fraction=0.3)
