#!/usr/bin/env python3
"""Draws docs/figures/architecture.svg from the includes of the code: the folders of tests/architecture/floors.txt and
the arrows between them, without those that others imply."""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 172, 40, 18, 44, 12
COLOURS = {"include": "#fff3d6", "kernels": "#d9efe9", "problems": "#eeeeee", "host": "#dde6f5"}


def floors():
    with open(os.path.join(ROOT, "tests", "architecture", "floors.txt")) as lines:
        names = [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]
    return [os.path.relpath(folder, ROOT) for name in names for folder in sorted(glob.glob(os.path.join(ROOT, name)))]


def arrows(folders):
    """Folder pairs (from, to), and the lines of code of each folder."""
    found, size = set(), dict.fromkeys(folders, 0)
    for top in ("include", "kernels", "host"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            own = os.path.relpath(folder, ROOT)
            for name in files:
                if not name.endswith((".hpp", ".cpp")):
                    continue
                with open(os.path.join(folder, name)) as source:
                    for line in source:
                        size[own] += 1
                        include = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
                        for base in (folder, ROOT, os.path.join(ROOT, "include")) if include else ():
                            path = os.path.normpath(os.path.join(base, include[1]))
                            if os.path.exists(path):
                                target = os.path.relpath(os.path.dirname(path), ROOT)
                                target = "problems" if target.startswith("problems") else target
                                if target != own:
                                    found.add((own, target))
                                break
    # The interface stands on everything; it is drawn as what it is, the top.
    return {(a, b) for a, b in found if a != "include/manyfold"}, size


def reduced(edges):
    """Without the arrows that a longer way implies."""
    below = {}
    for a, b in edges:
        below.setdefault(a, set()).add(b)

    def reaches(a, b):
        return any(c == b or reaches(c, b) for c in below.get(a, ()))

    return {(a, b) for a, b in edges if not any(c != b and reaches(c, b) for c in below[a])}


def main():
    names = floors()
    edges, size = arrows(names)
    edges = reduced(edges)
    level = {}
    for name in names:  # the lowest first: what it includes has a level already
        level[name] = 1 + max((level[b] for a, b in edges if a == name and b in level), default=-1)
    rows = {}
    for name in names:
        rows.setdefault(level[name], []).append(name)
    width = max(len(row) for row in rows.values()) * (WIDTH + GAP_X) + 2 * MARGIN
    height = (max(rows) + 1) * (HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    place = {}
    for at, row in rows.items():
        indent = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for k, name in enumerate(row):
            place[name] = indent + k * (WIDTH + GAP_X), height - MARGIN - HEIGHT - at * (HEIGHT + GAP_Y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" '
           'font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>']
    for a, b in sorted(edges):
        (x1, y1), (x2, y2) = place[a], place[b]
        x1, x2, y1 = x1 + WIDTH / 2, x2 + WIDTH / 2, y1 + HEIGHT
        middle = (y1 + y2) / 2
        out.append(f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}" '
                   'fill="none" stroke="#777" marker-end="url(#tip)"/>')
    for name, (x, y) in place.items():
        out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5" stroke="#555" '
                   f'fill="{COLOURS[name.split("/")[0]]}"/>')
        out.append(f'<text x="{x + WIDTH / 2:.0f}" y="{y + 17:.0f}" text-anchor="middle">{name}</text>')
        if size[name]:
            out.append(f'<text x="{x + WIDTH / 2:.0f}" y="{y + 32:.0f}" text-anchor="middle" fill="#666" '
                       f'font-size="10">{size[name]} lines</text>')
    out.append("</svg>")
    with open(os.path.join(ROOT, "docs", "figures", "architecture.svg"), "w") as figure:
        figure.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
