"""Who gets in: accounts of the machine, names and origins of a request, the token, and what a
visitor's browser may send."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.frame import door
from pillar_core import explorer, mode
from pillar_core.errors import SettingError
from users import raises

HOST = ("host", "127.0.0.1:8501")


@pytest.fixture
def connection():
    """The two ends of a connection over the loopback, as the server sees them."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        yield client.getsockname(), server.getsockname()


def answer(
    kind: str,
    ends: Any,
    *headers: tuple[str, str],
    path: str = "/",
    query: str = "",
    frames: tuple[bytes, ...] = (),
) -> list[Any]:
    """What is sent for a request by an app that repeats each frame that reaches it."""
    sent: list[Any] = []
    frame = iter(
        [
            *({"type": "websocket.receive", "bytes": frame} for frame in frames),
            {"type": "websocket.disconnect"},
        ]
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while kind == "websocket" and (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "bytes": message["bytes"]})

    async def receive() -> Any:
        return next(frame)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "client": ends[0],
        "server": ends[1],
    }
    written = [(name.encode(), value.encode()) for name, value in headers]
    asyncio.run(door.Door(app)(scope | {"headers": written}, receive, send))
    return sent


def status(*asked: Any, **more: Any) -> int:
    return int(answer("http", *asked, **more)[0]["status"])


@pytest.mark.parametrize(("demo", "hub"), [("0", ""), ("1", " https://huggingface.co")])
def test_on_a_hub_a_demo_is_framed_by_the_hub_alone(connection, monkeypatch, demo, hub):
    monkeypatch.setenv("SPACE_ID", "you/explorer")
    monkeypatch.setenv(mode.DEMO, demo)
    assert (b"content-security-policy", f"frame-ancestors 'self'{hub}".encode()) in answer(
        "http", connection, HOST
    )[0]["headers"]


def test_one_person_at_this_machine_gets_in_by_its_name_and_no_page_of_another_origin(connection):
    assert (b"content-security-policy", b"frame-ancestors 'self'") in answer(
        "http", connection, HOST
    )[0]["headers"]
    headers = {
        200: [
            [("host", "localhost:8501")],
            [("host", "[::1]:8501")],
            [HOST, ("origin", "http://127.0.0.1:8501")],
        ],
        403: [
            [],
            [("host", "rows.example.org")],
            [("host", "localhost.example.org:8501")],
            [HOST, ("x-forwarded-for", "127.0.0.1")],
            *(
                [HOST, ("origin", origin)]
                for origin in (
                    "http://localhost:1",
                    "https://127.0.0.1",
                    "http://evil.example",
                    "null",
                )
            ),
        ],
    }
    for expected, each in headers.items():
        assert [status(connection, *given) for given in each] == [expected] * len(each)
    assert answer("websocket", connection, HOST, ("origin", "http://evil.example")) == [
        {"type": "websocket.close", "code": 1008}
    ]
    assert status((("192.0.2.1", 5), connection[1]), HOST) == 403
    assert status((None, connection[1]), HOST) == 403


def test_other_accounts_of_the_machine_stay_out_but_for_root_and_the_health_check(
    connection, monkeypatch, tmp_path
):
    """The kernel says whose the other end of the connection is; a closed end has no inode, and is
    no root's."""
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    assert status(connection, HOST) == (200 if own == 0 else 403)
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    head, ends = (
        "  sl  local_address rem_address ...\n",
        (
            ("127.0.0.1", 0xA1B2),
            ("127.0.0.1", 0x2135),
        ),
    )
    line = "   0: {local}:A1B2 {local}:2135 01 0:0 0:0 0 {account} 0 {inode} 1 0 20 4 30 10 -1\n"
    lists = {name: tmp_path / name for name in ("tcp", "tcp6")}
    monkeypatch.setattr(door, "Path", lambda path: lists[path.rpartition("/")[2]])
    mapped, foreign = (
        "0000000000000000FFFF00000100007F",
        line.format(local="0100007F", account=65534, inode=7),
    )
    for local, account, inode, expected in (
        *(
            ("0100007F", 1000, 7, 200),
            ("0100007F", 0, 7, 200),
            (mapped, 1000, 7, 200),
            ("0100007F", 65534, 7, 403),
        ),
        *((mapped, 65534, 7, 403), ("0100007F", 0, 0, 403), ("0200007F", 1000, 7, 403)),
    ):
        of_six = local == mapped
        lists["tcp"].write_text(
            head + ("" if of_six else line.format(local=local, account=account, inode=inode))
        )
        lists["tcp6"].write_text(
            head + (line.format(local=local, account=account, inode=inode) if of_six else "")
        )
        assert status(((*ends[0],), ends[1]), HOST) == expected, (local, account, inode)
        assert (
            status(ends, HOST, path="/pillar/_stcore/health")
            == status(ends, HOST, path="/ready")
            == 200
        )
    for path in lists.values():
        path.unlink()
    assert status(ends, HOST) == 200, "a system without such lists"
    lists["tcp"].write_text(head + foreign)
    lists["tcp6"].write_text(head)
    assert (status(ends, HOST), status(((*ends[0],), ends[1]), HOST)) == (
        200,
        403,
    ), "once a connection, and anew for the next"
    assert status((("192.0.2.1", 5), ends[1]), HOST) == 403


def test_readiness_lies_where_the_app_does(connection, monkeypatch):
    monkeypatch.setattr(
        st, "get_option", {"server.baseUrlPath": "/pillar/", "server.corsAllowedOrigins": ()}.get
    )
    monkeypatch.setenv(mode.TOKEN, "x")
    assert [status(connection, HOST, path=path) for path in ("/pillar/ready", "/ready")] == [
        200,
        403,
    ]


def test_a_token_opens_the_app_from_everywhere_and_a_cookie_keeps_it(monkeypatch):
    monkeypatch.setenv(mode.TOKEN, "open sésame")
    afar, host = (("192.0.2.1", 5), ("192.0.2.2", 8501)), ("host", "lab.example.org:8501")
    assert (
        status(afar, host)
        == status(afar, host, query="token=else&k=3")
        == status(afar, host, ("cookie", "a=b; c"))
        == 403
    )
    assert status(afar, host, path="/_stcore/health") == status(afar, host, path="/ready") == 200
    assert status(afar, host, path="/explore/ready") == 403
    start = answer("http", afar, host, query="data=digits&token=open+s%C3%A9same")[0]
    headers = dict(start["headers"])
    assert (start["status"], headers[b"location"]) == (303, b"?data=digits")
    cookie = headers[b"set-cookie"].decode().partition(";")[0]
    assert "same" not in cookie
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {*headers[b"set-cookie"].decode().split("; ")}
    assert status(afar, host, ("cookie", f"a=b; {cookie}")) == 200
    assert status(afar, host, ("cookie", cookie), ("origin", "http://evil.example")) == 403
    assert answer("websocket", afar, host)[0]["type"] == "websocket.close"
    monkeypatch.setenv(mode.TOKEN, "another")
    assert status(afar, host, ("cookie", cookie)) == 403


def test_a_visitors_browser_sends_what_pages_need_and_reads_no_place_on_the_disk(monkeypatch):
    """Streamlit names changed files of the checkout to whoever asks, writes beside the app, and
    says where it lies."""
    monkeypatch.setenv(mode.DEMO, "1")
    allowed = BackMsg(app_heartbeat=True), BackMsg()
    allowed[1].backend_operation_request.deferred_file.file_id = "figure"
    refused = (
        BackMsg(load_git_info=True),
        BackMsg(clear_cache=True),
        BackMsg(set_run_on_save=True),
        BackMsg(),
    )
    refused[3].backend_operation_request.install_skills.SetInParent()
    place = f"\x07 {Path(door.__file__).parents[2]}/app.py".encode()  # its tag is no message's
    frames = [message.SerializeToString() for message in (*refused, *allowed)]
    afar = (("192.0.2.1", 5), ("192.0.2.2", 8501))
    sent = answer("websocket", afar, ("host", "demo.example.org"), frames=(*frames, place))
    assert [message["bytes"] for message in sent[1:3]] == frames[4:]
    assert (
        sent[3]["bytes"] == b"\x07 " + b"-" * len(str(Path(door.__file__).parents[2])) + b"/app.py"
    )
    monkeypatch.delenv(mode.DEMO)
    monkeypatch.setenv(mode.TOKEN, "x")
    assert answer("websocket", afar, ("host", "demo.example.org"), frames=tuple(frames)) == [
        {"type": "websocket.close", "code": 1008}
    ]


def test_an_address_that_others_reach_is_for_a_demo_or_bound_with_a_token(monkeypatch, capsys):
    for address in mode.LOOPBACK:
        mode.check_server(address)
    monkeypatch.setenv(mode.TOKEN, "x")
    for address in ("0.0.0.0", "", None, "unix:///tmp/s"):
        raises(SettingError, r"ssh -L .* --demo", mode.check_server, address)
    monkeypatch.setenv(mode.BIND, "0.0.0.0")
    mode.check_server("0.0.0.0")
    monkeypatch.delenv(mode.TOKEN)
    started = []
    monkeypatch.setattr(os, "execv", lambda _, words: started.append(words))
    for words in (["--address", "0.0.0.0"], ["--bind", "0.0.0.0"]):
        with pytest.raises(SystemExit) as ended:
            explorer.main(words)
        assert ended.value.code == 2
        assert "--demo" in capsys.readouterr().err
    monkeypatch.setattr(st, "get_option", {"server.address": "0.0.0.0", "server.port": 8501}.get)
    with pytest.raises(SystemExit) as ended:
        door.end_if_refused()
    assert ended.value.code == 2
    monkeypatch.setenv(mode.TOKEN, "a b")
    explorer.main(["--bind", "0.0.0.0"])
    assert "--server.headless=true" in started[0]
    door.end_if_refused()
    assert "http://localhost:8501/?token=a%20b" in capsys.readouterr().out
    monkeypatch.setenv(mode.DEMO, "1")
    monkeypatch.delenv(mode.TOKEN)
    mode.check_server("192.0.2.2")
