"""A saved report back to facts. Only facts are taken; every verdict is made anew.

Whatever is missing or null stays not known. Where `libraries` is empty, `torch.arch_list`
stands in for the binaries.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from ..compat.flags import flag_images
from ..errors import UsageError
from ..model import (
    Arch,
    ComputeCapability,
    DeviceCode,
    Distribution,
    Driver,
    Environment,
    GfxTarget,
    Gpu,
    Host,
    Image,
    Kind,
    Library,
    Obstacle,
    OperatingSystem,
    Python,
    TorchBuild,
    Unreadable,
    Use,
    Vendor,
)
from ..names import canonical_name

_MAX_BYTES: Final = 64 * 1024 * 1024  # a report of 1,000 libraries is under 2 MB


def read_report(path: Path) -> Environment:
    """The environment of a saved report; UsageError says what is wrong with the file and where."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(
                f"{path}: larger than {_MAX_BYTES >> 20} MiB; expected a report made by `archcov check --json`"
            )
        raw = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as fault:
        raise UsageError(f"{path}: cannot be read: {fault.strerror or fault}") from fault
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as fault:
        raise UsageError(f"{path}: is no JSON document: {fault}") from fault
    return environment_from(raw, str(path))


def environment_from(raw: Any, name: str = "report") -> Environment:
    """The environment of a parsed report.

    Raises:
        UsageError: a part has the wrong form; the text names the part.
    """
    document = _mapping(raw, name)
    if document.get("schema") != 1 or "environment" not in document:
        raise UsageError(f'{name}: expected a report with "schema": 1 and "environment"')
    try:
        return _environment(_mapping(document["environment"], "environment"), document.get("libraries"))
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        if isinstance(fault, UsageError):
            raise UsageError(f"{name}: {fault}") from fault
        raise UsageError(f"{name}: a value has the wrong form: {fault}") from fault


def _environment(env: Mapping[str, Any], libraries: Any) -> Environment:
    system = _mapping(env.get("os") or {}, "environment.os")
    python = _mapping(env.get("python") or {}, "environment.python")
    torch = _torch(env.get("torch"))
    driver, host = env.get("driver"), env.get("host")
    read = tuple(_library(row) for row in _list(libraries, "libraries"))
    distributions = {
        canonical_name(str(k)): Distribution(canonical_name(str(k)), str(v))
        for k, v in _mapping(env.get("distributions") or {}, "environment.distributions").items()
    }
    if torch is not None:
        distributions.setdefault("torch", Distribution("torch", torch.version))
    uses = env.get("uses")
    return Environment(
        os=OperatingSystem(
            str(system.get("system") or "unknown"),
            str(system.get("release") or ""),
            str(system.get("arch") or ""),
            bool(system.get("wsl")),
        ),
        python=Python(
            _text(python.get("version")),
            _text(python.get("executable")),
            python.get("bits"),
            python.get("free_threaded"),
        ),
        gpus=tuple(_gpu(row) for row in _list(env.get("gpus"), "environment.gpus")),
        driver=Driver(_text(driver.get("version")), _text(driver.get("cuda"))) if driver else None,
        host=Host(
            str(host.get("kind")), _text(host.get("version")), _text(host.get("root")), _text(host.get("install"))
        )
        if host
        else None,
        torch=torch,
        distributions=distributions,
        libraries=read or _stand_in(torch),
        switches={str(k): str(v) for k, v in (env.get("switches") or {}).items()},
        uses=None if uses is None else tuple(Use(u["distribution"], u["by"], u["reason"]) for u in uses),
        obstacles=tuple(Obstacle(str(o["what"]), str(o["reason"])) for o in env.get("obstacles") or []),
    )


def _gpu(raw: Any) -> Gpu:
    row = _mapping(raw, "environment.gpus[]")
    capability, gfx = _text(row.get("compute_capability")), _text(row.get("gfx"))
    vendor = row.get("vendor") or ("amd" if gfx else "nvidia")
    return Gpu(
        name=str(row.get("name") or capability or gfx or "unnamed"),
        vendor=Vendor(vendor),
        compute_capability=ComputeCapability.parse(capability) if capability else None,
        gfx=GfxTarget.parse(gfx) if gfx else None,
        index=row.get("index"),
        memory_bytes=row.get("memory_bytes"),
        driver_model=_text(row.get("driver_model")),
        pretended=bool(row.get("pretended")),
    )


def _torch(raw: Any) -> TorchBuild | None:
    if raw is None:
        return None
    row = _mapping(raw, "environment.torch")
    if not row.get("version"):
        return None
    flags = tuple(str(flag) for flag in _list(row.get("arch_list"), "environment.torch.arch_list"))
    return TorchBuild(str(row["version"]), _text(row.get("cuda")), _text(row.get("hip")), flags)


def _library(raw: Any) -> Library:
    row = _mapping(raw, "libraries[]")
    path = str(row["path"])
    pure = PureWindowsPath(path) if "\\" in path or path[1:2] == ":" else PurePosixPath(path)
    unreadable = _text(row.get("unreadable"))
    name = _text(row.get("distribution"))
    return Library(
        path=pure,
        format=str(row.get("format") or "elf"),
        code=Unreadable(unreadable) if unreadable else _code(row) if row.get("images") else None,
        distribution=canonical_name(name) if name else None,
        version=_text(row.get("version")),
        node_pack=_text(row.get("node_pack")),
        relative=_text(row.get("relative")) or _below_site_packages(path),
    )


def _below_site_packages(path: str) -> str:
    """Where a report does not say: what follows the last packages folder, else the whole path."""
    return re.split(r"(?:site|dist)-packages/", path.replace("\\", "/"))[-1]


def _code(row: Mapping[str, Any]) -> DeviceCode:
    """Images with counts; which of them stood in one container is not in a report.

    Images are put into containers by their counts: an image that `n` containers hold is in the
    first `n` of them. That is exact wherever the lists are nested, as compilers make them.
    """
    images: Counter[Image] = Counter()
    for item in _list(row.get("images"), "libraries[].images"):
        images[_image(_mapping(item, "libraries[].images[]"))] += int(item.get("count") or 1)
    if not images:
        return DeviceCode()
    total = max(int(row.get("containers") or 0), 1)
    containers: Counter[frozenset[Image]] = Counter()
    steps = sorted({min(count, total) for count in images.values()}, reverse=True)
    for step, following in zip(steps, [*steps[1:], 0], strict=True):
        members = frozenset(image for image, count in images.items() if min(count, total) >= step)
        containers[members] += step - following
    return DeviceCode(dict(containers), dict(images))


def _image(item: Mapping[str, Any]) -> Image:
    kind = Kind(item["kind"])
    arch = str(item["arch"])
    if kind is Kind.HIP:
        return Image(kind, GfxTarget.parse(arch))
    match = re.fullmatch(r"(\d+)([af]?)", arch)
    if match is None:
        raise UsageError(f"libraries[].images[].arch is {arch!r}; expected the form 90a")
    isa = _text(item.get("isa"))
    version = tuple(int(part) for part in isa.split(".")[:2]) if isa else None
    return Image(kind, Arch(int(match[1]), match[2]), (version[0], version[1]) if version else None)


def _stand_in(torch: TorchBuild | None) -> tuple[Library, ...]:
    """torch's arch list in place of the binaries."""
    images = flag_images(torch.arch_list if torch else ())
    if torch is None or not images:
        return ()
    name = "libtorch_hip.so" if torch.hip else "libtorch_cuda.so"
    code = DeviceCode({frozenset(images): 1}, dict(Counter(images)))
    return (
        Library(PurePosixPath("torch/lib") / name, "elf", code, "torch", torch.version, relative=f"torch/lib/{name}"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is a {type(value).__name__}; expected an object")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UsageError(f"{name} is a {type(value).__name__}; expected a list")
    return value
