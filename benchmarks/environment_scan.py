"""How long does the look at a whole environment take, measured against work that everyone knows?

    python benchmarks/environment_scan.py PYTHON [--rounds N]

PYTHON is an environment with torch in it (its program or folder). Prints ratios of one run:
the collected facts against `os.walk` + `stat` of the same tree, warm and with the page cache emptied, and
against `import torch` there; and the memory above that of the interpreter with the package imported.
Each figure comes from a process of its own; the best of N rounds counts, the two sides interleaved.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each prints one JSON value. The package is loaded from this checkout under its own name.
LOAD = f"""
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("archcov", {str(ROOT / "__init__.py")!r}, submodule_search_locations=[{str(ROOT)!r}])
sys.modules["archcov"] = importlib.util.module_from_spec(spec)
from pathlib import Path
from archcov.system.environment import Target, collect
"""
MEMORY = """
def used():
    # anonymous pages: what the process holds itself; pages of mapped files belong to the page cache
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
"""
COLLECT = (
    LOAD
    + """
started = time.perf_counter()
env = collect(Target(python=Path(sys.argv[1])))
print(json.dumps([time.perf_counter() - started, len(env.libraries), sum(bool(lib.code) for lib in env.libraries)]))
"""
)
WALK = (
    LOAD
    + """
import os
from archcov.system.interpreter import locate
folders = locate(Path(sys.argv[1])).site_packages
started = time.perf_counter()
count = 0
for root in folders:
    for folder, _, names in os.walk(root):
        for name in names:
            os.stat(os.path.join(folder, name))
            count += 1
print(json.dumps([time.perf_counter() - started, count]))
"""
)
IMPORT = """
import json, time
started = time.perf_counter()
import torch
print(json.dumps([time.perf_counter() - started]))
"""
HOLD = (
    LOAD
    + MEMORY
    + """
collect(Target(python=Path(sys.argv[1])), scan_libraries=False)
before, peak_before = used(), peak()
env = collect(Target(python=Path(sys.argv[1])))
print(json.dumps([used() - before, peak() - peak_before]))
"""
)


def measured(code: str, environment: Path, program: str = sys.executable) -> list[float]:
    """What the code prints."""
    done = subprocess.run(
        [program, "-c", code, str(environment)], capture_output=True, text=True, check=True, cwd=Path(program).parent
    )
    return list(json.loads(done.stdout.splitlines()[-1]))


def empty_cache(environment: Path) -> str:
    """Make the next reads come from the disk; says how, or why not."""
    subprocess.run(["sync"], check=True)
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
        return "caches dropped"
    except OSError:
        for path in environment.rglob("*"):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return "file pages dropped (posix_fadvise), folder entries still cached"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    environment = args.python.absolute()
    folder = environment if environment.is_dir() else environment.parents[1]
    program = next(
        str(p) for p in (folder / "bin/python", folder / "Scripts/python.exe", folder / "python.exe") if p.exists()
    )

    warm = [(measured(COLLECT, environment), measured(WALK, environment)) for _ in range(args.rounds)]
    collect, libraries, with_code = min(one for one, _ in warm)
    walk, files = min(other for _, other in warm)
    print(f"{files:.0f} files, {libraries:.0f} native libraries, {with_code:.0f} with device code")
    print(
        f"whole environment, warm : {collect:.3f} s = {collect / walk:.2f} × os.walk + stat ({walk:.3f} s)   expected ≤ 2"
    )

    imported = min(measured(IMPORT, environment, program) for _ in range(3))[0]
    print(f"against import torch    : {collect / imported:.3f} × ({imported:.2f} s, warm)   expected ≤ 0.1")

    cold_collect, cold_walk = [], []
    how = ""
    for _ in range(2):
        how = empty_cache(folder)
        cold_collect.append(measured(COLLECT, environment)[0])
        how = empty_cache(folder)
        cold_walk.append(measured(WALK, environment)[0])
    one, other = statistics.median(cold_collect), statistics.median(cold_walk)
    print(f"whole environment, cold : {one:.2f} s = {one / other:.2f} × os.walk + stat ({other:.2f} s)   {how}")
    empty_cache(folder)
    cold_import = measured(IMPORT, environment, program)[0]
    print(f"against import torch    : {one / cold_import:.3f} × ({cold_import:.2f} s, cold)")

    if sys.platform == "linux":
        own, peak = measured(HOLD, environment)
        print(
            f"memory of the scan      : {own / 1024:.1f} MiB own, {peak / 1024:.1f} MiB at the peak with mapped pages   expected < 40"
        )


if __name__ == "__main__":
    main()
