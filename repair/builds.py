"""Which published build of torch has code for these cards on this system?

Builds are compared by what they hold, not by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..compat.coverage import FITS
from ..compat.flags import flag_images
from ..compat.rules import Loader, best, fit_image
from ..compat.tables import isa_ceiling, parse_version
from ..knowledge import drivers
from ..knowledge.torch_builds import COMPANIONS, Build, builds, companion_versions
from ..model import Environment, Fit, Fix, Gpu, Text
from ..names import Version, parsed

INDEX: Final = "https://download.pytorch.org/whl/"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A build, how it fits all the cards, and why it is refused here (a catalogue key) or None."""

    build: Build
    fit: Fit
    refused: Text | None


def candidates(env: Environment, gpus: Sequence[Gpu], *, any_python: bool = False) -> tuple[Candidate, ...]:
    """Every published build, judged for this system; in the order of the table."""
    return tuple(_judge(build, env, gpus, any_python=any_python) for build in builds())


def suitable_builds(env: Environment, gpus: Sequence[Gpu], *, any_python: bool = False) -> tuple[Build, ...]:
    """The builds that serve every card, the smallest change first; native code before JIT.

    The installed build is none of them: whoever asks has found it lacking.
    """
    judged = candidates(env, gpus, any_python=any_python)
    good = [c for c in judged if c.refused is None and c.fit in FITS and not _is_installed(c.build, env)]
    return tuple(c.build for c in sorted(good, key=lambda c: (c.fit is Fit.JIT, *_change(c.build, env))))


def _is_installed(build: Build, env: Environment) -> bool:
    installed = parsed(env.torch.version) if env.torch else None
    return installed is not None and (installed.public, installed.local) == (build.torch, build.tag)


def _judge(build: Build, env: Environment, gpus: Sequence[Gpu], *, any_python: bool) -> Candidate:
    fit = worst([build_fit(build, gpu, env) for gpu in gpus])
    return Candidate(build, fit, _refusal(build, env, fit, any_python=any_python))


def worst(fits: Sequence[Fit]) -> Fit:
    """What a build is worth for several cards: its worst fit."""
    order = (Fit.MISSING, Fit.UNKNOWN, Fit.JIT, Fit.NATIVE)
    return min(fits, key=lambda fit: order.index(fit) if fit in order else 0, default=Fit.UNKNOWN)


def build_fit(build: Build, gpu: Gpu, env: Environment) -> Fit:
    """How the base list of a build fits one card, under this machine's driver."""
    cuda = env.driver.cuda if env.driver else None
    loader = Loader(isa_ceiling=isa_ceiling(cuda), toolkit=parse_version(build.toolkit) if build.toolkit else None)
    if build.hip and gpu.gfx is not None:
        images = flag_images(build.hip)
    elif build.sass is None or gpu.compute_capability is None:
        return Fit.UNKNOWN if gpu.arch is None else Fit.MISSING
    else:
        images = flag_images((*build.sass, *(build.ptx or ())))
    return best([fit_image(image, gpu, loader) for image in images])


def _refusal(build: Build, env: Environment, fit: Fit, *, any_python: bool) -> Text | None:
    if env.os.system in ("windows", "linux", "macos") and build.os != env.os.system:
        return Text("builds.other_system", os=build.os)
    if env.os.arch and build.arch != env.os.arch:
        return Text("builds.other_arch", arch=build.arch)
    if fit is Fit.MISSING:
        return Text("builds.no_code")
    python = _python_tag(env)
    if not any_python and python and build.python and python not in build.python:
        return Text("builds.other_python", python=python)
    if build.toolkit and env.driver and env.driver.version:
        minimum = drivers.minimum_driver(build.toolkit, build.os)
        if minimum and drivers.at_least(env.driver.version, minimum) is False:
            return Text("builds.driver", minimum=minimum)
    return None


def _python_tag(env: Environment) -> str | None:
    """ "3.12", "3.13t", or None."""
    if env.python.version is None:
        return None
    return ".".join(env.python.version.split(".")[:2]) + ("t" if env.python.free_threaded else "")


def _change(build: Build, env: Environment) -> tuple[int, int, int, int, str]:
    """How far a build is from the installed one, smallest first.

    The same minor release, then newer ones upwards, then older ones downwards; within a minor
    the newest patch; among its tags the installed one, then the newest toolkit. With nothing
    installed: the newest.
    """
    version = Version.parse(build.torch)
    toolkit = parse_version(build.toolkit) if build.toolkit else (0, 0)
    newest_toolkit = -(toolkit[0] * 100 + toolkit[1])
    minor = version.major * 1000 + version.minor
    installed = parsed(env.torch.version) if env.torch else None
    if installed is None:
        return (0, -minor, -version.micro, newest_toolkit, build.tag)
    distance = minor - (installed.major * 1000 + installed.minor)
    other_tag = 0 if installed.local == build.tag else 10_000
    unsure = 0 if build.exists == "high" else 100_000  # a build that is known to be published goes first
    return (0 if distance >= 0 else 1, abs(distance), -version.micro, unsure + other_tag + newest_toolkit, build.tag)


def switch_fix(env: Environment, gpus: Sequence[Gpu]) -> Fix | None:
    """The next step "switch to that build", with its command; None where no build serves."""
    if not gpus:
        return None
    found = suitable_builds(env, gpus)
    if not found:
        return None
    build = found[0]
    packages = {"torch": build.torch}
    for name in COMPANIONS:
        versions = companion_versions(build.torch, name)
        if versions:
            packages[name] = versions[0]
    arch = tuple(gpu.arch or gpu.name for gpu in gpus)
    jit = worst([build_fit(build, gpu, env) for gpu in gpus]) is Fit.JIT
    companions = tuple(f"{name} {version}" for name, version in packages.items() if name != "torch")
    title = "switch.title" if companions else "switch.title_alone"
    return Fix(
        Text(title, torch=f"{build.torch}+{build.tag}", companions=companions),
        Text("switch.why_jit" if jit else "switch.why", arch=arch),
        command=install_command(env, packages, build.tag),
    )


def install_command(env: Environment, packages: dict[str, str], tag: str) -> tuple[str, ...]:
    """pip of this environment's own interpreter, with explicit local versions and their index.

    Without the local version the installer takes another build of the same version for good enough.
    """
    python = env.python.executable or "python"
    wanted = [f"{name}=={version}+{tag}" for name, version in packages.items()]
    return (python, "-m", "pip", "install", *wanted, "--index-url", INDEX + tag)
