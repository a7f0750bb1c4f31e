"""Who may change something? Same origin and JSON only, whatever the host lets through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

MAX_BODY: Final = 64 * 1024


def refusal(headers: Mapping[str, str], length: int | None) -> tuple[int, str, str] | None:
    """Why a state-changing request is refused: (status, error, detail); None where it may go on.

    A page of another origin can post a form, but no JSON without the browser asking first; a body
    from a program without an Origin header passes, as the host itself lets it.
    """
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return 415, "unsupported_media_type", "expected Content-Type: application/json"
    if length is not None and length > MAX_BODY:
        return 413, "too_large", f"expected at most {MAX_BODY} bytes"
    if headers.get("Sec-Fetch-Site", "same-origin").lower() not in ("same-origin", "none"):
        return 403, "cross_origin", "expected a request of the same origin"
    origin = headers.get("Origin")
    if origin and origin != "null" and _authority(urlsplit(origin).netloc) != _authority(headers.get("Host", "")):
        return 403, "cross_origin", f"origin {origin} is not this host"
    if origin == "null":
        return 403, "cross_origin", "expected a request of the same origin"
    return None


def _authority(netloc: str) -> str:
    """Host and port; the default ports of both schemes are left out."""
    return netloc.lower().removesuffix(":80").removesuffix(":443")
