"""Tuning a space, as the command does it."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _errors, _places, _program
from ._selection import Value, key


@dataclasses.dataclass(frozen=True)
class Run:
    """What a search has found."""

    space: str
    device: str
    interrupted: bool  #: It ended by an interrupt.
    evaluated: int  #: Configurations that were evaluated, over all problems.
    elapsed_s: float  #: Seconds.
    #: For each problem what `smemtune --json` says of it.
    problems: List[Dict[str, Any]] = dataclasses.field(repr=False)
    document: Dict[str, Any] = dataclasses.field(repr=False)  #: All of what it says.

    @property
    def best(self) -> Optional[Dict[str, Any]]:
        """The best of the first problem, None where nothing was correct: `kernel`, `problem`,
        `configuration`, `time` (`median_ms` in milliseconds), `compared_with`, `launches`, ..."""
        return self.problems[0].get("best") if self.problems else None

    @property
    def compared(self) -> List[str]:
        """The comparisons of each problem's best, a line for each output:
        `N=65536: out: 65536 of 65536 elements with expected file`."""
        return [
            f"{key(one['problem'])}: {one['output']}: {one['compared']} of {one['of']} elements "
            f"with {one['with']}"
            for problem in self.problems
            for one in (problem.get("best") or {}).get("compared") or []
        ]


def tune(
    space: Union[str, os.PathLike, Any],
    *,
    device: Union[None, int, str] = None,
    problems: Sequence[Mapping[str, Value]] = (),
    kernels: Sequence[str] = (),
    max_time: Optional[float] = None,
    max_evaluations: Optional[int] = None,
    strategy: Optional[str] = None,
    seed: Optional[int] = None,
    fresh: bool = False,
    db: Union[None, str, os.PathLike] = None,
    progress: Union[bool, Callable[[str], None]] = True,
    options: Sequence[str] = (),
) -> Run:
    """Searches a space and stores every result, as `smemtune --space` does.

    space: a space file, the name of a space that comes with smemtune, or a tunable().
    device: a GPU's index, UUID or name, `cpu`; None: the first GPU, or the CPU where there is none.
    problems: what to tune for, `[{"N": 4096, "T": "float"}]`; none: those of the space.
    kernels: only these of the space's kernels.
    max_time: seconds; max_evaluations: configurations; without them the search ends when
        it is 95 % sure that nothing more than 1 % faster is left.
    fresh: measure again what the database already knows.
    db: the results database; None: yours.
    progress: True shows it as the command does, in a terminal or below a notebook's cell; False not
        at all; a function is called with each line of it.
    options: further options of the command, `["--min-occupancy", "25"]`.

    Raises InputError for a fault in the space, NothingWorked if no configuration is correct or the
    reference is wrong, StoreError, UnavailableError, and Interrupted, which is a KeyboardInterrupt,
    with the best so far as its `run`.
    """
    settings = {
        "device": device,
        "problems": problems,
        "kernels": kernels,
        "max_time": max_time,
        "max_evaluations": max_evaluations,
        "strategy": strategy,
        "seed": seed,
        "fresh": fresh,
        "db": db,
        "progress": progress,
        "options": options,
    }
    if hasattr(space, "tuned_on"):
        return space.tuned_on(_tune_file, **settings)
    return _tune_file(_places.space_file(space), **settings)


def _tune_file(
    file, *, device, problems, kernels, max_time, max_evaluations, strategy, seed, fresh, db,
    progress, options
) -> Run:
    words = ["--space", str(file), "--json"]
    values = {
        "--device": device,
        "--max-time": max_time,
        "--max-evaluations": max_evaluations,
        "--strategy": strategy,
        "--seed": seed,
        "--db": db,
    }
    for name, value in values.items():
        if value is not None:
            words += [name, str(value)]
    for problem in problems:
        words += ["--problem", key(problem)]
    for kernel in kernels:
        words += ["--kernel", kernel]
    if fresh:
        words.append("--fresh")
    if not progress:
        words.append("--quiet")
    status, output, messages = _program.run(words + list(options), progress)
    run = _run_of(output)
    if status == 130 or status < 0:
        raise _errors.Interrupted("the search was interrupted", run)
    if status != 0:
        raise _errors.BY_STATUS.get(status, _errors.Error)(
            _program.words_of(messages) or f"smemtune ended with status {status}; it said why above"
        )
    if run is None:
        raise _errors.Error("smemtune printed no result")
    return run


def _run_of(output: str) -> Optional[Run]:
    # Each device model has a document of its own; the first one counts.
    start = output.find("{")
    if start < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(output[start:])
    except json.JSONDecodeError:
        return None
    return Run(
        space=document["space"],
        device=document["device"]["name"],
        interrupted=bool(document["interrupted"]),
        evaluated=document["evaluated"],
        elapsed_s=document["elapsed_s"],
        problems=document["problems"],
        document=document,
    )
