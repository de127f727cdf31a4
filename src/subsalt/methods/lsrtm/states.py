"""States of an iteration as files of a run: one of arrays and one of numbers, which has those of all states before.

A later round reads the last state alone, and the illumination of the first round: `run.rounds` removes older ones.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CorruptionError
from subsalt.inversion.cgls import CglsState, Scalars
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_array, publish_text

#: folder of the states in a run directory
FOLDER = "rounds"


@dataclass(frozen=True)
class RoundFiles:
    """Files of the state that a round makes.

    Parameters
    ----------
    folder : Path
        The run directory.
    number : int
        Number of the round; round 0 makes the state before the first step.
    """

    folder: Path
    number: int

    @property
    def arrays(self) -> Path:
        """Arrays of the state, (3, nx, ny, nz): change of the image, residual gradient, direction."""
        return self.folder / FOLDER / f"state_{self.number:03d}.npy"

    @property
    def numbers(self) -> Path:
        """Its numbers with those of all states before it, and the shots whose products it is made of."""
        return self.folder / FOLDER / f"state_{self.number:03d}.json"

    @property
    def illumination(self) -> Path:
        """Sum over shots of the squared source wavefield, of round 0."""
        return self.folder / FOLDER / "illumination.npy"

    @property
    def before(self) -> RoundFiles:
        """Files of the round before."""
        return RoundFiles(self.folder, self.number - 1)

    def write(
        self, state: CglsState, shots: list[int], illumination: NDArray[np.float64] | None
    ) -> list[Path]:
        """Publish a state behind that of the round before; return its files."""
        make_folder(self.arrays.parent)
        publish_array(self.arrays, np.stack(state.arrays))
        history = [*(self.before.history() if self.number else []), state.scalars]
        content = {"history": [s.to_dict() for s in history], "shots": shots}
        publish_text(self.numbers, json.dumps(content, indent=1) + "\n")
        if illumination is None:
            return [self.arrays, self.numbers]
        publish_array(self.illumination, illumination)
        return [self.arrays, self.numbers, self.illumination]

    def read(self) -> CglsState:
        """Return the state.

        Raises
        ------
        CorruptionError
            When its files are not those of a state.
        """
        x, s, p = read_array(self.arrays)
        return CglsState(x, s, p, self.scalars())

    def scalars(self) -> Scalars:
        """Return the numbers of the state; raises as `read`."""
        return self.history()[-1]

    def history(self) -> list[Scalars]:
        """Return the numbers of all states up to this one; raises as `read`."""
        return [Scalars.from_dict(numbers) for numbers in self._json()["history"]]

    def shots(self) -> list[int]:
        """Return the shots of the state; raises as `read`."""
        return [int(i) for i in self._json()["shots"]]

    def _json(self) -> dict[str, list]:
        try:
            content: dict[str, list] = json.loads(own.read_text(self.numbers))
            content["history"][-1]["iteration"], content["shots"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorruptionError(
                f"{self.numbers} cannot be read: {error}",
                "run the same command again: the round is computed again",
                code="E641",
            ) from error
        return content


def read_array(path: Path) -> NDArray[np.float64]:
    """Return an array that a round has published.

    Raises
    ------
    CorruptionError
        When it cannot be read.
    """
    try:
        array: NDArray[np.float64] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CorruptionError(
            f"{path} cannot be read: {error}",
            "run the same command again: the round is computed again",
            code="E641",
        ) from error
    return array
