"""Checks the pages of the documentation: examples are the files of docs/examples, tables fit, links and paths exist."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "docs" / "examples"
WIDEST_ROW = 160
MADE_BY_SCRIPTS = {"bench/results/achieved-accuracy.tsv"}

FENCE = re.compile(r'^ *```\w+ title="([^"]+)"\n(.*?)^ *```$', re.S | re.M)
RENEWED = re.compile(r"<!-- (?!end)\S+ -->.*?<!-- end -->", re.S)


def problems_of(page):
    text = page.read_text()
    for name, code in FENCE.findall(text):
        if name.startswith("output of "):
            continue
        if not (EXAMPLES / name).is_file():
            yield f'shows "{name}", but docs/examples has no such file'
        elif (EXAMPLES / name).read_text() != code:
            yield f'shows another "{name}" than docs/examples/{name}'
    # Blocks between marks are measurements, which scripts renew.
    blanked = RENEWED.sub(lambda block: "\n" * block.group().count("\n"), text)
    for number, line in enumerate(blanked.splitlines(), 1):
        if line.lstrip().startswith("|") and len(line) > WIDEST_ROW:
            yield f"line {number}: a row of {len(line)} characters, at most {WIDEST_ROW} fit"


def links_of(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in link and not (page.parent / link).exists():
            yield f"links to {link}, which is not there"


def paths_of(page):
    for path in re.findall(r"`((?:bench|docs|host|include|kernels|problems|script|tests)/[\w./-]+)`", page.read_text()):
        # Tests and programs are named without their extension.
        if path not in MADE_BY_SCRIPTS and not any(ROOT.glob(path.rstrip("/") + "*")):
            yield f"names {path}, which is not there"


def main():
    problems = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for problem in [*problems_of(page), *links_of(page), *paths_of(page)]:
            problems.append(f"{page.relative_to(ROOT)}: {problem}")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
