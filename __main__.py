"""`python -m archcov VERB`, and `python <this folder> VERB` where the package is not installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _load() -> None:
    """Load this folder as the package `archcov`, whatever the folder is called."""
    root = Path(__file__).resolve().parent
    # Python puts a folder that it runs on the path; there its subfolders would shadow other packages.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != root]
    spec = importlib.util.spec_from_file_location(
        "archcov", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["archcov"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    if not __package__:
        _load()
    from archcov.cli import main

    raise SystemExit(main())
