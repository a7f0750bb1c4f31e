"""The device code of known wheels, as lists that a person can read.

    python tests/wheels/golden_lists.py

writes golden/*.json anew from the wheels at hand. Look at the difference: wheels never change, so each is a change
of the readers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "golden"


def name_of(image) -> str:
    """`sm_90a`, `compute_80 8.4`, `gfx1100`."""
    return f"{image} {image.isa_text}" if image.isa else str(image)


def listed(path: Path) -> dict[str, Any]:
    """The libraries with device code of a wheel, each with its containers and their counts."""
    from archcov.binaries.wheel import read_wheel

    libraries: dict[str, Any] = {}
    others = 0
    for library in read_wheel(path):
        if not getattr(library.code, "containers", None):
            others += 1
            assert not hasattr(library.code, "reason"), f"{library.relative}: {library.code}"
            continue
        containers = sorted((sorted(map(name_of, held)), count) for held, count in library.code.containers.items())
        libraries[library.relative] = {
            "format": library.format,
            "containers": [
                {"count": count, "images": " ".join(f"{name}," for name in held).rstrip(",")}
                for held, count in containers
            ],
            "images": dict(sorted((name_of(image), count) for image, count in library.code.images.items())),
            "needed": list(library.needed or ()),
        }
    return {"schema": 1, "wheel": path.name, "libraries_without_device_code": others, "libraries": libraries}


def main() -> None:
    sys.path.append(str(FOLDER.parent.parent))
    import corpus

    FOLDER.mkdir(exist_ok=True)
    for wheel in corpus.WHEELS:
        path = corpus.find(wheel)
        if path is not None:
            text = json.dumps(listed(path), indent=1, ensure_ascii=False)
            (FOLDER / f"{wheel}.json").write_text(text + "\n", "utf-8")
            print(wheel)


if __name__ == "__main__":
    main()
