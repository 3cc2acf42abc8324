"""Walls between browsers: what one brought, another neither lists, opens, shares, forgets nor finds in lists of runs and jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import jobs, store
from pillar_core.backbones import names
from pillar_core.backbones.weights import keep_upload
from pillar_core.data import owners, uploads
from pillar_core.data.owners import Asker
from pillar_core.errors import DataError, JobError, StoreError
from pillar_core.jobs import process as jobs_process
from pillar_core.jobs.state import Folder
from pillar_core.runs import records, splitting
from pillar_core.studies.screening import answers

NOBODYS_KEY = "0123456789abcdef" * 2


class Door:
    """Who asks, as a test says."""

    def __init__(self) -> None:
        self.who: Asker | None = None

    def opened_by(self, who: Asker | None) -> None:
        self.who = who


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Door]:
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(owners, "_FINDERS", list(owners._FINDERS))
    made = Door()
    owners.asked_by(lambda: made.who)
    return made


A, B = Asker("a" * 32, is_local=True), Asker("b" * 32, is_local=True)


def rows(scale: float = 1.0) -> pc.types.FeatureSet:
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32) * np.float32(scale)
    return dataclasses.replace(pc.features(x, np.arange(60) % 2, x[:20] + 1, np.arange(20) % 2), name="ward 7")


def test_another_browser_neither_lists_nor_opens_nor_forgets_what_one_brought(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    assert name != f"stored:{rows().fingerprint}"
    assert ([one.name for one in uploads.listed()], uploads.load(name).fingerprint) == ([name], rows().fingerprint)
    door.opened_by(B)
    assert uploads.listed() == ()
    assert uploads.card(name) is None
    assert "cells" not in uploads.title_of(name)
    assert not splitting.is_known(name)
    with pytest.raises(StoreError, match="not yours"):
        uploads.load(name)
    with pytest.raises(StoreError, match="not yours"):
        uploads.share(name, is_shared=True)
    splitting.forget_data(name)
    assert uploads.forget(name) == 0
    own = uploads.keep(rows(), title="cells.csv")
    assert own != name
    assert uploads.title_of(own) == "cells.csv", "a number behind it would tell of the other"
    door.opened_by(A)
    assert uploads.load(name).fingerprint == rows().fingerprint
    door.opened_by(None)
    assert {one.name for one in uploads.listed()} == {name, own}, "the person at this machine"


def test_the_words_of_a_refusal_do_not_tell_whether_a_set_exists(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    forgotten = uploads.keep(rows(2.0))
    uploads.forget(forgotten)
    door.opened_by(B)
    said = []
    for one in (name, forgotten, f"stored:{NOBODYS_KEY}"):
        with pytest.raises(StoreError) as refusal:
            uploads.load(one)
        said.append(str(refusal.value).replace(one, "NAME"))
    assert len(set(said)) == 1
    assert not {one for one in (name, forgotten) if uploads.may_open(one) or uploads.is_own(one)}


def test_who_forgot_a_set_is_told_when_and_may_bring_it_again(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    assert uploads.forget(name) > 0
    with pytest.raises(StoreError, match=r"was forgotten on \d\d \w+ \d{4} at \d\d:\d\d UTC, in the browser that brought it"):
        uploads.load(name)
    left = b"".join(store.default().get_bytes(key) or b"" for key in store.default().keys("blob"))
    assert b"cells" not in left
    assert uploads.keep(rows()) == name
    assert uploads.title_of(name) == "ward 7"
    door.opened_by(None)
    uploads.forget(name)
    door.opened_by(A)
    with pytest.raises(StoreError, match="from the command line"):
        uploads.load(name)


def test_what_is_shared_is_opened_by_its_name_and_by_nothing_else(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    uploads.share(name, is_shared=True)
    door.opened_by(B)
    assert uploads.load(name).fingerprint == rows().fingerprint
    assert uploads.title_of(name) == "cells.csv"
    assert uploads.listed() == ()
    assert not uploads.sees({"dataset": [name]})
    splitting.forget_data(name)
    door.opened_by(dataclasses.replace(B, opened=frozenset({name})))
    assert uploads.sees({"dataset": [name]})
    door.opened_by(A)
    uploads.share(name, is_shared=False)
    door.opened_by(dataclasses.replace(B, opened=frozenset({name})))
    assert not uploads.sees({"dataset": [name]})
    assert not uploads.may_open(name)


@pytest.mark.parametrize("has_card", [True, False])
def test_rows_without_an_owner_are_everyones_on_a_server_of_ones_own_alone(door: Door, *, has_card: bool) -> None:
    name = f"stored:{NOBODYS_KEY}"
    if has_card:
        name = uploads.keep(rows(), title="cells.csv")
    else:
        store.default().put_arrays(NOBODYS_KEY, x_train=rows().x_train, y_train=rows().y_train, classes=np.array(["0", "1"]))
    door.opened_by(A)
    assert (uploads.may_open(name), bool(uploads.listed())) == (True, has_card)
    door.opened_by(dataclasses.replace(A, is_local=False))
    assert (uploads.may_open(name), uploads.listed()) == (False, ())


def test_a_set_whose_card_is_lost_stays_its_owners(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    store.default().delete("blob", f"upload-{uploads.key_of(name)}")
    assert uploads.may_open(name)
    assert uploads.card(name).owner == A.owner
    door.opened_by(B)
    assert not uploads.may_open(name)


def test_lists_of_runs_hide_those_on_rows_of_others_as_private_or_public_data(door: Door) -> None:
    door.opened_by(A)
    name, other = uploads.keep(rows(), title="cells.csv"), uploads.keep(rows(3.0), title="wards.csv")
    door.opened_by(None)
    grid = {"method": "pillar", "epsilon": 2.0, "k": 2, "seed": 0}
    pc.sweep(grid | {"dataset": name, "public_fraction": 0.2})
    pc.sweep(grid | {"dataset": name, "public": other})
    given = pc.sweep(grid | {"dataset": rows(5.0), "public_fraction": 0.2})
    assert given["error_message"].isna().all()
    assert len(records.all_runs()) == 3
    door.opened_by(dataclasses.replace(B, is_local=False))
    assert records.all_runs().empty
    door.opened_by(B)
    assert list(records.all_runs()["data"]) == ["ward 7 (yours)"]
    door.opened_by(dataclasses.replace(A, is_local=False))
    assert list(records.all_runs()["data"]) == ["cells.csv (yours)"] * 2
    uploads.forget(name)
    assert list(records.all_runs()["data"]) == ["ward 7 (yours)"] * 2, "records stay, and stay their owner's"
    door.opened_by(B)
    assert len(records.all_runs()) == 1
    door.opened_by(A)
    uploads.forget(other)
    door.opened_by(dataclasses.replace(A, owner="c" * 32, is_local=False))
    assert records.all_runs().empty


def test_jobs_on_rows_of_others_are_neither_started_nor_found_nor_listed(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_process, "ensure", lambda folder: None)
    door.opened_by(A)
    name = uploads.keep(rows(), title="cells.csv")
    spec = {"kind": "sweep", "grid": {"dataset": ["digits"], "public": [name], "method": "pillar", "epsilon": 2.0}}
    job = jobs.submit(spec)
    assert [status.job_id for status in jobs.status()] == [job]
    assert jobs.find(spec).job_id == job
    door.opened_by(B)
    assert jobs.status() == ()
    for ask in (jobs.find, jobs.submit):
        with pytest.raises(StoreError, match="not yours"):
            ask(spec)
    for act in (jobs.status, jobs.spec, jobs.result, jobs.cancel, jobs.retry, jobs.wait):
        with pytest.raises(JobError, match="there is no job"):
            act(job)
    (Folder(store.default().root).job(job).folder / "spec.json").write_text("?", encoding="utf-8")
    assert jobs.status() == ()
    door.opened_by(None)
    assert [status.job_id for status in jobs.status()] == [job]


def test_a_kept_answer_about_images_of_others_is_refused(door: Door) -> None:
    door.opened_by(A)
    name = uploads.keep(pc.load_dataset("drawn_noise", n=50), title="x-rays.npz")
    ask = answers.Ask("ranking", "drawn_digits", (f"drawn_noise+{name}",))
    assert answers.kept(ask) is None
    door.opened_by(B)
    with pytest.raises(StoreError, match="not yours"):
        answers.kept(ask)


def test_paths_into_the_cache_are_refused_to_browsers(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    door.opened_by(A)
    key = uploads.key_of(uploads.keep(rows(), title="cells.csv"))
    root = store.default().root
    kept = next(root.rglob(f"{key}.npz"))
    (tmp_path / "link.npz").symlink_to(kept)
    monkeypatch.chdir(root)
    for path in (str(kept), str(kept.relative_to(root)), f"{root}/datasets/../{kept.relative_to(root)}", str(tmp_path / "link.npz"), "."):
        with pytest.raises(DataError, match="what other people brought"):
            owners.refuse_kept(path)
    for path in (str(tmp_path / "mine.npz"), f"{root}/datasets/ham10000", f"{root}/weights/{A.owner}/w.safetensors", "~nosuch/x", "\0"):
        owners.refuse_kept(path)
    with pytest.raises(DataError, match="what other people brought"):
        owners.refuse_kept(f"{root}/weights/{B.owner}/w.safetensors")
    door.opened_by(None)
    owners.refuse_kept(str(kept))


def test_only_a_browser_at_this_machine_names_its_files(door: Door, tmp_path: Path) -> None:
    afar, root = Asker("c" * 32), store.default().root
    door.opened_by(afar)
    for path in (str(tmp_path / "mine.npz"), "/etc", "~nosuch/x", "\0", str(root)):
        with pytest.raises(DataError, match="at the server itself alone"):
            owners.refuse_kept(path)
    owners.refuse_kept(f"{root}/weights/{afar.owner}/w.safetensors")


def test_the_same_weights_of_two_owners_are_two_files(door: Door) -> None:
    from safetensors.numpy import save

    content = save({"x": np.zeros(3, np.float32)})
    kept = {keep_upload(content, owner=owner) for owner in (A.owner, B.owner, "")}
    assert len(kept) == 3
    assert {path.read_bytes() for path in kept} == {content}
    backbone = names.with_options("resnet50:dino", {}, weights=keep_upload(content, owner=A.owner))
    for who, is_seen in ((A, True), (B, False), (None, True)):
        door.opened_by(who)
        assert uploads.sees({"grid": {"dataset": "digits", "backbone": [backbone]}}) == is_seen
