#!/usr/bin/env python3
"""Checks that relative links in the Markdown files below a directory lead to files there, or with --fix
replaces links that don't with their text.

usage: images/check-links.py [--fix] DIR
"""
import pathlib
import re
import sys

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def is_dead(page, target):
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return False
    return not (page.parent / target.split("#")[0]).exists()


def main():
    fix = sys.argv[1:2] == ["--fix"]
    folder = pathlib.Path(sys.argv[-1])
    dead = 0
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text()
        for _, _, target in LINK.findall(text):
            if is_dead(page, target) and not fix:
                print(f"{page.relative_to(folder)}: {target} doesn't exist", file=sys.stderr)
                dead += 1
        if fix:
            keep = lambda link: link[2] if is_dead(page, link[3]) else link[0]
            page.write_text(LINK.sub(keep, text))
    sys.exit(dead > 0)


if __name__ == "__main__":
    main()
