"""Only what changes the loading is reported."""

from __future__ import annotations

from archcov.system.switches import seen_switches


def test_values_are_as_set_also_empty_ones():
    environ = {
        "CUDA_VISIBLE_DEVICES": "",
        "CUDA_FORCE_PTX_JIT": "1",
        "HOME": "/x",
        "HSA_OVERRIDE_GFX_VERSION_1": "11.0.0",
    }
    seen = seen_switches(environ)
    assert seen == {"CUDA_VISIBLE_DEVICES": "", "CUDA_FORCE_PTX_JIT": "1", "HSA_OVERRIDE_GFX_VERSION_1": "11.0.0"}


def test_search_path_only_where_it_brings_another_driver():
    path = "/usr/local/cuda-13.0/compat:/opt/lib:/usr/local/cuda/lib64/stubs:/mine:/usr/lib/x86_64-linux-gnu:"
    there = {"/mine/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}
    seen = seen_switches({"LD_LIBRARY_PATH": path}, there.__contains__)
    assert seen == {"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/compat:/usr/local/cuda/lib64/stubs:/mine"}
    assert seen_switches({"LD_LIBRARY_PATH": "/opt/lib"}, lambda _: False) == {}


def test_preload_of_a_driver_library():
    environ = {"LD_PRELOAD": "/usr/lib/libjemalloc.so /opt/libcuda.so.1"}
    assert seen_switches(environ, lambda _: False) == {"LD_PRELOAD": "/opt/libcuda.so.1"}
