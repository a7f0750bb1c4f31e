"""A real ComfyUI, started for a test with packs of its own, and asked over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PACKS = Path(__file__).resolve().parent / "packs"
START_S = 120
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".test-cache", ".gpu-*", "__pycache__", "*.egg-info", ".mypy_cache", ".ruff_cache", ".hypothesis", "build"
)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Host:
    """One running ComfyUI."""

    def __init__(self, url: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.url, self._log, self.process = url, log, process

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def ask(self, path: str, data: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """(status, body as JSON or text)."""
        body = data if isinstance(data, bytes) else None if data is None else json.dumps(data).encode()
        kind = {} if data is None or (headers and "Content-Type" in headers) else {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, {**kind, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as fault:
            status, text = fault.code, fault.read().decode("utf-8", "replace")
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def run(self, prompt: dict[str, Any], client_id: str | None = None) -> dict[str, Any]:
        """Queue a prompt and give its history entry."""
        status, answer = self.ask("/prompt", {"prompt": prompt, "client_id": client_id or str(uuid.uuid4())})
        assert status == 200, answer
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            _, history = self.ask(f"/history/{answer['prompt_id']}")
            if history.get(answer["prompt_id"], {}).get("status", {}).get("status_str"):
                return history[answer["prompt_id"]]
            assert self.process.poll() is None, self.log[-3000:]
            time.sleep(0.1)
        raise TimeoutError(f"the queue hangs: {self.log[-2000:]}")

    @contextmanager
    def listening(self, client_id: str) -> Iterator[list[dict[str, Any]]]:
        """The websocket's messages of a page, as they come in."""
        address = self.url.removeprefix("http://")
        name, _, port = address.partition(":")
        told: list[dict[str, Any]] = []
        with socket.create_connection((name, int(port)), 10) as sock, sock.makefile("rb") as stream:
            sock.settimeout(None)
            sock.sendall(
                f"GET /ws?clientId={client_id} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            assert b" 101 " in stream.readline()
            while stream.readline().strip():
                pass
            threading.Thread(target=_frames, args=(stream, told), daemon=True).start()
            yield told
            sock.shutdown(socket.SHUT_RDWR)

    def wait_for_log(self, text: str, seconds: float = 20) -> str:
        deadline = time.monotonic() + seconds
        while text not in self.log and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.log


def _frames(stream: Any, told: list[dict[str, Any]]) -> None:
    """Unfragmented frames of a server, as aiohttp sends them."""
    while len(head := stream.read(2)) == 2:
        length = head[1] & 127
        if length > 125:
            length = struct.unpack(*(("!H", stream.read(2)) if length == 126 else ("!Q", stream.read(8))))[0]
        data = stream.read(length)
        if head[0] & 15 == 1:
            told.append(json.loads(data))


def wait_for(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """The condition's value as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return value


def error_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The execution_error message of a history entry."""
    return next(
        data for kind, data in entry["status"]["messages"] if kind in ("execution_error", "execution_interrupted")
    )


@contextmanager
def running(
    comfyui: Path,
    base: Path,
    packs: Sequence[str] = (),
    *,
    pack_name: str | Sequence[str] | None = "ComfyUI-ArchCoverage",
    arguments: Sequence[str] = (),
    env: dict[str, str] | None = None,
    read_only: bool = False,
    in_place: bool = False,
    gpu: bool = False,
) -> Iterator[Host]:
    """Start ComfyUI with this package copied as `pack_name` (several: several copies), and other test packs."""
    nodes = base / "custom_nodes"
    nodes.mkdir(parents=True, exist_ok=True)
    names = [pack_name] if isinstance(pack_name, str) else list(pack_name or ())
    for name in names:
        if in_place:
            (nodes / name).symlink_to(ROOT, target_is_directory=True)
        else:
            shutil.copytree(ROOT, nodes / name, ignore=LEFT_OUT)
        if read_only:
            for path in (nodes / name, *(nodes / name).rglob("*")):
                path.chmod(0o555 if path.is_dir() else 0o444)
    for pack in packs:
        shutil.copytree(PACKS / pack.partition(":")[0], nodes / (pack.partition(":")[2] or pack))
    page = base / "page"
    page.mkdir(exist_ok=True)
    (page / "index.html").write_text("<html></html>", "utf-8")
    port, log = free_port(), base / "host.log"
    command = [os.environ["ARCHCOV_HOST_PYTHON"], "main.py", "--port", str(port), "--base-directory", str(base)]
    command += [] if gpu else ["--cpu"]
    command += [
        "--front-end-root",
        str(page),
        "--disable-api-nodes",
        "--database-url",
        "sqlite:///:memory:",
        *arguments,
    ]
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", **(env or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=comfyui, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=settings
        )
        host = Host(f"http://127.0.0.1:{port}", log, process)
        try:
            _wait(host)
            yield host
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(host: Host) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if host.process.poll() is not None:
            raise AssertionError(f"ComfyUI ended with {host.process.returncode}:\n{host.log[-4000:]}")
        try:
            if host.ask("/system_stats")[0] == 200:
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.2)
    raise AssertionError(f"ComfyUI did not start:\n{host.log[-4000:]}")
