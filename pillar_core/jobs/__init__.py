"""Work outside the browser session: submit, status, cancel, result, retry. State lies on disk; anybody may look and stop it."""

from pillar_core.jobs.api import (
    JOB_KINDS,
    JobKind,
    JobStatus,
    cancel,
    find,
    forget,
    result,
    retry,
    spec,
    start,
    status,
    stop,
    submit,
    use_scheduler,
    wait,
)

__all__ = [
    "JOB_KINDS",
    "JobKind",
    "JobStatus",
    "cancel",
    "find",
    "forget",
    "result",
    "retry",
    "spec",
    "start",
    "status",
    "stop",
    "submit",
    "use_scheduler",
    "wait",
]
