"""Lessons: three lessons, whose steps have one control each. Predict, then reveal what real images
say."""

from pages.frame import failures, navigation, theme
from pages.parts.lessons import lesson, teacher
from pages.parts.lessons.steps import of_number

settings = navigation.begin()
now, _ = of_number(settings.lesson)
theme.title(now.title, now.about)
lesson.choose(settings)
lesson.contents(settings)
with failures.show_refusal("This step could not be computed."):
    lesson.step(settings)
teacher.panel(settings)
