"""The threshold of a model of two classes, by the sensitivity that is wanted, and the command that labels new rows with it."""

import shlex

import streamlit as st

from pages.frame import badges, local, plain
from pages.frame.settings import Settings
from pages.parts.answer import private_test
from pages.parts.answer.views import LOOK
from pillar_core.metrics.classification import threshold_at
from pillar_core.runs import use
from pillar_core.types import Provenance


def panel(settings: Settings) -> None:
    """What the model that was just trained reaches on public rows with labels, or on test rows once you look at them."""
    if (model := private_test.latest_model(settings)) is None or model[1].features.n_classes != 2:
        return
    classifier, split, features = model[0].classifier, model[1], model[1].features
    is_seen = features.y_test is not None and bool(local.value(LOOK, False)) and not private_test.is_locked(settings)
    x, y = (features.x_test, features.y_test) if is_seen else (split.public_x, split.public_y)
    with st.expander("Choose a threshold", icon=":material/rule:"):
        if classifier is None or x is None or y is None or len(set(y.tolist())) < 2:
            st.caption("It takes public rows with labels of both classes, or a look at the test rows.")
            return
        names = dict(enumerate(features.classes))
        place = int(local.choice("answer-positive", names, 1))
        wanted = float(local.slider("answer-sensitivity"))
        p = use.probabilities(classifier.scores(x).astype(float))[:, place]
        threshold, sensitivity, specificity = threshold_at(p, y == place, wanted)
        badges.show(Provenance.NON_PRIVATE if is_seen else Provenance.PUBLIC)
        rows = "test rows" if is_seen else "public rows, which may have trained the model, too"
        reached = f"finds {100 * sensitivity:.1f} % of {names[place]} and is right on {100 * specificity:.1f} % of {names[1 - place]}"
        st.markdown(plain.text(f"From a probability of {threshold:.4f} on, it {reached}: on {len(y):,} {rows}."))
        command = f"python -m pillar_core predict model.zip ROWS --threshold {threshold:.4f} --positive {shlex.quote(names[place])}"
        st.code(command, language="bash", wrap_lines=True)
