"""What is seen around nodes: at its own place, once, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Child = Callable[..., Any]


def test_a_failure_is_told_at_its_own_node_and_kept(child: Child) -> None:
    result = child("""
        witness = Witness()
        witness.before("ImageScale"); noise(); quiet = witness.after()
        witness.before("ImageBlur"); fail("_Z4blurv"); blur = witness.after()
        witness.before("ImageSharpen"); later = witness.after()
        say([len(quiet), [(f.place, f.kernel, f.code, f.failure.value, f.sight.value) for f in blur], len(later),
             [f.kernel for f in witness.seen]])
    """)
    assert result == [
        0,
        [["ImageBlur", "_Z4blurv", 209, "missing_image", "driver_log"]],
        0,
        ["_Z4blurv"],
    ]


def test_failures_before_and_between_nodes_belong_to_none(child: Child) -> None:
    result = child("""
        fail("_Z5earlyv")
        witness = Witness()
        early = witness.before("A")
        witness.after()
        fail("_Z7betweenv")
        between = witness.before("B")
        inside = witness.after()
        say([[(f.kernel, f.place) for f in part] for part in (early, between, inside)])
    """)
    assert result == [[["_Z5earlyv", None]], [["_Z7betweenv", None]], []]


def test_an_old_driver_is_witnessed_by_the_pending_error(child: Child) -> None:
    result = child(
        """
        runtime = ctypes.CDLL("libcudart.so.12")
        witness = Witness()
        driver().stub_context()
        witness.before("A"); first = witness.after()
        witness.before("B"); runtime.stub_pending(209); second = witness.after()
        witness.before("C"); third = witness.after()
        say([witness.obstacle.what, len(first), [(f.place, f.code, f.sight.value, f.runtime.name) for f in second],
             len(third), runtime.cudaPeekAtLastError()])
        """,
        driver="old_driver",
    )
    assert result == ["driver log", 0, [["B", 209, "pending_error", "libcudart.so.12"]], 0, 209]


def test_a_pending_error_of_another_kind_is_none_of_ours(child: Child) -> None:
    result = child(
        """
        runtime = ctypes.CDLL("libcudart.so.12")
        driver().stub_context()
        witness = Witness()
        witness.before("A"); runtime.stub_pending(2)
        say(len(witness.after()))
        """,
        driver="old_driver",
    )
    assert result == 0


def test_without_a_context_no_runtime_is_asked(child: Child) -> None:
    result = child(
        """
        runtime = ctypes.CDLL("libcudart.so.12")
        runtime.stub_pending(209)
        driver()
        say([PendingErrors().look(), runtime.stub_peeks(), PendingErrors().obstacle()])
        """,
        driver="old_driver",
    )
    assert result == [[], 0, None]


def test_a_process_without_runtime_says_what_is_lacking(child: Child) -> None:
    assert "runtime" in child("driver(); say(PendingErrors().obstacle().reason)", driver="old_driver")


def test_two_threads_at_once_lose_nothing(child: Child) -> None:
    result = child("""
        import threading
        witness = Witness()
        def work(n):
            for i in range(50):
                witness.look()
        workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for worker in workers: worker.start()
        for i in range(12): fail(f"_Z2k{i}v")
        for worker in workers: worker.join()
        witness.look()
        say(sorted({f.kernel for f in witness.seen}))
    """)
    assert len(result) == 12
