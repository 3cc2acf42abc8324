"""Check my run: the certified ε of somebody's training with another library, what that library
says, and what to change."""

from pillar_core.studies.check.fields import ALTERNATIVES, FIELDS
from pillar_core.studies.check.formulas import LIBRARIES, SAMPLERS, Reported
from pillar_core.studies.check.reading import Reading
from pillar_core.studies.check.run import RunCheck, check_run, sampler_of
from pillar_core.studies.check.script import read_script
