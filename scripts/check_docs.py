"""Checks the documents: relative links and anchors exist, Python snippets parse, `make` commands name real targets.

Reads Markdown files that git tracks or would track; reaches no network. Exit code 1 with one line per fault.
"""

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)
MAKE = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*make ([a-z-]+)", re.MULTILINE)


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as code hosts make them."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(anchor)
    return found


def link_faults(page: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists():
            yield f"link to {target}: no such file"
        elif anchor and linked.suffix == ".md" and anchor not in anchors(linked.read_text(encoding="utf-8")):
            yield f"link to {target}: no such heading"


def snippet_faults(text: str, targets: set[str]) -> Iterator[str]:
    for fence in FENCE.finditer(text):
        line, body = text.count("\n", 0, fence.start()) + 1, textwrap.dedent(fence["body"])
        if fence["language"] in {"python", "py"}:
            try:
                ast.parse(body)
            except SyntaxError as error:
                yield f"line {line}: the Python snippet does not parse: {error.msg} (its line {error.lineno})"
        elif fence["language"] in {"sh", "bash", "console", "shell"}:
            for target in MAKE.findall(body):
                if target not in targets:
                    yield f"line {line}: make has no target {target}"


def main() -> int:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = documents()
    faults = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for fault in (*link_faults(page, text), *snippet_faults(text, targets)):
            print(f"{page.relative_to(ROOT)}: {fault}")
            faults += 1
    print(f"docs: {len(pages)} pages, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
