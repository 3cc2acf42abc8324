"""What a shared rule reads of a learner's settings."""

import dataclasses

import pytest

from contract.cases import case_for, small_split
from pillar_core import params
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules


@pytest.mark.parametrize("name", ["pillar", "noisy_gd", "gep", "adamix", "pda_dpmd"])
@pytest.mark.parametrize("field", ["steps", "noise_multiplier"])
def test_a_cost_is_refused_while_a_setting_that_it_reads_is_unknown(name, field):
    case = case_for(METHODS[name])
    with pytest.raises(SettingError, match=f"{field} is not known yet"):
        METHODS[name].cost(params.replace_settings(case.settings, **{field: None}), case.view.facts)


def test_a_batch_is_expected_to_be_its_share_of_the_private_rows():
    facts = small_split().facts
    found = [rules.sampling_probability(size, facts) for size in (30, None, 999)]
    assert found == [30 / 120, 1, 1]


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


@dataclasses.dataclass(frozen=True)
class _Own:
    share: float = params.declare(0.1, "A share.", low=0, high=1, high_open=True)
    rows: int | None = params.declare(None, "Rows.", low=1, none_means="all")
    way: str = params.declare("on", "A way.", choices=("on", "off"))


def test_a_declared_setting_has_the_name_and_the_type_of_its_field():
    declared = params.params_of(_Own)
    assert {name: (param.name, param.kind) for name, param in declared.items()} == {
        "share": ("share", float),
        "rows": ("rows", int),
        "way": ("way", str),
    }
    assert params.check_settings(_Own(share=0, rows=3)) == _Own(share=0.0, rows=3)
    with pytest.raises(SettingError, match=r"share must be a number in \[0, 1\); got 1\."):
        params.check_settings(_Own(share=1))
    with pytest.raises(SettingError, match=r"rows must be a whole number in \[1, inf\), or none"):
        params.check_settings(_Own(rows=0))
    declared.clear()
    assert params.params_of(_Own())
