"""The story that a link tells on Curves: what to see, its surprise and a next step beside its
figure."""

import contextlib
import dataclasses

import streamlit as st

import pillar_core as pc
from pages.frame import local, memory, navigation
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.errors import DataError
from pillar_core.studies import portable
from pillar_core.studies.portable.stories import STORIES, Setting, Story
from pillar_core.types import Form

_NAME = "story"
_gap = memory.cache(is_free=True)(portable.shipped_gap)


def link(story: Story, opening: Setting, label: str) -> None:
    """A link to a setting of the story, on Curves."""
    method, epsilon, k = opening
    settings: Form = {"data": story.dataset, "method": method, "k": k}
    settings["epsilon"] = epsilon or story.opening[1]  # 0 of a learner without private rows
    told = {"controls": f"{_NAME}:{story.name}"}
    navigation.link("curves", label, changes=dataclasses.asdict(Settings()) | settings | told)


def banner(settings: Settings) -> None:
    """The story that the link names, while its data are shown."""
    name = local.linked_value(_NAME, "")
    story = next((each for each in STORIES if each.name == name), None)
    if story is None or settings.data != story.dataset:
        return
    surprise = ""
    with contextlib.suppress(DataError):  # without its records the figure tells it
        surprise = story.surprise.format(gap=_gap(story))
    with st.container(border=True, key="story"):
        st.markdown(f":material/menu_book: **{story.question}** {story.see} {surprise}")
        present = (settings.method, settings.epsilon, settings.k)
        following = next(each for each in story.compared[::-1] if each != present)
        method, epsilon, k = following
        how = f" with k = {k}" if k else ""
        label = f"Next: {pc.METHODS[method].title}{how} at {plots.epsilon_label(epsilon)}"
        link(story, following, label)
