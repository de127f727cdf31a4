"""A small object store for the tests: files of a folder over HTTP as a web server and S3 serve them, by byte ranges."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

LISTING = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<Name>{bucket}</Name><Prefix>{prefix}</Prefix><KeyCount>{n}</KeyCount><MaxKeys>1000</MaxKeys>"
    "<IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
)
ITEM = (
    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{etag}&quot;</ETag>"
    "<Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


class ObjectServer:
    """Serves ``folder/BUCKET/KEY`` as ``url/BUCKET/KEY`` on this machine until `close`.

    Attributes
    ----------
    ranges : list of (str, int, int)
        Key, first byte and end of what was sent.
    failures : list of int
        HTTP codes with which the next requests of ranges are answered; 0 is no answer for `silence` seconds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.ranges, self.failures, self.silence = folder, [], [], 0.0
        self.etags, self.partial = True, True
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def etag(self, path: Path) -> str:
        """Return the version of a file."""
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _handler(store: ObjectServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            url = urlsplit(self.path)
            query, key = parse_qs(url.query), unquote(url.path).strip("/")
            path = store.folder / key
            if "list-type" in query:
                return self.listing(key, query)
            if body and store.failures:
                code = store.failures.pop(0)
                if code == 0:
                    time.sleep(store.silence)
                return self.send(code or 503, b"<Error><Code>SlowDown</Code></Error>", body)
            if "secret" in key:
                return self.send(403, b"<Error><Code>AccessDenied</Code></Error>", body)
            if path.is_dir() and not body:  # S3 asks whether there is a bucket
                return self.send(200, b"", body)
            if not path.is_file():
                return self.send(404, b"<Error><Code>NoSuchKey</Code></Error>", body)
            data = path.read_bytes()
            head = {"ETag": f'"{store.etag(path)}"'} if store.etags else {}
            wanted = (
                re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if store.partial else None
            )
            if wanted is None:
                head["Accept-Ranges"] = "bytes" if store.partial else "none"
                return self.send(200, data, body, head)
            a, b = int(wanted[1]), min(int(wanted[2]) + 1, len(data))
            if body:
                store.ranges.append((key, a, b))
            head["Content-Range"] = f"bytes {a}-{b - 1}/{len(data)}"
            return self.send(206, data[a:b], body, head)

        def listing(self, bucket: str, query: dict[str, list[str]]) -> None:
            prefix, root = query.get("prefix", [""])[0], store.folder / bucket
            files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else []
            items = [
                ITEM.format(key=escape(key), etag=store.etag(p), size=p.stat().st_size)
                for p in files
                if (key := p.relative_to(root).as_posix()).startswith(prefix)
            ]
            text = LISTING.format(bucket=bucket, prefix=escape(prefix), n=len(items), items="".join(items))
            self.send(200, text.encode(), True, {"Content-Type": "application/xml"})

        def send(self, code: int, data: bytes, body: bool, head: dict[str, str] | None = None) -> None:
            self.send_response(code)
            for name, value in (head or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                self.wfile.write(data)

    return Handler
