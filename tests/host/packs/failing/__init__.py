"""Nodes that fail in every way that a host has to survive."""

import logging

import torch

MISSING = "CUDA error: no kernel image is available for execution on the device"


class Odd(RuntimeError):
    """Says something else each time; one that raises in `__str__` stops the host by itself."""

    calls = 0

    def __str__(self):
        Odd.calls += 1
        return f"%s {{0}} \x00 call {Odd.calls}\n" + MISSING


def accelerator():
    kind = getattr(torch, "AcceleratorError", RuntimeError)
    try:
        return kind(MISSING, 209)
    except TypeError:
        return kind(MISSING)


def chained():
    try:
        try:
            raise RuntimeError(MISSING)
        except RuntimeError as cause:
            raise KeyError("layer") from cause
    except KeyError as error:
        return error


def interrupt():
    from comfy.model_management import InterruptProcessingException

    return InterruptProcessingException()


def fallback():
    """As the host's attention function says it, once a call."""
    for _ in range(200):
        logging.getLogger().error("Error running sage attention: %s, using pytorch attention instead.", MISSING)


def computes():
    torch.ones(3).mul(2).add(1)


KINDS = {
    "runtime": lambda: RuntimeError(MISSING),
    "accelerator": accelerator,
    "chained": chained,
    "odd": lambda: Odd("x"),
    "huge": lambda: RuntimeError(MISSING + "\n" + "x" * 5_000_000),
    "plain": lambda: ValueError("the image has no alpha channel"),
    "memory": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "interrupt": interrupt,
    "fallback": fallback,
    "torch": computes,
    "none": lambda: None,
}


class Fails:
    CATEGORY = "tests"
    FUNCTION = "run"
    OUTPUT_NODE = True
    RETURN_TYPES = ()

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"kind": (list(KINDS),)}}

    @classmethod
    def IS_CHANGED(cls, **_inputs):
        return float("nan")

    def run(self, kind):
        error = KINDS[kind]()
        if error is not None:
            raise error
        return {"ui": {"text": ["fine"]}}


NODE_CLASS_MAPPINGS = {"Fails": Fails}
