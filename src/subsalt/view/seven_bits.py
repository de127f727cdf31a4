"""Bytes as text that a page can hold: seven bits in each character, 15 % longer than the bytes (base64: 33 %)."""

from __future__ import annotations

import numpy as np

#: what HTML changes or ends a script with: NUL, CR and <; they go out with the eighth bit, hence as two bytes of UTF-8
_CHANGED = (0, 13, 60)


def encode(data: bytes) -> str:
    """Return `data` as text, most significant bits first; `decode` and the player's `bytesOf` undo it.

    Notes
    -----
    The characters are those of ASCII, controls included, which the parser of HTML leaves alone inside a ``script``
    but for three: these get 128 added. A decoder looks at the lower seven bits only.
    """
    codes = _septets(data)
    for c in _CHANGED:
        codes[codes == c] = c + 128
    return codes.tobytes().decode("latin-1")


def decode(text: str) -> bytes:
    """Return the bytes of a text that `encode` made."""
    codes = np.frombuffer(text.encode("latin-1"), dtype=np.uint8) & np.uint8(127)
    n = len(codes) * 7 // 8
    bits = np.unpackbits(codes[:, None], axis=1)[:, 1:].ravel()
    return np.packbits(bits[: n * 8]).tobytes()


def _septets(data: bytes) -> np.ndarray:
    """Return the numbers 0..127 of which each takes seven bits; the last is filled up with zeros."""
    n = -(-len(data) * 8 // 7)
    b = np.zeros((-(-len(data) // 7), 7), dtype=np.uint8)
    b.reshape(-1)[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    out = np.empty((len(b), 8), dtype=np.uint8)
    out[:, 0] = b[:, 0] >> 1
    for k in range(1, 7):
        out[:, k] = (b[:, k - 1] << (7 - k) | b[:, k] >> (k + 1)) & 127
    out[:, 7] = b[:, 6] & 127
    return out.reshape(-1)[:n].copy()
