"""Formulas only: calculators of the papers' theorems, and playgrounds whose truth is known in
closed form.

>>> round(pc.theory.fewest_rows(gap=0.1, beta=2.0))
6400
"""

from pillar_core import checks
from pillar_core.theory import adamix, lemmas, mixture, pillar_shift, rates, semi_private
from pillar_core.theory.calculator import CALCULATORS, Calculator, Form, Outcome, Range, Value
from pillar_core.theory.components import (
    MOST_COMPONENTS,
    Choice,
    ComponentGraph,
    choice,
    component_graph,
    random_graph_rows,
)
from pillar_core.theory.lemmas import fewest_rows, projector_bound
from pillar_core.theory.mixture import predicted_error, rows_needed
from pillar_core.theory.rates import rate_curves

__all__ = checks.guarded_names(__name__)
