"""Texts of a page that lie outside it, or over each other."""

import itertools

from matplotlib.text import Text

#: pixels by which boxes of texts may overlap: their ascenders and descenders reach beyond most letters
SLACK = 2.0


def faults(fig):
    """Return what is wrong with the texts of a drawn figure, in words."""
    texts = texts_of(fig)
    page = fig.bbox
    out = [
        f"{words!r} reaches out of the page"
        for words, b in texts
        if b.x0 < page.x0 or b.x1 > page.x1 or b.y0 < page.y0 or b.y1 > page.y1
    ]
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > SLACK and high > SLACK:
            out.append(f"{one!r} lies over {other!r}")
    return out


def texts_of(fig):
    """Return the texts that are drawn on a figure, with their boxes in pixels."""
    renderer, hidden = fig.canvas.get_renderer(), not_drawn(fig)
    out = []
    for text in fig.findobj(Text):
        if not text.get_text().strip() or not text.get_visible() or id(text) in hidden:
            continue
        box = text.get_window_extent(renderer)
        if box.width > 0 and box.height > 0:
            out.append((text.get_text(), box))
    return out


def not_drawn(fig):
    """Return the ids of labels of axes that are off, and of ticks beyond the ends of their axis."""
    out = set()
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            drawn = {id(tick) for tick in axis._update_ticks()} if ax.axison else set()
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if id(tick) not in drawn:
                    out |= {id(tick.label1), id(tick.label2)}
            if not ax.axison:
                out |= {id(axis.label), id(axis.offsetText)}
    return out
