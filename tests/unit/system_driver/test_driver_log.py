"""The ring of the driver, read from a stand-in driver in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Child = Callable[..., Any]


def test_position_moves_and_text_follows(child: Child) -> None:
    result = child("""
        log = DriverLog.open()
        start = log.position()
        fail("_Z4fillPfif")
        text, after = log.text_since(start)
        say([start, log.position(), after, [r.kernel for r in log.read_since(start)], log.read_since(after)])
    """)
    assert result == [0, 5, 5, ["_Z4fillPfif"], []]


def test_a_ring_that_rolled_over(child: Child) -> None:
    kernels = child("""
        log = DriverLog.open()
        for i in range(60):
            fail(f"_Z2k{i}v")
        say([r.kernel for r in log.read_since(0)])
    """)
    assert kernels == [f"_Z2k{i}v" for i in range(40, 60)]


def test_a_driver_without_a_log_says_so(child: Child) -> None:
    reason = child("say(DriverLog.open().reason)", driver="old_driver")
    assert "575" in reason


def test_reading_neither_initialises_nor_makes_a_context(child: Child) -> None:
    result = child("""
        log = DriverLog.open()
        witness = Witness(log)
        witness.before("node"), witness.after()
        PendingErrors().look()
        say([driver().stub_contexts(), driver().cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p()))])
    """)
    assert result == [0, 3]


def test_a_listener_hears_each_line_until_it_is_stopped(child: Child) -> None:
    result = child("""
        heard = []
        stop = DriverLog.open().listen(heard.append)
        fail("_Z4fillPfif")
        stop()
        fail("_Z4fillPfif")
        say(heard)
    """)
    assert len(result) == 5
    assert "Kernel (_Z4fillPfif)" in result[3]


def test_a_listener_that_fails_harms_nobody(child: Child) -> None:
    result = child("""
        def broken(line):
            raise RuntimeError("ours")
        stop = DriverLog.open().listen(broken)
        noise()
        stop()
        say("went on")
    """)
    assert result == "went on"
