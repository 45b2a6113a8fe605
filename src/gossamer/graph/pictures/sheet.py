"""The sheet that pictures are drawn on: a matplotlib figure of fixed size, measured in points.

Text from the web is drawn literally, never as a formula, and only in characters that the font has.
The same picture gives the same bytes.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any
from unicodedata import bidirectional

from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Lengths are in points (1/72 inch), like font sizes.
SHEET_SIZE = (980.0, 660.0)
DPI = 150
INK, FAINT, WHITE = "#222222", "#777777", "#ffffff"
STYLE: dict[Any, object] = {
    "svg.hashsalt": "gossamer", "svg.fonttype": "none", "font.family": "sans-serif", "text.parse_math": False,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT, "xtick.color": FAINT, "ytick.color": FAINT,
    "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


@contextmanager
def open_sheet(out: IO[bytes], image_format: str) -> Iterator[Sheet]:
    """Yield a sheet to draw on and write it at the end; `image_format` is svg or png."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - a heavy, optional dependency
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("Pictures need matplotlib: pip install 'gossamer[pictures]'.") from error
    with mpl.rc_context():
        mpl.rcdefaults()  # ignores the user's matplotlib settings
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=(SHEET_SIZE[0] / 72, SHEET_SIZE[1] / 72), dpi=DPI, facecolor=WHITE)
        yield Sheet(figure)
        # No time and no library version: the same picture gives the same file.
        metadata = {"Date": None, "Creator": "Gossamer"} if image_format == "svg" else {"Software": "Gossamer"}
        figure.savefig(out, format=image_format, metadata=metadata)


class Sheet:
    """A figure with axes in points, which measures and draws text."""

    def __init__(self, figure: Any) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.font_manager import FontProperties, fontManager  # noqa: PLC0415
        from matplotlib.ft2font import FT2Font  # noqa: PLC0415

        self.figure = figure
        self.axes = figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, SHEET_SIZE[0]), ylim=(0, SHEET_SIZE[1]))
        self.axes.axis("off")
        canvas: Any = FigureCanvasAgg(figure)
        self._renderer = canvas.get_renderer()
        self._font_properties = FontProperties
        self._charmap = FT2Font(fontManager.findfont("DejaVu Sans")).get_charmap()

    def can_show(self, text: str) -> bool:
        """Whether the font has all characters and none is written from right to left, which is not supported."""
        return text.isprintable() and all(
            ord(character) in self._charmap and bidirectional(character) not in {"R", "AL"} for character in text
        )

    def first_showable(self, names: tuple[str, ...]) -> str:
        """Return the first name that can be shown, else ""."""
        return next((name for name in names if self.can_show(name)), "")

    def text_size(self, text: str, height: float) -> tuple[float, float]:
        """Return width and height of a text in points."""
        font = self._font_properties(family="DejaVu Sans", size=height)
        width_pixels, height_pixels, _ = self._renderer.get_text_width_height_descent(text, font, ismath=False)
        return width_pixels * 72 / DPI, height_pixels * 72 / DPI

    def draw_text(self, x: float, y: float, text: str, height: float, *, colour: str = INK, **options: Any) -> Any:
        """Draw a text that starts at a point; characters that cannot be shown are left out."""
        shown = "".join(character for character in text if self.can_show(character))
        return self.axes.text(x, y, shown, fontsize=height, color=colour, **options)
