"""Operations, callers and libraries of failures, with a stand-in driver; torch is not needed for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Child = Callable[..., Any]

TRACED = """
def launch(kernel):
    extension.extension_launch(f"Kernel ({kernel}) cannot be found in library".encode())

def told(trace):
    return [[f.node, f.operation, f.failure.kernel, f.failure.code, f.caller.function if f.caller else None,
             f.library.name if f.library else None, f.error] for f in trace.failures]

def healthy():
    return 3
"""


def test_an_operation_its_caller_and_its_library(child: Child) -> None:
    result = child(
        TRACED
        + """
driver()
extension = ctypes.CDLL("libextension.so", mode=ctypes.RTLD_GLOBAL)
trace = Trace()
stop = trace.listen()
trace.node = "KSampler"
def sample():
    return trace.run("aten.relu.default", lambda: launch("_Z4reluv"), ask=False)
sample()
value = trace.run("aten.add.Tensor", healthy, ask=False)
stop()
say([told(trace), value, trace.operations])
"""
    )
    assert result == [
        [["KSampler", "aten.relu.default", "_Z4reluv", 209, "launch", "libextension.so", None]],
        3,
        2,
    ]


def test_an_extension_that_the_dispatcher_never_sees(child: Child) -> None:
    result = child(
        TRACED
        + """
driver()
extension = ctypes.CDLL("libextension.so", mode=ctypes.RTLD_GLOBAL)
trace = Trace()
stop = trace.listen()
launch("_Z4fillv")
stop()
say(told(trace))
"""
    )
    assert result == [[None, None, "_Z4fillv", 209, "launch", "libextension.so", None]]


def test_what_the_operation_raised_is_kept_with_it(child: Child) -> None:
    result = child(
        TRACED
        + """
driver()
extension = ctypes.CDLL("libextension.so", mode=ctypes.RTLD_GLOBAL)
trace = Trace()
stop = trace.listen()
def broken():
    launch("_Z4reluv")
    raise RuntimeError("no kernel image")
try:
    trace.run("aten.relu.default", broken, ask=False)
except RuntimeError as error:
    raised = str(error)
stop()
say([raised, [f.error for f in trace.failures]])
"""
    )
    assert result == ["no kernel image", ["RuntimeError: no kernel image"]]


def test_an_old_driver_is_asked_around_each_operation(child: Child) -> None:
    result = child(
        TRACED
        + """
runtime = ctypes.CDLL("libcudart.so.12")
driver().stub_context()
trace = Trace()
assert trace.listen() is None
trace.run("aten.add.Tensor", healthy, ask=True)
trace.run("aten.relu.default", lambda: runtime.stub_pending(209), ask=True)
trace.run("aten.mul.Tensor", healthy, ask=True)
say([trace.obstacle.what, [[f.operation, f.failure.code] for f in trace.failures]])
""",
        driver="old_driver",
    )
    assert result == ["driver log", [["aten.relu.default", 209]]]
