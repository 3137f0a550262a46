"""smemtune: tune CUDA kernels, and call what was found to be best.

    smemtune.tune("scale.json", max_time=60)
    best = smemtune.select("scale.json", N=1 << 24, T="float")
    scale = smemtune.Kernel("scale.json", N=1 << 24, T="float")
    scale(x, out)

Sizes are in elements, memory in bytes, times in milliseconds unless a name says otherwise.
"""

from ._errors import Error, InputError, Interrupted, NothingWorked, StoreError, UnavailableError
from ._kernel import Kernel
from ._results import COLUMNS, Rows, best, compare, occupancy, portfolio, results
from ._selection import Argument, Launch, Module, Selection, select
from ._torch import torch_op
from ._tunable import (
    Buffer,
    InOut,
    Input,
    Output,
    Scalar,
    Tunable,
    ceil_div,
    maximum,
    minimum,
    round_up,
    tunable,
    where,
)
from ._tuning import Run, tune

__version__ = "0.2.0"

__all__ = [
    "Argument",
    "Buffer",
    "COLUMNS",
    "Error",
    "InOut",
    "Input",
    "InputError",
    "Interrupted",
    "Kernel",
    "Launch",
    "Module",
    "NothingWorked",
    "Output",
    "Rows",
    "Run",
    "Scalar",
    "Selection",
    "StoreError",
    "Tunable",
    "UnavailableError",
    "best",
    "ceil_div",
    "compare",
    "maximum",
    "minimum",
    "occupancy",
    "portfolio",
    "results",
    "round_up",
    "select",
    "torch_op",
    "tunable",
    "tune",
    "where",
]
