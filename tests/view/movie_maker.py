"""Movies of expanding rings, for tests of the player: cheap, and with a known value everywhere."""

import numpy as np

from subsalt.view.movie import Movie, MovieAxis, quantise


def ring_movie(
    shape=(60, 40), frames=12, *, reimage="subsalt reimage survey.run", title="rings", spacing=None
):
    """Return a movie whose source field is a ring that grows, and whose receiver field one that shrinks."""
    names = "xz" if len(shape) == 2 else "xyz"
    spacing = spacing or [10.0, 15.0, 5.0][: len(shape)]
    axes = tuple(
        MovieAxis(n, 100.0 * i, h, m) for i, (n, h, m) in enumerate(zip(names, spacing, shape, strict=True))
    )
    places = np.meshgrid(*(np.arange(n, dtype=np.float64) for n in shape), indexing="ij")
    middle = [n / 2 for n in shape[:-1]] + [0.0]
    r = np.sqrt(sum((p - c) ** 2 for p, c in zip(places, middle, strict=True)))
    times = 0.1 + 0.05 * np.arange(frames)
    reach = max(shape) * np.arange(1, frames + 1) / frames
    source = np.stack([_ring(r - a) / (1 + a) for a in reach]).astype(np.float32)
    receiver = source[::-1] * -0.5
    image = np.cumsum((source * receiver)[::-1], axis=0)[::-1]
    velocity = (1500 + 2000 * places[-1] / shape[-1]).astype(np.float32)
    sx = [a.origin + c * a.spacing for a, c in zip(axes, middle, strict=True)]
    src = np.zeros((1, 3))
    src[0, [0, 2] if len(shape) == 2 else [0, 1, 2]] = sx
    rcv = np.zeros((21, 3))
    rcv[:, 0] = np.linspace(axes[0].origin, axes[0].last, 21)
    rcv[:, 1] = src[0, 1]
    rcv[:, 2] = axes[-1].origin
    return Movie(
        shot=7,
        title=title,
        run_id="0123456789abcdef" * 4,
        axes=axes,
        times=times,
        samples=np.arange(frames) * 4 + 8,
        velocity=velocity,
        fields={
            "source": quantise(source),
            "receiver": quantise(receiver),
            "image": quantise(image),
        },
        sources=src,
        receivers=rcv,
        reimage=reimage,
        facts={"medium": "isotropic"},
    )


def _ring(d):
    """Return a Ricker of the distance."""
    a = (d / 3.0) ** 2
    return (1 - 2 * a) * np.exp(-a)
