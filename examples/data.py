"""Which public data the examples use: sources, sizes, checksums and terms; fetches or copies them into a folder.

    python examples/data.py                          # list the files
    python examples/data.py FOLDER                   # say which of them FOLDER has, and check them
    python examples/data.py FOLDER --fetch           # fetch those that are missing and lie on the web as they are used
    python examples/data.py FOLDER --from ELSEWHERE  # copy them from another folder

The jobs in this folder look for them in ``examples/data``. None is part of subsalt: the terms of each source apply.
A file is only accepted with its checksum. Models in ``models/`` were converted; the list says from what and how.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

#: files of a repository at a commit
RAW = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


@dataclass(frozen=True)
class DataFile:
    """A file of public data.

    Parameters
    ----------
    name : str
        Path below the folder of the data.
    size : int
        Bytes.
    sha256 : str
        Checksum of the file.
    about : str
        Contents.
    repository, commit, path : str
        Source: a GitHub repository, a commit, and the path of the file there; several paths of a converted file.
    terms : str
        Licence that the source states.
    conversion : str
        How it was made from the source; empty where it is the file of the source.
    """

    name: str
    size: int
    sha256: str
    about: str
    repository: str
    commit: str
    path: str
    terms: str
    conversion: str = ""

    def state(self, folder: Path) -> str:
        """Return ``"there"``, ``"missing"`` or ``"another file"``, by checksum."""
        path = folder / self.name
        if not path.is_file():
            return "missing"
        return "there" if hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256 else "another file"

    def put(self, folder: Path, content: bytes) -> None:
        """Write the content, which has to be that of the file, under its name in a folder."""
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise SystemExit(f"{self.name}: SHA-256 is {digest}, expected {self.sha256}; nothing was written")
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(content)
        os.replace(part, path)

    @property
    def url(self) -> str:
        """Address of the file at its source."""
        return RAW.format(repository=self.repository, commit=self.commit, path=self.path)


MARMOUSI = "the 2-D Marmousi model of the Institut francais du petrole"
FILES = (
    DataFile(
        "segy/viking_small.segy",
        1_270_800,
        "472c0ccf4577ab94e021ff82726cc8bfae8f894bf0de889d28289a7030fa4eed",
        "4 field shots of 120 traces, Mobil AVO Viking Graben line 12",
        "equinor/segyio",
        "ce7bf86e4bee75f3296a5a756fa123e981a04fea",
        "python/tutorials/viking_small.segy",
        "LGPL-3.0 (repository); SEG open data",
    ),
    DataFile(
        "segy/cdp601to610_be.su",
        972_000,
        "c1d8b5fe8f304de2bf8a0088f5d9b3dfb98fcffae03c26ca71e822a3e03d91cd",
        "10 field CDPs of 30 traces, without coordinates",
        "JohnWStockwellJr/SeisUnix",
        "4db4181f654e474507721412bd333708b62f81a1",
        "src/su/tutorial/cdp601to610",
        "BSD-style (Colorado School of Mines)",
    ),
    DataFile(
        "segy/vp_marmousi-ii.segy.gz",
        1_766_045,
        "2c7a0c4170c95a15620c2146573711c61a4cef8dc27338ef6c211a81ffa68920",
        "P velocity of Marmousi-II at 1.25 m; unpack it and give it to marmousi2.py --vp",
        "liufeng2317/ADFWI",
        "380417aeda6709d1202faf4d6ece2e54cf183c8b",
        "demo/data/04_Marmousi2/AD/model/True/vp_marmousi-ii.segy.gz",
        "MIT (repository)",
    ),
    DataFile(
        "models/marmousi2_5m.npz",
        388_454,
        "8bf65a7a8abd3a457a0b9bd5596d26f5b3faddecbed7bea8bdebe72a0d345264",
        "Marmousi-II at 5 m: vp, rho",
        "liufeng2317/ADFWI",
        "380417aeda6709d1202faf4d6ece2e54cf183c8b",
        "demo/data/04_Marmousi2/AD/model/True/{vp,density}_marmousi-ii.segy.gz",
        "MIT (repository)",
        "every 4th sample and trace of the 1.25 m SEG-Y files, in m/s and kg/m3 (marmousi2.py --vp takes such a file)",
    ),
    DataFile(
        "models/marmousi_vti_12p5m.npz",
        514_658,
        "d8742754232676614b4c7c7c5ec956c3666e8def54f86c608f2973b531a7bdf5",
        "Marmousi with VTI anisotropy at 12.5 m: vp, epsilon, delta",
        "aaspip/data",
        "8f94e5bd2de539d997f438d4c6fd912d181796b2",
        "{marmvz,marmvx,marmeta}.bin",
        "MIT (repository)",
        "vp is the vertical velocity, epsilon = ((vx / vz)^2 - 1) / 2, delta = 0; arrays (737, 240), x and z, float32",
    ),
    DataFile(
        "models/marmousi_tti_12p5m.npz",
        702_287,
        "345c011518d8867d491e0d53fd2388bec059a1f82c2a2f36f7ee8c4d315900ac",
        "a section of Marmousi's shape with a tilted axis at 12.5 m: vp, epsilon, delta, theta_deg",
        "ofmla/2d_forward_memory_profiling",
        "0c20224e2e92aae82d52fdebcbac15d0e2f2adef",
        "marmousi/parameters_hdf5/{vp,approx_vp,epsilon,delta,theta}.h5",
        "MIT (repository)",
        "velocity in m/s; positive theta leans the downward axis to +x (sign inverted); arrays (369, 188), float32",
    ),
    DataFile(
        "reference/smiwiz_marmousi_rtm_12m.npz",
        3_313_043,
        "604a51b770e0efdbe2922166b2fc3a35721ecd390f1034ad8ced7a7c950c0624",
        "a published RTM image of Marmousi with its inputs, for compare_marmousi.py",
        "yangpl/SMIwiz",
        "a22c4627dcfd44179c3b66ea29f1399fbeff0e33",
        "run_rtm/",
        "GPL-3.0 (repository)",
        "inputs and images of the folder as float32 arrays (767, 251) of x and z",
    ),
)


def lines_about(file: DataFile, state: str = "") -> list[str]:
    """Return what the list says of a file."""
    made = [f"    converted: {file.conversion}"] if file.conversion else []
    return [
        f"{file.name}  {file.size:,} bytes{'  ' + state if state else ''}",
        f"    {file.about}",
        f"    source: {file.repository} at {file.commit}: {file.path}",
        *made,
        f"    terms: {file.terms}",
        f"    SHA-256: {file.sha256}",
    ]


def fetched(file: DataFile) -> bytes:
    """Return a file from its source."""
    with urllib.request.urlopen(file.url, timeout=60) as answer:
        return bytes(answer.read(file.size + 1))


def main(words: list[str]) -> int:
    """List, check, fetch or copy the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="folder of the data, such as examples/data")
    parser.add_argument(
        "--fetch", action="store_true", help="fetch missing files that their source has as they are"
    )
    parser.add_argument("--from", dest="elsewhere", type=Path, help="copy missing files from this folder")
    options = parser.parse_args(words)
    if options.folder is None:
        print("\n".join(line for file in FILES for line in lines_about(file)))
        return 0
    missing = 0
    for file in FILES:
        state = file.state(options.folder)
        if state != "there" and options.elsewhere and (options.elsewhere / file.name).is_file():
            file.put(options.folder, (options.elsewhere / file.name).read_bytes())
            state = "there"
        if state != "there" and options.fetch and not file.conversion:
            try:
                file.put(options.folder, fetched(file))
                state = "there"
            except OSError as failure:
                state = f"could not be fetched from {file.url}: {failure}"
        print("\n".join(lines_about(file, state) if state != "there" else [f"{file.name}  there"]))
        missing += state != "there"
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
