"""The memory of computed values: each made once, also by several threads; a failure is not kept."""

import threading
import time

import pytest

from pillar_core.memo import Memo


def test_an_entry_is_made_once_by_many_threads_and_others_do_not_wait() -> None:
    memo, made, gate = Memo(), [], threading.Event()

    def slow() -> str:
        made.append(1)
        gate.wait(5)
        return "slow"

    threads = [threading.Thread(target=lambda: memo.get("a", slow)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while not made:
        time.sleep(0.001)
    # while "a" is being made, "b" is free
    assert memo.get("b", lambda: "quick") == "quick"
    assert "a" not in memo
    gate.set()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert memo.get("a", lambda: "other") == "slow"


def test_the_least_recently_used_entry_leaves_first_and_a_failure_is_not_kept() -> None:
    memo = Memo(slots=2)
    for key in ("a", "b", "a", "c"):
        memo.get(key, lambda: 1)
    assert ("a" in memo, "b" in memo, "c" in memo) == (True, False, True)
    memo.clear()
    assert "a" not in memo
    memo = Memo()

    def fails() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        memo.get("a", fails)
    assert "a" not in memo
    assert memo.get("a", lambda: memo.get("b", lambda: 2) + 1) == 3
