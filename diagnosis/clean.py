"""What does the pasted text say, without its wrapping?

Terminals, containers, journals, chat boxes and JSON put things before, around and between the
words. Signatures are matched on the flat text: one line, single blanks, so that a sentence that
was wrapped or split over lines is still that sentence.
"""

from __future__ import annotations

import codecs
import html
import json
import re
from typing import Any, Final

_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_END: Final = re.compile(r"\r\n|\r|\n|\u2028")
_ESCAPE: Final = re.compile(r"\\(?:(?:u([0-9a-fA-F]{4})|x([01][0-9a-fA-F]))|(.))")
_LOOSE_CODE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x(1b))")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_ESCAPED: Final = 3  # JSON in JSON in JSON
_PLAIN_ESCAPES: Final = {"n": "\n", "r": "\n", "t": "\t", "b": "", "f": ""}
# Escaped line ends without escaped backslashes: "\n" also begins a folder's name in a Windows path,
# where letters stand on both sides.
_LOOSE_LINE_END: Final = re.compile(r"(?<![\w.()-])\\r?\\?n|\\n(?![a-z_])")

# What stands before the words of a line, outermost first; a line may have several.
_PREFIX: Final = re.compile(
    r"""\s{0,200}(?:
      [│┃║╎┆╭╰╮╯├└─━]{1,200}[\s│┃║]{0,20}                                        # boxes
    | >\s(?!>)                                                                   # quotes
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?\]?\s?(?:-\s)?
    | \[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s(?:-\s)?                             # time of day
    | (?:stdout|stderr)\s[FP]\s                                                  # container runtimes
    | [A-Z][a-z]{2}\s[\s\d]\d\s\d\d:\d\d:\d\d\s\S{1,80}\s[\w./@-]{1,80}(?:\[\d{1,9}\])?:\s?  # journals
    | [\w.-]{1,60}\s{1,20}\|\s                                                   # docker compose
    | \[(?:rank|default)?\d{1,4}\]:\s?                                           # torchrun
    | \((?:\w{1,40}\s)?(?:\w{1,40}=[\w.:-]{1,60},?\s?){1,4}\)\s?                   # worker processes
    | [EWIF]\d{4}(?:\d{4})?\s\d\d:\d\d:\d\d[.\d]{0,10}\s{1,8}\d{1,9}\s\S{1,120}:\d{1,6}\]\s?   # glog
    )""",
    re.VERBOSE,
)
_BOX: Final = "│┃║╮╯─━"
_MOST_PREFIXES: Final = 6
_QUOTE: Final = re.compile(r"\\(['\"])")
_ENTITY: Final = re.compile(r"&(?:quot|lt|gt|amp|#39|#x27|apos|nbsp);")
_JSON_START: Final = re.compile(r'\{\s*"')


def decode(data: bytes) -> str:
    """The text of some bytes: UTF-16 where its mark or its zero bytes say so, else UTF-8.

    Bytes that are neither become replacement characters: every signature is plain ASCII.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return data.decode(wide(data) or "utf-8", "replace")


def wide(data: bytes) -> str | None:
    """The UTF-16 encoding of some bytes, None where they are not UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    sample = data[:2048]
    if len(sample) < 4:
        return None
    if sample[1::2].count(0) * 4 > len(sample):
        return "utf-16-le"
    return "utf-16-be" if sample[0::2].count(0) * 4 > len(sample) else None


def lines(text: str) -> list[str]:
    """The lines of a text without colours, escapes and prefixes; empty ones are kept."""
    found: list[str] = []
    for line in _LINE_END.split(text):
        if "&" in line and _ENTITY.search(line):
            line = html.unescape(line)
        parts = _LINE_END.split(_unescaped(line)) if "\\" in line else (line,)
        found.extend(_bare(part) for part in parts)
    return found


def flat(parts: list[str]) -> str:
    """Lines in one, words separated by single blanks."""
    return " ".join(" ".join(parts).split())


def flatten(text: str) -> str:
    """The whole text in one line, words separated by single blanks."""
    return flat(lines(text))


def _bare(line: str) -> str:
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    for _ in range(_MOST_PREFIXES):
        prefix = _PREFIX.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    line = line.rstrip()
    return line.rstrip(_BOX + " \t") if line.endswith(tuple(_BOX)) else line


def _unescaped(line: str) -> str:
    """Undo the escapes of JSON and of Python's repr, also those of an escaped text in an escaped text."""
    for _ in range(_MOST_ESCAPED):
        before, line = line, _unescape(line)
        if line == before or "\\\\" not in line:
            break
    if _SURROGATE.search(line):
        line = line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return line


def _unescape(line: str) -> str:
    document = _json_texts(line)
    if document is not None:
        return document
    escapes = {match[3] or "u" for match in _ESCAPE.finditer(line)}
    if "\\" in escapes and "n" in escapes:
        return _ESCAPE.sub(_plain, line)
    if "n" in escapes or "u" in escapes:
        loose = _LOOSE_LINE_END.sub("\n", line)
        loose = _LOOSE_CODE.sub(_plain, loose)
        return _QUOTE.sub(r"\1", loose)
    return _QUOTE.sub(r"\1", line.replace("\\\\", "\\")) if escapes & {"\\", "'", '"'} else line


def _plain(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _PLAIN_ESCAPES.get(escape[3], escape[3])


def _json_texts(line: str) -> str | None:
    """The strings of the first JSON object in a line, in their order; None where there is none."""
    start = _JSON_START.search(line)
    if start is None:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(line, start.start())
    except (ValueError, RecursionError):
        return None
    return "\n".join((line[: start.start()], *_strings(value), line[end:]))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        inner = _json_texts(value) if _JSON_START.match(value) else None
        return [value if inner is None else inner]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return []
