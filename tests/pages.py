#!/usr/bin/python3
"""Fails on any path that a page names and the tree lacks: pages.py ROOT.

A page is a *.md file. It names a path by a link, or in code (a span or a fence) by a word that begins with one of the
tree's top folders or is a file's name; `*` stands for what a shell makes of it. Anything else is not judged.
"""

import pathlib
import re
import sys

ROOMS = ("core", "server", "web", "tests", "docker", ".ci")
LEFT_OUT = {"build", "node_modules", ".git"}
LINK = re.compile(r"\]\(<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1", re.S | re.M)
SPAN = re.compile(r"(`+)(.+?)\1", re.S)
IN_ROOM = re.compile(r"(?:^|(?<=[\s\"'(=:,]))(?:\./)?((?:%s)/[\w.*/-]*)" % "|".join(map(re.escape, ROOMS)), re.M)
FILE_NAME = re.compile(r"[\w-]+\.(?:cpp|hpp|cmake|md|conf)|CMakeLists\.txt|CMakePresets\.json|packages\.txt")


def files_of(root):
    for path in root.iterdir():
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from files_of(path)
        else:
            yield path


def exists(root, name):
    name = name.rstrip(".,:;/")
    return any(root.glob(name)) if "*" in name else (root / name).exists()


def named_by(page, text):
    """(path, where it may stand: a folder, or None for anywhere) for each path that the page names."""
    fences = [m[0] for m in FENCE.finditer(text)]
    prose = FENCE.sub("", text)
    spans = [m[2] for m in SPAN.finditer(prose)]
    for link in LINK.findall(SPAN.sub("", prose)):
        target = link.split("#")[0]
        if target and not re.match(r"[a-z]+:", target):
            yield target, page.parent
    for code in [*fences, *spans]:
        for name in IN_ROOM.findall(code):
            yield name, "root"
    for span in spans:
        if FILE_NAME.fullmatch(span.strip()):
            yield span.strip(), None


def main(root):
    files = list(files_of(root))
    names = {f.name for f in files}
    pages = [f for f in files if f.suffix == ".md"]
    wrong = 0
    for page in pages:
        for name, where in named_by(page, page.read_text("utf-8")):
            if where is None:
                found = name in names
            else:
                found = exists(root if where == "root" else where, name)
            if not found:
                print(f"{page.relative_to(root)}: names {name}, which is not there")
                wrong += 1
    print(f"{len(pages)} pages read, {wrong} paths not there")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
