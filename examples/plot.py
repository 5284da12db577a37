"""plot(path, title, series): lines as an SVG file, where there is no matplotlib."""
from html import escape

COLORS = ["#2563eb", "#dc2626", "#16a34a", "#9333ea", "#ca8a04", "#0891b2"]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 320, 60, 36, 130, 36


def plot(path, title, series, x_title=""):
    """series: {name: numbers}, or {name: (x, y)}."""
    lines = {name: (line if isinstance(line, tuple) else (range(len(line)), line)) for name, line in series.items()}
    xs, ys = ([float(v) for line in lines.values() for v in line[k]] for k in (0, 1))
    if not xs or not all(v - v == 0 for v in xs + ys):
        raise ValueError(f"{title}: a plot takes finite numbers, and at least one")
    (x_least, x_most), (y_least, y_most) = ((min(v), max(v) if max(v) > min(v) else min(v) + 1) for v in (xs, ys))

    def at(x, y):
        return (LEFT + (x - x_least) / (x_most - x_least) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (y - y_least) / (y_most - y_least) * (HEIGHT - TOP - BOTTOM))

    def text(x, y, what, anchor="middle", color="#444"):
        return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{escape(str(what))}</text>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(LEFT, 20, title, "start", "#111"),
           text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, x_title)]
    for part in range(5):
        x, y = (least + (most - least) * part / 4 for least, most in ((x_least, x_most), (y_least, y_most)))
        (px, _), (_, py) = at(x, y_least), at(x_least, y)
        out += [f'<line x1="{LEFT}" y1="{py:.1f}" x2="{WIDTH - RIGHT}" y2="{py:.1f}" stroke="#ddd"/>',
                text(LEFT - 6, py + 4, f"{y:.3g}", "end"), text(px, HEIGHT - BOTTOM + 16, f"{x:.3g}")]
    for i, (name, (x, y)) in enumerate(lines.items()):
        color, points = COLORS[i % len(COLORS)], [at(float(a), float(b)) for a, b in zip(x, y)]
        out += [f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{color}" stroke-width="1.5"/>',
                text(WIDTH - RIGHT + 8, TOP + 14 + 18 * i, name, "start", color)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n</svg>\n")
