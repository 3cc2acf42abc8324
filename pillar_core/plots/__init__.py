"""Figures: a tidy table in, a plotly figure out. No page, no session, no files.

Every figure carries `layout.meta["alt"]` and `layout.meta["caption"]`; colours, dashes and order
come from `theme`.

>>> pc.plots.epsilon_label(2.0)
'ε = 2'
"""

from pillar_core import checks
from pillar_core.numerics import wilson
from pillar_core.plots.accuracy import Here, accuracy_against_k, accuracy_heatmap
from pillar_core.plots.bars import comparison, expected, gains, overlay
from pillar_core.plots.budgets import error_against_epsilon, expected_by_budget, mark_pins
from pillar_core.plots.classes import class_balance, confusion, per_class, possible_answers
from pillar_core.plots.columns import column_curves
from pillar_core.plots.effect import accuracy_by, effect, total_budget
from pillar_core.plots.evidence import (
    audit_power,
    individual_by_class,
    individual_losses,
    membership_roc,
    one_run_reach,
    reconstruction_strip,
    right_guesses,
    two_worlds,
)
from pillar_core.plots.geometry import (
    BASES,
    by_direction,
    map_2d,
    margin_histogram,
    spectrum_and_gaps,
    xi_against_k,
)
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.odds import odds_dots, promise, turned
from pillar_core.plots.prediction import (
    best_k_against_epsilon,
    predicted_accuracy,
    projection_gains,
)
from pillar_core.plots.privacy import (
    bars_of_epsilon,
    epsilon_against_delta,
    epsilon_against_steps,
    noise_against_epsilon,
    trade_off_curve,
)
from pillar_core.plots.screening import (
    angles,
    captured_gradients,
    distance_map,
    gradient_spectra,
    order_over_training,
    public_rows,
    ranking,
    reconstruction_bound,
    score_against_accuracy,
)
from pillar_core.plots.theme import (
    Mode,
    epsilon_colour,
    epsilon_label,
    epsilon_value,
    in_mode,
    in_order,
    method_style,
    pin_colour,
)
from pillar_core.plots.theory import (
    choice_errors,
    component_graph,
    component_table,
    mixture_errors,
    rates,
    rows_against_dimension,
)

__all__ = checks.guarded_names(__name__)
