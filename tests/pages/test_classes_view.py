"""Explore's view by class: measures of two and of many classes, the confusion matrix and misread rows, once somebody asks."""

import re

import pytest

from page_reading import words


@pytest.mark.parametrize(("data", "measure"), [("breast_cancer", "Sensitivity to malignant"), ("digits", "Rarest quarter of the classes")])
def test_measures_by_class_stay_inside_0_and_100(start, data, measure):
    app = start(data=data, view="classes", epsilon="1")
    table = app.dataframe[0].value
    assert table["measure"].str.startswith(measure).any()
    assert table["measure"].iloc[-1] == "Always saying the largest class"
    for value, ends in zip(table["%"], table["95 % interval"], strict=True):
        low, high = (float(end) for end in (ends or "0 to 100").split(" to "))
        assert 0 <= low <= float(value) <= high <= 100
    assert "largest class alone" in words(app)


def test_misread_rows_are_as_many_as_the_accuracy_says(start):
    app = start(data="digits", view="classes", epsilon="1")
    assert "test rows are misread" not in words(app)
    app.session_state["misread"] = True
    app.run()
    wrong, rows = map(int, re.search(r"(\d+) of (\d+) test rows are misread", words(app)).groups())
    assert round(100 * (1 - wrong / rows), 1) == float(app.dataframe[0].value["%"].iloc[0])
