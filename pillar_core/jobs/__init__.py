"""Work outside the browser session: submit, status, cancel, result, retry. State lies on disk; anybody may look and stop it."""

from pillar_core.jobs.api import cancel, find, forget, result, retry, spec, start, status, stop, submit, use_scheduler, wait
from pillar_core.jobs.kind import JOB_KINDS, JobKind
from pillar_core.jobs.state import JobStatus
