#!/usr/bin/env python3
"""Draws docs/images/unit.svg and order.svg from made-up times, seeded: docs/images/statistics.py FOLDER"""

import math
import random
import sys
from pathlib import Path

STYLE = (
    "svg{--paper:#fff;--ink:#1f2328;--soft:#59636e;--grid:#d1d9e0;--shade:#eff2f5;--base:#0969da;--head:#bc4c00}"
    "@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#f0f6fc;--soft:#9198a1;--grid:#3d444d;--shade:#1b212a;"
    "--base:#58a6ff;--head:#f0883e}}"
    "text{font:13px system-ui,'Noto Sans','DejaVu Sans',sans-serif;fill:var(--ink)}.name{font-size:16px;font-weight:600}"
    ".soft{fill:var(--soft)}.mid{text-anchor:middle}.end{text-anchor:end}.paper{fill:var(--paper)}.shade{fill:var(--shade)}"
    ".grid{stroke:var(--grid);fill:none}.drift{stroke:var(--soft);stroke-width:2;stroke-dasharray:5 4;fill:none}"
    ".base{fill:var(--base)}.head{fill:var(--head)}.faint{fill-opacity:.45}"
    ".basebar{stroke:var(--base);stroke-width:3}.headbar{stroke:var(--head);stroke-width:3}"
    ".link{stroke:var(--soft);stroke-width:1.5}"
)


class Svg:
    def __init__(self, width, height, title):
        self.size = (width, height)
        self.lines = [f"<title>{title}</title>", f"<style>{STYLE}</style>"]
        self.rect("paper", 0, 0, width, height)

    def rect(self, name, x, y, width, height):
        self.lines.append(f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>')

    def dot(self, name, x, y, radius):
        self.lines.append(f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>')

    def line(self, name, *points):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.lines.append(f'<path class="{name}" d="M{path}"/>')

    def text(self, name, x, y, text):
        self.lines.append(f'<text class="{name}" x="{x:.1f}" y="{y:.1f}">{text}</text>')

    def save(self, path):
        width, height = self.size
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        path.write_text("\n".join([head, *self.lines, "</svg>"]) + "\n")


def unit(path):
    """Ten processes of one program: tight within, apart from one another."""
    draw = random.Random(11)
    svg = Svg(800, 330, "Samples of ten processes of the same program, five called base and five called head")
    svg.text("name", 20, 30, "Ten processes of the same program: 30 iterations each")
    svg.text("soft", 20, 52, "Made-up times. A dot is an iteration, a bar the place of its process.")
    y = lambda percent: 180 - percent * 42
    for percent in (-2, -1, 0, 1, 2):
        svg.line("grid", (70, y(percent)), (780, y(percent)))
        svg.text("soft end", 62, y(percent) + 4, f"{percent:+d} %" if percent else "0")
    offsets = {"base": [-0.9, 0.3, -1.2, -0.2, -0.5], "head": [0.7, -0.6, 1.1, -0.4, 0.2]}
    for group, (side, places) in enumerate(offsets.items()):
        for index, offset in enumerate(places):
            left = 92 + group * 350 + index * 66
            for sample in range(30):
                value = offset + draw.gauss(0, 0.16)
                svg.dot(f"{side} faint", left + sample * 1.6, y(value), 2)
            svg.line(f"{side}bar", (left - 2, y(offset)), (left + 50, y(offset)))
        svg.text("mid", 92 + group * 350 + 157, 298, f"5 processes called {side}")
    svg.text("soft mid", 400, 320, "300 iterations say the two differ beyond doubt; 10 processes say that they may well not.")
    svg.save(path)


def order(path):
    """A machine that slows down over twelve rounds, measured in two blocks and in rounds in random order."""
    svg = Svg(800, 470, "Drift under two orders of measuring: blocks, and rounds in random order")
    draw = random.Random(5)
    drift = lambda place: 3.2 * place / 24 + 0.35 * math.sin(place / 2.2)
    draws = [draw.random() < 0.5 for _ in range(12)]
    orders = [
        ("All of base, then all of head: the drift of the machine looks like a change", ["base"] * 12 + ["head"] * 12, 92),
        ("Rounds in random order: the drift meets both sides, and its sign is random",
         [side for drawn in draws for side in (("base", "head") if drawn else ("head", "base"))], 290),
    ]
    svg.text("name", 20, 30, "The same program on both sides, on a machine that gets slower")
    svg.text("soft", 20, 50, "Made-up times. Dashed: the machine's drift. Time runs to the right.")
    for number, (title, sides, top) in enumerate(orders):
        noise = random.Random(7)
        y = lambda percent: top + 138 - percent * 30
        svg.text("", 20, top - 8, title)
        x = lambda place: 90 + place * 24.5
        if number == 1:
            for round_ in range(0, 12, 2):
                svg.rect("shade", x(2 * round_) - 12, top + 4, 49, 144)
        svg.line("grid", (70, y(0)), (690, y(0)))
        svg.line("drift", *[(x(place), y(drift(place))) for place in range(24)])
        values = [drift(place) + noise.gauss(0, 0.22) for place in range(24)]
        if number == 1:
            for round_ in range(12):
                svg.line("link", *[(x(place), y(values[place])) for place in (2 * round_, 2 * round_ + 1)])
        for place, (side, value) in enumerate(zip(sides, values)):
            svg.dot(side, x(place), y(value), 5)
        mean = lambda side: sum(v for v, s in zip(values, sides) if s == side) / 12
        svg.text("", 700, top + 70, "head - base")
        svg.text("name", 700, top + 92, f"{mean('head') - mean('base'):+.1f} %")
    svg.dot("base", 26, 456, 5)
    svg.text("soft", 36, 460, "base")
    svg.dot("head", 86, 456, 5)
    svg.text("soft", 96, 460, "head")
    svg.text("soft", 150, 460, "Shaded and plain strips: rounds.")
    svg.save(path)


folder = Path(sys.argv[1])
unit(folder / "unit.svg")
order(folder / "order.svg")
