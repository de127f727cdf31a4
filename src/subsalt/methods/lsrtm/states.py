"""States of an iteration as files of a run: one of arrays and one of numbers, which has those of all states before.

The numbers are those of iterations, which may have several rounds each (`rounds`): a round that ends none publishes
what it has of the iteration under way beside them. A later round reads the last state alone, and the illumination of
the first round: `run.rounds` removes older ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CorruptionError
from subsalt.inversion.bregman import BregmanState, Halfway
from subsalt.inversion.cgls import CglsState, Scalars, State
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
        """Arrays of the state, (3, nx, ny, nz): change of the image, residual gradient, direction.

        Of an iteration over drawn shots it is one, (1, nx, ny, nz), the sum of the steps; inside of it two: that sum
        and the direction.
        """
        return self.folder / FOLDER / f"state_{self.number:03d}.npy"

    @property
    def numbers(self) -> Path:
        """The numbers of all iterations so far, those of one under way, and the shots whose products it is made of."""
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
        self, state: State, shots: list[int], illumination: NDArray[np.float64] | None, *, ends: bool
    ) -> list[Path]:
        """Publish a state behind that of the round before; return its files.

        Parameters
        ----------
        state : State
            The state.
        shots : list of int
            Shots whose products it is made of.
        illumination : ndarray or None
            That of round 0.
        ends : bool
            Whether the round ends an iteration, whose numbers are then those of the state; round 0 does.
        """
        make_folder(self.arrays.parent)
        publish_array(self.arrays, np.stack(state.arrays))
        history = self.before.history() if self.number else []
        content = {
            "history": [s.to_dict() for s in (*history, *([state.scalars] if ends else []))],
            "under_way": None if ends else state.scalars.to_dict(),
            "shots": shots,
        }
        publish_text(self.numbers, json.dumps(content, indent=1) + "\n")
        if illumination is None:
            return [self.arrays, self.numbers]
        publish_array(self.illumination, illumination)
        return [self.arrays, self.numbers, self.illumination]

    def read_drawn(self) -> BregmanState:
        """Return the state behind an iteration over drawn shots; raises as `read`."""
        (z,) = read_array(self.arrays)
        return BregmanState(z, self.scalars())

    def read_halfway(self) -> Halfway:
        """Return the state inside an iteration over drawn shots; raises as `read`."""
        z, p = read_array(self.arrays)
        return Halfway(z, p, self.scalars())

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
        content = self._json()
        return Scalars.from_dict(content.get("under_way") or content["history"][-1])

    def history(self) -> list[Scalars]:
        """Return the numbers before the first iteration and after each that has ended; raises as `read`."""
        return [Scalars.from_dict(numbers) for numbers in self._json()["history"]]

    def shots(self) -> list[int]:
        """Return the shots of the state; raises as `read`."""
        return [int(i) for i in self._json()["shots"]]

    def _json(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(own.read_text(self.numbers))
            content["history"][-1]["iteration"], content["shots"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _unreadable(self.numbers, error) from error
        return content


@dataclass(frozen=True)
class StartMisfits:
    """The misfit of every shot in the starting model: what those that are drawn later are compared with.

    Parameters
    ----------
    folder : Path
        The run directory.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """Their file, of round 0."""
        return self.folder / FOLDER / "start_misfits.json"

    def write(self, misfits: Mapping[int, float]) -> Path:
        """Publish them by shot, in survey order; return their file."""
        publish_text(
            self.path, json.dumps({"shots": list(misfits), "misfits": list(misfits.values())}) + "\n"
        )
        return self.path

    def read(self) -> dict[int, float]:
        """Return them by shot, in survey order.

        Raises
        ------
        CorruptionError
            When they cannot be read.
        """
        try:
            content = json.loads(own.read_text(self.path))
            pairs = zip(content["shots"], content["misfits"], strict=True)
            return {int(shot): float(misfit) for shot, misfit in pairs}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _unreadable(self.path, error) from error


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
        raise _unreadable(path, error) from error
    return array


def _unreadable(path: Path, error: Exception) -> CorruptionError:
    """Return the error of a file of a state that cannot be read."""
    return CorruptionError(
        f"{path} cannot be read: {error}",
        "run the same command again: the round is computed again",
        code="E641",
    )
