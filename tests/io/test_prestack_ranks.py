"""A table of prestack traces is the same on any number of ranks, each having read a part of the headers."""

import numpy as np
from launch import needs_mpi, run
from segy_maker import line_headers, make_segy

TABLE = """
    import hashlib, json, sys
    import numpy as np
    from pathlib import Path
    from subsalt.parallel.comm import world
    from subsalt.errors import SubsaltError
    from subsalt.io.prestack.positions import LineGeometry
    from subsalt.io.segy.fix import Fix
    from subsalt.io.segy.headers import HeaderBytes
    from subsalt.io.prestack.table import open_traces
    from subsalt.io.input_traffic import COUNTED
    from subsalt.parallel.relay import plain
    w, folder = world(), Path("FOLDER")
    files = sorted(folder.glob("part*.sgy"))
    before = COUNTED.now()
    table = open_traces(files, fix=Fix(dead="zero"), comm=w)
    moved = (COUNTED.now() - before).read
    assert w.size == 1 or w.max(moved) < 0.75 * w.sum(moved), moved
    names = ("number", "src", "rcv", "offset", "azimuth", "cdp", "ffid", "channel", "inline", "bin_x")
    text = hashlib.sha256(b"".join(np.ascontiguousarray(getattr(table, n)).tobytes() for n in names))
    text.update(table.files.read(table.number).tobytes())
    assert table.crossline is None
    facts = [table.time.nt, table.time.t0, table.notes, [f.code for f in table.findings], table.files.stamps]
    text.update(json.dumps(plain(facts)).encode())
    said = [text.hexdigest(), len(table)]
    for bad in ([*files, folder / "bad.sgy"], [folder / "none.sgy", *files]):
        try:
            open_traces(bad, comm=w)
        except SubsaltError as error:
            said += [error.code, error.message.split(" (rank")[0]]
    try:
        open_traces(files, HeaderBytes(source_x=0, receiver_x=0), comm=w)
    except SubsaltError as error:
        said += [error.code, error.message]
    print(json.dumps(said))
"""


@needs_mpi
def test_any_number_of_ranks_has_one_table(tmp_path):
    rng = np.random.default_rng(4)
    for k, shots in enumerate((1, 5, 2)):
        n = 4 * shots
        kind = np.where(rng.random(n) < 0.2, 2, 1)
        headers = line_headers(shots, 4) | {"trace_id": kind, "delay": 8 * k, "inline": 100 + k, "cdp_x": 7}
        headers["source_x"] = headers["source_x"] + 1_000_000 * k
        make_segy(tmp_path / f"part{k}.sgy", rng.normal(size=(n, 30)).astype("f4"), headers=headers)
    (tmp_path / "bad.sgy").write_bytes(b"no seismic traces" * 300)
    printed = []
    for ranks in (1, 2, 3):
        done = run(ranks, TABLE.replace("FOLDER", str(tmp_path)))
        assert done.rc == 0, done
        assert len(set(done.out)) == 1
        printed.append(done.out[0])
    assert printed[0] == printed[1] == printed[2]
    assert '"E211"' in printed[0]
    assert '"E110"' in printed[0]
    assert '"E722"' in printed[0]
