"""Requests to a server under test by the standard library alone: they share no code with homellm."""

import json
import urllib.error
import urllib.request
from typing import Any


def get(port: int, path: str, *, key: str = "", timeout_s: float = 60) -> Any:
    """The JSON of a GET."""
    return _sent(urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=_headers(key)), timeout_s)


def post(port: int, path: str, body: dict[str, Any], *, key: str = "", timeout_s: float = 120) -> Any:
    """The JSON of a POST."""
    url, data = f"http://127.0.0.1:{port}{path}", json.dumps(body).encode()
    return _sent(urllib.request.Request(url, data=data, headers=_headers(key)), timeout_s)


def status(port: int, path: str, *, key: str = "") -> int:
    """The HTTP status of a GET; 0 when nobody answers."""
    try:
        get(port, path, key=key)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0
    return 200


def _headers(key: str) -> dict[str, str]:
    return {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}


def _sent(request: urllib.request.Request, timeout_s: float) -> Any:
    with urllib.request.urlopen(request, timeout=timeout_s) as reply:
        return json.load(reply)
