"""What a shared rule reads of a learner's settings."""

import pytest

from contract.cases import case_for
from pillar_core import params
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS


@pytest.mark.parametrize("name", ["pillar", "noisy_gd", "gep", "adamix", "pda_dpmd"])
@pytest.mark.parametrize("field", ["steps", "noise_multiplier"])
def test_a_cost_is_refused_while_a_setting_that_it_reads_is_unknown(name, field):
    case = case_for(METHODS[name])
    with pytest.raises(SettingError, match=f"{field} is not known yet"):
        METHODS[name].cost(params.replace_settings(case.settings, **{field: None}), case.view.facts)


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("noisy_gd", "batch_size"),
        ("gep", "bias"),
        ("dp_sgd", "weight_decay"),
        ("ppgd", "batch_size"),
    ],
)
def test_what_a_learner_leaves_out_is_no_setting_of_it(name, out):
    settings = METHODS[name].settings()
    assert not getattr(settings, out)
    assert out not in params.params_of(settings)
