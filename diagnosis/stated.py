"""Which facts does the log itself state: cards, torch, driver, operating system?

Only lines that tell of the running system are read; folder names that hold a card's name are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..compat.flags import images_in
from ..errors import ArchcovError
from ..knowledge.gpus import resolve
from ..model import ComputeCapability, Environment, GfxTarget, Gpu, Image, Vendor

_CARD_END: Final = (
    r"(?=\s*$| : | - \*\*| \*\*| - Type| with CUDA| which is|, compute| \(| VRAM| pytorch| Using| Python| Set | Total"
    r"| GPU \d| Device|\s*[;,])"
)
_NAMED: Final = re.compile(
    r"(?:(?P<used>Device: (?:cuda|xpu|hip):\d+ |\*\*Name:\*\* (?:cuda|xpu):\d+ |Name: (?:cuda|xpu):\d+ |Device name: )"
    r"|(?P<found>Found GPU\d+ |GPU \d{1,2}: |Device \d{1,2}: |Found (?=NVIDIA|Tesla|GeForce|Quadro)))"
    r"(?P<name>[A-Z][\w .()/+-]{2,70}?)" + _CARD_END,
    re.MULTILINE,
)
_CAPABILITY: Final = re.compile(
    r"(?P<list>(?P<warned>[A-Z][\w .()/+-]{2,70} )?with CUDA capability sm_(?P<sm>\d{2,3}) is not compatible)"
    r"|which is of (?:cuda capability|compute capability \(CC\)) (?P<cc>\d{1,2}\.\d)"
    r"|but your GPU has capability \((?P<tuple>\d{1,2}, \d)\)"
    r"|but your device is of CUDA capability (?P<inductor>\d{1,2}\.\d)"
    r"|, compute capability (?P<ggml>\d{1,2}\.\d), VMM"
    r"|expecting compute (?P<trt>\d{1,2}\.\d) got"
    r"|Unsupported CUDA architecture: sm_?(?P<sage>\d{2,3})"
    r"|No device code available for GPU ISA (?P<isa>\d{2,3})"
)
_GFX: Final = re.compile(r"(?:AMD arch: ?|gcnArchName[:=] ?'?|amdgcn-amd-amdhsa--|Agent \S{1,20} )(gfx[0-9a-f]{3,5})")
_TORCH: Final = re.compile(
    r"(?:py)?torch[\s_-]*version[^\w+]{0,40}?(?:\(|'|: ?|\*\* ?|= ?|\s)+(\d+\.\d+(?:\.\d+)?(?:[\w.]*)(?:\+[\w.]+)?)"
    r"|\btorch: (\d+\.\d+\.\d+\S*)|\(you have (\d+\.\d+\.\d+\S*?)\)|torch\.__version__\W{1,8}(\d+\.\d+\.\d+[\w.+]*)"
    r"|PyTorch (\d+\.\d+\.\d+\+\w+)(?! with CUDA \d{4})",
    re.IGNORECASE,
)
_ARCH_LIST: Final = re.compile(
    r"(?:supports CUDA capabilities |get_arch_list\(\)[^\[]{0,60}\[|\[(?='sm_))((?:'?(?:sm|compute)_\w{2,5}'?[, ]{0,2}){1,40})"
)
_RANGE: Final = re.compile(r"Minimum and Maximum cuda capability.{0,500}?\((\d{1,2}\.\d)\) - \((\d{1,2}\.\d)\)")
_RULE: Final = re.compile(
    r"(\d{1,2}\.\d) which supports hardware CC >=(\d{1,2}\.\d),<(\d{1,2}\.\d)(?: except \{([\d., ]{1,40})\})?"
)
_DRIVER: Final = re.compile(r"Driver Version: (\d{3}(?:\.\d+){1,2})")
_DRIVER_CUDA: Final = re.compile(
    r"(?:Driver Version: [\d.]{3,20} *\|? *CUDA (?:UMD )?Version: (\d{1,2}\.\d))|found version (\d{4,5})\)"
)
_WINDOWS: Final = re.compile(
    r"(?<![A-Za-z])[A-Za-z]:\\[^\s\\]|\\site-packages\\|\.pyd\b|\.dll\b|OS:\*\* nt|\bWinError\b"
)
_MACOS: Final = re.compile(r"/Users/[^/\s]+/|\bMPS\b|\bmps:\d|OS:\*\* darwin|\bmacOS\b|arm64-apple")
_LINUX: Final = re.compile(
    r"(?<![\w/])/(?:home|root|usr|opt|mnt|srv|data|workspace|tmp|var)/|\.so\b|OS:\*\* posix|manylinux"
)
_INTEL: Final = re.compile(
    r"\bxpu:\d|\+xpu\b|Intel\(R\) Arc|Intel Arc\b|\bdirectml\b|\bprivateuseone\b|oneAPI", re.IGNORECASE
)
_AMD: Final = re.compile(
    r"\bAMD_SERIALIZE_KERNEL\b|\bhipError|\bHIP error|\+rocm|\bROCm version|TORCH_USE_HIP_DSA|\bAMD Radeon\b|\bMIOpen\b|\bzluda\b",
    re.IGNORECASE,
)
_IMPORTED: Final = re.compile(r"(?:>>> |-c ['\"]|In \[\d+\]: |; ?)(?:import|from) (\w+)")
_NO_GPU_MODULES: Final = frozenset({"numpy", "np", "os", "sys", "time", "math", "random"})


class TorchRule(NamedTuple):
    """One line of torch's list: code for `code` runs on [low, high) without `but`."""

    code: ComputeCapability
    low: ComputeCapability
    high: ComputeCapability
    but: frozenset[ComputeCapability]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a log says about the machine at which it was written.

    Attributes:
        used: name of the card that the host says it uses.
        names: all cards named.
        capabilities: compute capabilities told, most certain (told by the failing operation) first.
        gfx: the AMD target.
        torch: torch's version.
        images: torch's build list, as torch prints it; () where the log has none.
        span: lowest and highest capability that torch's own warning names.
        rules: torch's own list of which code runs where.
    """

    used: str | None = None
    names: tuple[str, ...] = ()
    capabilities: tuple[ComputeCapability, ...] = ()
    gfx: GfxTarget | None = None
    torch: str | None = None
    images: tuple[Image, ...] = ()
    span: tuple[ComputeCapability, ComputeCapability] | None = None
    rules: tuple[TorchRule, ...] = ()
    driver: str | None = None
    driver_cuda: str | None = None
    os: str | None = None
    vendor: Vendor | None = None
    only_torch: bool = False


def read_facts(flat: str, lined: str | None = None) -> Stated:
    """The facts that a flat text states; `lined` is the same text with its line ends, which end a card's name."""
    used, names = _names(flat if lined is None else lined)
    span = _RANGE.search(flat)
    cuda = _DRIVER_CUDA.search(flat)
    driver = _DRIVER.search(flat)
    gfx = _GFX.search(flat)
    return Stated(
        used=used,
        names=names,
        capabilities=_capabilities(flat),
        gfx=GfxTarget.parse(gfx[1]) if gfx else None,
        torch=_torch(flat),
        images=_images(flat),
        span=(ComputeCapability.parse(span[1]), ComputeCapability.parse(span[2])) if span else None,
        rules=_rules(flat),
        driver=driver[1] if driver else None,
        driver_cuda=(cuda[1] or f"{int(cuda[2]) // 1000}.{int(cuda[2]) % 1000 // 10}") if cuda else None,
        os=_os(flat),
        vendor=Vendor.AMD if _AMD.search(flat) else Vendor.INTEL if _INTEL.search(flat) else None,
        only_torch=set(_IMPORTED.findall(flat)) - _NO_GPU_MODULES == {"torch"},
    )


def _names(text: str) -> tuple[str | None, tuple[str, ...]]:
    used = None
    names: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        name = match["name"].strip()
        names[name] = None
        if match["used"] and used is None:
            used = name
    return used, tuple(names)


def _capabilities(flat: str) -> tuple[ComputeCapability, ...]:
    certain: dict[ComputeCapability, None] = {}
    warned: dict[ComputeCapability, None] = {}
    for match in _CAPABILITY.finditer(flat):
        number = match["sm"] or match["sage"] or match["isa"]
        told = match["cc"] or match["inductor"] or match["ggml"] or match["trt"]
        if number:
            capability = ComputeCapability.from_number(int(number))
        elif match["tuple"]:
            capability = ComputeCapability.parse(match["tuple"].replace(", ", "."))
        else:
            capability = ComputeCapability.parse(told)
        (warned if match["sm"] or match["cc"] else certain)[capability] = None
    return tuple({**certain, **warned})


def _torch(flat: str) -> str | None:
    found = [next(filter(None, match.groups())).rstrip(".,;") for match in _TORCH.finditer(flat)]
    return next((version for version in found if "+" in version), found[0] if found else None)


def _images(flat: str) -> tuple[Image, ...]:
    match = _ARCH_LIST.search(flat)
    if match is None:
        return ()
    return images_in(match[1])


def _rules(flat: str) -> tuple[TorchRule, ...]:
    parse = ComputeCapability.parse
    return tuple(
        TorchRule(parse(code), parse(low), parse(high), frozenset(parse(c) for c in but.split(",") if c.strip()))
        for code, low, high, but in _RULE.findall(flat)
    )


def _os(flat: str) -> str | None:
    if _WINDOWS.search(flat):
        return "windows"
    if _MACOS.search(flat):
        return "macos"
    return "linux" if _LINUX.search(flat) else None


def images_of(environment: Environment) -> tuple[Image, ...]:
    """torch's build list as a saved report states it."""
    if environment.torch is None:
        return ()
    return images_in(" ".join(environment.torch.arch_list))


def gpu_named(name: str) -> Gpu | None:
    """The card of a name, None where the table does not know it or its capability is not one."""
    try:
        return resolve(name)
    except ArchcovError:
        return None
