"""Learn: six steps with one control each. Predict, then reveal what real digits say."""

from pages.frame import failures, navigation, session, theme
from pages.parts.learn import lesson, teacher

navigation.begin()
settings = session.current()

theme.title(
    "Private learning in six guesses",
    "Each step asks <b>one question</b>. Guess, reveal, then move the one control and see how far your intuition carries. "
    "The digits are scans of 8 × 8 pixels on purpose: models are trained while you watch, and all 64 numbers of a row can be seen.",
)
lesson.contents(settings)
with failures.shown("This step could not be computed."):
    lesson.step(settings)
teacher.panel(settings)
