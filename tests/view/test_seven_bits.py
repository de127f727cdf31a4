"""Text of seven bits a character: every byte comes back, through HTML too, and is short."""

import html.parser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt.view.movie_page import decode, encode


@given(st.binary(max_size=200))
def test_bytes_come_back(data):
    text = encode(data)
    assert len(text) == -(-len(data) * 8 // 7)
    assert decode(text) == data


@pytest.mark.parametrize("n", range(16))
def test_all_ends_of_a_group(n):
    for fill in (0, 255, 0x55):
        assert decode(encode(bytes([fill]) * n)) == bytes([fill]) * n


def test_no_character_means_anything_to_html():
    data = (
        np.random.default_rng(1).integers(0, 256, 100_000, dtype=np.uint8).tobytes() + b"</script><!--" * 50
    )
    text = encode(data)
    assert not set(text) & {"\0", "\r", "<"}
    assert decode(text) == data
    # 8 / 7, and one byte more for three characters of 128
    assert len(text.encode("utf-8")) <= len(data) * 8 / 7 * (1 + 3 / 128) * 1.01


def test_a_parser_gives_the_text_back():
    held = []

    class Reader(html.parser.HTMLParser):
        def handle_data(self, data):
            held.append(data)

    text = encode(bytes(range(256)) * 4)
    reader = Reader()
    reader.feed(f'<script type="text/plain" id="x">{text}</script>')
    reader.close()
    assert decode("".join(held)) == bytes(range(256)) * 4
