"""Access to the app: an ASGI wrapper checks every request and websocket against `mode` before
Streamlit sees it."""

import hashlib
import hmac
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from streamlit.proto.BackMsg_pb2 import BackMsg

from pillar_core import mode
from pillar_core.errors import SettingError

Scope = MutableMapping[str, Any]
"""A request or a message of ASGI."""
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Address = tuple[str, int]
_PROXIED = ("forwarded", "x-forwarded-", "x-real-ip", "via", "cf-")
_MESSAGES = (
    "rerun_script",
    "stop_script",
    "file_urls_request",
    "app_heartbeat",
    "deferred_file",
    "dataframe_chunk",
)
"""What a visitor's browser may send; the rest of Streamlit's messages name files of a checkout, and
write beside the app."""
_HUB = b" https://huggingface.co"
"""Shows each of its Spaces in a frame, and sets SPACE_ID there."""
_OWN: deque[Address] = deque(maxlen=64)
"""Client ends of your own account, one object for each connection: the kernel takes 8 ms to list
whose an end is."""
_FOLDER = str(Path(__file__).resolve().parents[2]).encode()
READY = "ready"
"""Where an operator asks whether visitors can still compute."""
_WAY = "Set PILLAR_TOKEN for the server, and open the address with ?token=... that it then prints."


def end_if_refused() -> None:
    """Ends a server that the mode does not allow, and prints the address with its token where it
    has one."""
    address = st.get_option("server.address")
    try:
        mode.check_server(address)
    except SettingError as error:
        sys.stderr.write(f"PILLAR explorer: {error}\n")
        raise SystemExit(2) from error
    if token := os.environ.get(mode.TOKEN):
        name = "localhost" if address in ("0.0.0.0", "::") else address
        sys.stdout.write(
            "\n  PILLAR explorer:"
            f" http://{name}:{st.get_option('server.port')}/?token={quote(token, safe='')}\n"
        )


def place(name: str) -> str:
    """Where the server has what is called so, below the path that a proxy may give it."""
    return "/".join(["", *filter(None, [st.get_option("server.baseUrlPath").strip("/")]), name])


class Door:
    """An ASGI wrapper that refuses requests that the mode does not allow, and framing by other
    origins, save a demo by its hub."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as the app does, or says why not. What operators ask, health and readiness, is
        for everybody."""
        is_demo = mode.is_demo()

        async def answer(message: Scope) -> None:
            if message["type"] == "http.response.start":
                policy = b"frame-ancestors 'self'" + (
                    _HUB if is_demo and os.environ.get("SPACE_ID") else b""
                )
                message["headers"] = [*message["headers"], (b"content-security-policy", policy)]
            if is_demo and message.get(
                "bytes"
            ):  # Streamlit tells every browser where on the disk the app lies
                message["bytes"] = message["bytes"].replace(_FOLDER, b"-" * len(_FOLDER))
            await send(message)

        async def ask() -> Scope:
            message = await receive()
            while (
                is_demo
                and message["type"] == "websocket.receive"
                and not _is_for_visitors(message.get("bytes") or b"")
            ):
                message = await receive()
            return message

        if (
            scope["type"] in ("http", "websocket")
            and not scope["path"].endswith("/_stcore/health")
            and scope["path"] != place(READY)
        ):
            asked = HTTPConnection(scope)
            if scope["type"] == "http" and _has_token(asked.query_params.get("token", "")):
                await _admission(asked)(scope, receive, send)
                return
            if refusal := _refusal(asked):
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008})
                else:
                    await Response(f"{refusal}\n", 403, media_type="text/plain")(
                        scope, receive, send
                    )
                return
        await self._app(scope, ask, answer)


def _refusal(asked: HTTPConnection) -> str:
    """Why this request is not let in, "" where it is."""
    host, origin = asked.headers.get("host", ""), asked.headers.get("origin")
    if (
        origin is not None
        and urlsplit(origin).netloc != host
        and origin not in st.get_option("server.corsAllowedOrigins")
    ):
        return "Pages of another origin do not reach this app."
    if os.environ.get(mode.TOKEN):
        name, value = _cookie()
        return (
            ""
            if hmac.compare_digest(asked.cookies.get(name, "").encode(), value.encode())
            else "Open the address with ?token=... that the server printed at its start."
        )
    if mode.is_demo():
        return ""
    if urlsplit(f"//{host}").hostname not in mode.LOOPBACK or any(
        name.startswith(_PROXIED) for name in asked.headers
    ):
        return (
            "This app is for one person at its own machine, asked for as localhost and through no"
            f" proxy. {_WAY}"
        )
    if not any(client is asked["client"] for client in _OWN):
        if _account(asked["client"], asked["server"]) not in (0, os.getuid()):
            return f"This app belongs to another account of this machine. {_WAY}"
        _OWN.append(asked["client"])
    return ""


def _account(client: Address | None, server: Address) -> int | None:
    """The account at the other end of a loopback connection, from the kernel's list; None if it is
    not listed.

    Without such a list, as on macOS, it is your own account.
    """
    if client is None or not ip_address(client[0]).is_loopback:
        return None
    ends = (_plain(client[0]), client[1]), (_plain(server[0]), server[1])
    lists = [path for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if path.exists()]
    for path in lists:
        for line in path.read_text(encoding="ascii").splitlines()[1:]:
            _, local, remote, *_, account, _, inode = line.split()[:10]
            if (
                inode != "0" and (_end(local), _end(remote)) == ends
            ):  # of a closed socket the kernel calls root the owner
                return int(account)
    return None if lists else os.getuid()


def _end(written: str) -> tuple[str, int]:
    """Address and port as /proc/net/tcp writes them: words of 32 bits in the machine's order."""
    address, port = written.split(":")
    words = (
        int(address[start : start + 8], 16).to_bytes(4, sys.byteorder)
        for start in range(0, len(address), 8)
    )
    return _plain(b"".join(words)), int(port, 16)


def _plain(address: str | bytes) -> str:
    parsed = ip_address(address)
    return str((parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None) or parsed)


def _cookie() -> tuple[str, str]:
    """The cookie's name, which differs by token because cookies know no ports, and what it
    holds."""
    name, value = (
        hashlib.sha256(f"{word} {os.environ.get(mode.TOKEN)}".encode()).hexdigest()
        for word in ("name", "value")
    )
    return f"pillar_{name[:8]}", value


def _has_token(brought: str) -> bool:
    token = os.environ.get(mode.TOKEN)
    return bool(token) and hmac.compare_digest(brought.encode(), str(token).encode())


def _admission(asked: HTTPConnection) -> RedirectResponse:
    """The same address without the token, and the cookie in its stead."""
    rest = [(name, value) for name, value in asked.query_params.multi_items() if name != "token"]
    response = RedirectResponse(f"?{urlencode(rest)}", 303)
    is_secure = asked.get("scheme") == "https"
    name, value = _cookie()
    response.set_cookie(name, value, 34_560_000, httponly=True, samesite="lax", secure=is_secure)
    return response


def _is_for_visitors(frame: bytes) -> bool:
    try:
        message = BackMsg.FromString(frame)
    except DecodeError:
        return True  # Streamlit ends the connection
    kind = message.WhichOneof("type")
    return (
        message.backend_operation_request.WhichOneof("payload")
        if kind == "backend_operation_request"
        else kind
    ) in _MESSAGES
