"""Puts pictures of screens into the documentation: `make screens` calls it after the tests that drive these screens.

    tests/peers ─► .local/screens/80x24/tour-2.ansi           ─► docs/images/tour.svg
                   .local/screenshots/inspector-timeline.png  ─► docs/images/inspector-timeline.png

Nothing is drawn by hand, and the SVG pictures load no fonts from elsewhere. `make test-peers` fails if one of them is
not the screen of its run. Those of the browser are not compared: another version draws other pixels.
"""

import io
from pathlib import Path

from PIL import Image  # comes with matplotlib
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 80, 24
SCREENS = ROOT / ".local" / "screens" / f"{WIDTH}x{HEIGHT}"
SCREENSHOTS = ROOT / ".local" / "screenshots"
BROWSER = "inspector-*.png"  # without the browser of `make peers`, these stay as they are
# Each picture with the screen that it shows.
PICTURES = {"tour": "tour-2", "gateway": "gateway-unconfigured"}
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def picture(name: str, screen: str) -> str:
    """A screen with its colours as an SVG picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    svg = console.export_svg(title=f"plimsoll {name}", code_format=SVG, unique_id=f"plimsoll-{name}")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Write the pictures of the README and the start page."""
    for name, screen in PICTURES.items():
        shown = (SCREENS / f"{screen}.ansi").read_text("utf-8")
        (IMAGES / f"{name}.svg").write_text(picture(name, shown), "utf-8")
        print(f"docs/images/{name}.svg")
    for page in sorted(SCREENSHOTS.glob(BROWSER)):
        with Image.open(page) as shot:  # few colours: a third of the size
            shot.convert("RGB").quantize(128).save(IMAGES / page.name, optimize=True)
        print(f"docs/images/{page.name}")


if __name__ == "__main__":
    main()
