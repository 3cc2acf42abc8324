"""The running server and pages of other origins: none connects to the app, frames it or directs it."""

import contextlib
import http.client
import json
import urllib.request


def test_no_page_of_another_origin_connects_to_frames_or_directs_the_app(address: str) -> None:
    def asked(path: str, **headers: str) -> int:
        with contextlib.closing(http.client.HTTPConnection(address.removeprefix("http://"))) as connection:
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as answer:
                return answer.status

    with urllib.request.urlopen(f"{address}/_stcore/host-config") as answer:
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
        assert json.load(answer)["allowedOrigins"] == []
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    origins = {address: 101, "http://localhost:1": 403, "https://127.0.0.1": 403, "http://0.0.0.0": 403, "http://evil.example": 403}
    assert {origin: asked("/_stcore/stream", Origin=origin, **upgrade) for origin in origins} == origins
