"""Explore's view by class: measures of two and of many classes, the confusion matrix and misread rows, once somebody asks."""

import pytest

from page_reading import words


@pytest.mark.parametrize(("data", "measure"), [("breast_cancer", "Sensitivity to malignant"), ("digits", "Rarest quarter of the classes")])
def test_measures_by_class_stay_inside_0_and_100(start, data, measure):
    app = start(data=data, view="classes", epsilon="1")
    assert not app.exception
    table = app.dataframe[0].value
    assert table["measure"].str.startswith(measure).any()
    assert table["measure"].iloc[-1] == "Always saying the largest class"
    for value, ends in zip(table["%"], table["95 % interval"], strict=True):
        low, high = (float(end) for end in (ends or "0 to 100").split(" to "))
        assert 0 <= low <= float(value) <= high <= 100
    assert "largest class alone" in words(app)
