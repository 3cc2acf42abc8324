"""Work outside the browser session: submit, status, cancel, result, retry. State lies on disk;
anybody may look and stop it.

>>> list(pc.jobs.JOB_KINDS)
['extract', 'fetch', 'separators', 'screening', 'sweep']
"""

from pillar_core import checks
from pillar_core.jobs.api import (
    cancel,
    find,
    result,
    retry,
    spec,
    status,
    stop,
    submit,
    use_scheduler,
    wait,
)
from pillar_core.jobs.kind import JOB_KINDS, JobKind
from pillar_core.jobs.state import JobStatus

__all__ = checks.guarded_names(__name__)
