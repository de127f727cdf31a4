"""HTTP responses that are read within bounds: the requested bytes and no more, however much a server sends."""

from __future__ import annotations

import re
from typing import Any

import aiohttp

from subsalt.errors import DataError
from subsalt.host import available_memory

#: bytes of an answer to a request that names no range: an object of a store of arrays, or a listing
WHOLE = 1 << 30

#: bytes of the text of an error
ERROR = 1 << 20


class HttpResponse(aiohttp.ClientResponse):
    """A response whose body is read up to the end of the requested range, or as far as memory reaches."""

    async def read(self) -> bytes:
        """Return the body.

        Raises
        ------
        DataError
            When the server sends more than the requested bytes.
        """
        if self._body is not None:
            return self._body
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.request_info.headers.get("Range", ""))
        most = int(wanted[2]) - int(wanted[1]) + 1 if wanted else min(WHOLE, available_memory() // 4)
        if self.status >= 400:
            most = ERROR  # the text of an error may be longer than the range
        parts, size = [], 0
        async for part in self.content.iter_chunked(1 << 16):
            size += len(part)
            if size > most:
                self.close()
                raise DataError(
                    f"{self.url}: {most} bytes were asked for, and more came",
                    "download the file, or ask for a server that answers requests for byte ranges",
                    code="E603",
                )
            parts.append(part)
        self._body = b"".join(parts)
        return self._body


async def client(**settings: Any) -> aiohttp.ClientSession:
    """Return a session whose responses are bounded and not unpacked: a few bytes may become gigabytes."""
    return aiohttp.ClientSession(response_class=HttpResponse, auto_decompress=False, **settings)
