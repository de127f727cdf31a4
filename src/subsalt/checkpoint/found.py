"""Records that an earlier process left in the files of a store, found again by their headers."""

from __future__ import annotations

import mmap
import os

from subsalt.checkpoint.flight import Slot
from subsalt.checkpoint.record import PAGE, TAIL_HEAD, TAIL_MAGIC, Identity, Layout, header_numbers, key_of
from subsalt.checkpoint.stripes import Stripes
from subsalt.checkpoint.transfers import sealed


def find_records(files: Stripes, identity: Identity) -> dict[int, Slot]:
    """Return the records of `identity` in `files`, by key; of two with one key, the one that was put last.

    Notes
    -----
    A record counts when its header and trailer are whole, belong together and are of this run, shot, rank and size: a
    put that was cut off has no trailer yet. Its payload is compared with its checksums when it is read.
    """
    largest = Layout.of(identity.record).payload
    found: dict[int, Slot] = {}
    for number in files.slots():
        head = _pages(files, number, 0, PAGE)
        if len(head) < PAGE or not sealed(head):
            continue
        key, (sequence, payload) = key_of(head), header_numbers(head)
        if not 0 < payload <= largest or identity.differs(head, key, payload):
            continue
        layout = Layout(payload, identity.block)
        tail = _pages(files, number, PAGE + layout.padded, layout.trailer)
        if len(tail) < layout.trailer or not sealed(tail):
            continue
        magic, put, nbytes, _, _ = TAIL_HEAD.unpack_from(tail)
        if (magic, put, nbytes) == (TAIL_MAGIC, sequence, payload) and (
            key not in found or sequence > found[key].sequence
        ):
            found[key] = Slot(number, sequence, payload)
    return found


def _pages(files: Stripes, slot: int, offset: int, nbytes: int) -> bytes:
    """Return some whole pages of a slot, or what there is of them."""
    fd, start, _, _ = files.place(slot)
    with mmap.mmap(-1, nbytes) as pages:
        try:
            n = os.preadv(fd, [pages], start + offset)
        except OSError:
            return b""
        return pages[:n]
