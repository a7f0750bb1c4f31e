"""Private data leaves no trace; everything else stays."""

from __future__ import annotations

import pytest
from archcov.report.shareable import shareable


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/alice/ComfyUI/x.so", "~/ComfyUI/x.so"),
        ("/Users/bob/x", "~/x"),
        (r"C:\Users\Anna Müller\ComfyUI", r"~\ComfyUI"),
        (r"C:\\Users\\anna\\x", r"~\\x"),
        ("d:/users/王伟/x", "~/x"),
        ("/root/ComfyUI", "~/ComfyUI"),
        ("token hf_abcdefghijklmnopqrstuvwx", "token ***"),
        ("https://me:secret@host/x", "https://***@host/x"),
        ("on STUDIO-PC today", "on *** today"),
        ("torch 2.6.0+cu124 sm_90", "torch 2.6.0+cu124 sm_90"),
    ],
)
def test_text(text: str, clean: str) -> None:
    assert shareable(text, ("studio-pc", "me")) == clean


def test_json_values_keep_their_shape() -> None:
    value = {"path": "/home/alice/x", "list": ["/home/alice", 3, None], "n": 1.5}
    assert shareable(value) == {"path": "~/x", "list": ["~", 3, None], "n": 1.5}
