"""Do torchvision and torchaudio belong to the installed torch?"""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge.torch_builds import COMPANIONS, companion_versions, release
from ..model import Basis, Finding, Fix, Severity, Subject, Text
from ..names import Version, parsed
from .facts import Facts

FW007 = "FW007"  # a companion of another build


def companion_findings(facts: Facts) -> Iterator[Finding]:
    """A companion made for another torch release, or for another CUDA tag, does not load or lacks its kernels."""
    env = facts.environment
    if env.torch is None:
        return
    torch = parsed(env.torch.version)
    for name in COMPANIONS:
        installed = env.distributions.get(name)
        companion = parsed(installed.version) if installed else None
        if installed is None or companion is None or torch is None:
            continue
        pinned = companion_versions(torch.public, name)
        other_tag = _cuda_tag(torch) and _cuda_tag(companion) and _cuda_tag(torch) != _cuda_tag(companion)
        cpu_only = _cuda_tag(torch).startswith("cu") and companion.local == "cpu"
        if other_tag or cpu_only:
            message = Text("FW007.tag", name=name, version=installed.version, torch=env.torch.version)
        elif pinned and not _belongs(companion, pinned, torch.public, name):
            message = Text(
                "FW007.release", name=name, version=installed.version, torch=env.torch.version, pinned=tuple(pinned)
            )
        else:
            continue
        yield Finding(
            FW007,
            Severity.WARNING,
            message,
            Subject(name, installed.version),
            basis=Basis.KNOWN,
            fixes=(Fix(Text("FW007.fix", name=name), Text("FW007.why")),),
        )


def _belongs(companion: Version, pinned: tuple[str, ...], torch: str, name: str) -> bool:
    """A release that the table names, another patch of the same minor, or a newer one where any newer torch is taken."""
    known = [Version.parse(version) for version in pinned]
    if any(companion.release[:2] == version.release[:2] for version in known):
        return True
    row = release(torch)
    pins = row.companions.get(name) if row else None
    return pins is not None and not pins.exact and companion > max(known)


def _cuda_tag(version: Version) -> str:
    """ "cu128", "rocm6.4", or "" where the version does not say."""
    local = version.local or ""
    return local if local.startswith(("cu", "rocm")) else ""
