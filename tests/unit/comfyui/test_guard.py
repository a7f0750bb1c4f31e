"""Who may change something in the host."""

from __future__ import annotations

import pytest
from archcov.comfyui.guard import MAX_BODY, refusal

JSON = {"Content-Type": "application/json; charset=utf-8", "Host": "127.0.0.1:8188"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://127.0.0.1:8188"},
        {"Origin": "https://comfy.example", "Host": "comfy.example:443"},
        {"Origin": "http://COMFY.example", "Host": "comfy.example"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_own_pages_and_programs_may(headers: dict[str, str]) -> None:
    assert refusal({**JSON, **headers}, 2) is None
    assert refusal({**JSON, **headers}, None) is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "http://localhost:8188"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_others_may_not(headers: dict[str, str], status: int) -> None:
    refused = refusal({**JSON, **headers}, 2)
    assert refused is not None
    assert refused[0] == status


def test_a_body_is_bounded() -> None:
    refused = refusal(JSON, MAX_BODY + 1)
    assert refused is not None
    assert refused[0] == 413
