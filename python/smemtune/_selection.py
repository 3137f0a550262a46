"""The best configuration for a device and a problem, and what launching it takes."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import re
import sys
import threading
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from . import _errors, _library, _places

Value = Union[int, str]
_Bytes = bytes  # Under a name that no member has.

_MATCHES = ("exact", "nearest problem", "same architecture", "defaults", "given")
_ROLES = ("input", "output", "inout", "scratch", "scalar")
_MEMORIES = ("global", "constant", "texture", "tensor_map")


@dataclasses.dataclass(frozen=True)
class Argument:
    """A buffer or scalar that a kernel takes, with its size for the problem."""

    name: str
    type: str  #: As CUDA C++ spells it: `float`, `unsigned char`, `__half`.
    role: str  #: `input`, `output`, `inout`, `scratch` or `scalar`.
    memory: str  #: `global`, `constant`, `texture` or `tensor_map`.
    shape: Tuple[int, ...]  #: Extents in elements, outermost first; empty for a scalar.
    bytes: int
    value: Optional[_Bytes]  #: The bytes of a scalar's value by the space file.


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch of a kernel."""

    entry: str  #: The C++ name expression, `scale<float, 128, 2>`.
    grid: Tuple[int, int, int]  #: In blocks.
    block: Tuple[int, int, int]  #: In threads.
    cluster: Tuple[int, int, int]  #: In blocks; (1, 1, 1) without clusters.
    dynamic_shared_bytes: int
    cooperative: bool
    shared_carveout: int  #: Preferred share of shared memory in percent; -1: the driver's own.
    programmatic: bool  #: Launched with programmatic stream serialization.
    arguments: Tuple[str, ...]  #: Names, in the entry's order.


@dataclasses.dataclass(frozen=True)
class Module:
    """A compiled kernel."""

    image: bytes  #: A cubin, or PTX as text.
    entries: Tuple[str, ...]  #: The name in the module of each launch's entry.
    symbols: Dict[str, str]  #: The names in the module of arguments in constant memory.
    log: str  #: Warnings and what ptxas reports.


@dataclasses.dataclass(frozen=True)
class Selection:
    """A configuration, where it comes from, and what launching it takes."""

    space: str
    kernel: str
    configuration: Dict[str, Value]
    problem: Dict[str, Value]  #: The requested problem.
    match: str  #: `exact`, `nearest problem`, `same architecture`, `defaults` or `given`.
    #: Product over all sizes of the larger by the smaller, and more where alignment or element types
    #: differ; 1: the same problem.
    size_ratio: float
    measured_problem: Optional[Dict[str, Value]]  #: None for default and given values.
    measured_device: Optional[str]
    time_ms: Optional[float]  #: Median time of the measured problem, in milliseconds.
    compared_with: Optional[str]  #: What the output was compared with, `definition` for one.
    shared_from: Optional[str]  #: The shared file it is from; None if it is your own result.
    kernel_hash: Optional[str]
    stale: bool  #: The kernel had been edited since, as far as the results say.
    edited: bool  #: The kernel's present source is not what was measured.
    device: str
    launches: Tuple[Launch, ...]
    arguments: Tuple[Argument, ...]  #: In the space file's order.
    text: str  #: All of that in a line, for people.
    _plan: Any = dataclasses.field(repr=False, compare=False)

    def compile(self, architecture: Optional[str] = None) -> Module:
        """Compiles the kernel. Needs NVRTC, and no GPU.

        architecture: `sm_90` for a cubin, `compute_90` for PTX; None: a cubin for the device.
        Raises InputError with the compiler's log, UnavailableError without NVRTC.
        """
        handle = _library.compile_plan(self._plan, architecture, _places.nvrtc())
        module = handle.pointer.contents
        image = ctypes.string_at(module.image, module.image_bytes)
        symbols = [module.symbols[i].decode() for i in range(module.symbol_count)]
        return Module(
            image=image,
            entries=tuple(module.entries[i].decode() for i in range(module.entry_count)),
            symbols={a.name: s for a, s in zip(self.arguments, symbols) if s},
            log=module.log.decode("utf-8", "replace"),
        )


def key(values: Mapping[str, Value]) -> str:
    """The text that the program knows a problem or a configuration by: `ITEMS=2,THREADS=128`."""
    parts = []
    for name in sorted(values):
        value = values[name]
        if isinstance(value, bool):
            value = int(value)
        elif not isinstance(value, (int, str)):
            try:
                value = value.__index__()
            except AttributeError:
                raise _errors.InputError(
                    f"{name}: {value!r} is neither an integer nor a word"
                ) from None
        # A comma in a word gets a backslash, and so does each backslash before a comma or the end.
        text = re.sub(r"(\\*),", lambda found: found.group(1) * 2 + "\\,", str(value))
        trailing = len(text) - len(text.rstrip("\\"))
        parts.append(f"{name}={text}" + "\\" * trailing)
    return ",".join(parts)


def parse_key(text: str) -> Dict[str, Value]:
    """What key() returned, as a dictionary."""
    parts = [""] if text else []
    for backslashes, character in re.findall(r"(\\*)([^\\]?)", text):
        if character not in ("", ","):
            parts[-1] += backslashes + character
            continue
        if parts:
            parts[-1] += "\\" * (len(backslashes) // 2)
        if character == "," and len(backslashes) % 2:
            parts[-1] += ","
        elif character == ",":
            parts.append("")
    values: Dict[str, Value] = {}
    for one in parts:
        name, _, value = one.partition("=")
        digits = value[1:] if value.startswith("-") else value
        values[name] = int(value) if digits.isdigit() and digits.isascii() else value
    return values


def _device_target(device) -> _library.Target:
    if device is None:
        try:
            return _library.find_gpu(_current_gpu())
        except _errors.UnavailableError:
            if os.path.exists("/proc/driver/nvidia"):
                raise  # There is one, and its driver is broken.
            device = "cpu"
    if isinstance(device, int):
        return _library.find_gpu(device)
    if isinstance(device, (tuple, list)):
        name, capability = device
        return _library.Target(str(name).encode(), int(capability), -1)
    if device == "cpu":
        return _library.Target(_places.cpu_name().encode(), 0, -1)
    if str(device) == "cuda":
        return _library.find_gpu(_current_gpu())
    if str(device).startswith("cuda:") and str(device)[5:].isdigit():
        return _library.find_gpu(int(str(device)[5:]))
    raise _errors.InputError(
        f"device {device!r}: an index, 'cuda:0', 'cpu', or a name with a compute capability, "
        "('NVIDIA H200', 90)"
    )


def _current_gpu() -> int:
    """The current device of PyTorch or CuPy, whichever is in use; 0 otherwise."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.current_device()
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        try:
            return cupy.cuda.runtime.getDevice()
        except cupy.cuda.runtime.CUDARuntimeError:
            return 0
    return 0


def _state(path: str) -> Tuple:
    """What changes when a file, or a file in a folder, changes."""
    try:
        status = os.stat(path)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        inside = tuple(
            (one, os.stat(os.path.join(path, one)).st_mtime_ns)
            for one in names
            if os.path.exists(os.path.join(path, one))
        )
    except OSError:
        return (path, None)
    # A database in WAL mode is written beside itself first.
    wal = f"{path}-wal"
    wal_state = os.stat(wal).st_mtime_ns if os.path.exists(wal) else 0
    return (path, status.st_mtime_ns, status.st_size, wal_state, inside)


_lock = threading.Lock()


@functools.lru_cache(maxsize=8)
def _opened_results(states: Tuple) -> _library.Handle:
    return _library.open_results([state[0] for state in states])


def _results(db) -> _library.Handle:
    states = tuple(_state(one) if one else ("",) for one in _places.result_files(db))
    with _lock:
        return _opened_results(states)


def _space_and_file(space) -> Tuple[_library.Handle, str]:
    file = _places.space_file(space)
    return _library.open_space(file, _places.share()), file


def select(
    space: Union[str, os.PathLike, Any],
    device: Union[None, int, str, Tuple[str, int]] = None,
    *,
    kernel: Optional[str] = None,
    configuration: Optional[Mapping[str, Value]] = None,
    db: Union[None, str, os.PathLike] = None,
    **problem: Value,
) -> Selection:
    """The best stored configuration for a device and a problem.

    space: a space file, the name of a space that comes with smemtune (`gemm`), or a tunable().
    device: a GPU's index or `cuda:0`; `cpu`; a name and a compute capability, `("NVIDIA H200", 90)`,
        for a GPU that is not here. None: the current GPU, or the CPU device where there is no GPU.
    kernel: only this one of the space's kernels.
    configuration: this one instead of the best; parameters that it lacks have their defaults.
    db: results, a database or a file of `smemtune export`. None: your database, then the files of
        $SMEMTUNE_SHARED_DB, then the results that come with smemtune.
    problem: the sizes and types of the space's problems, `N=4096, T="float"`.

    For a size that was not measured, what was measured at others decides, of the configurations that
    are right there; where there is none, the kernel's default values are taken (`match` is
    `defaults`). Raises InputError for a name or a problem that the space does not have, or if the
    configuration cannot run on the device; StoreError for a database that cannot be read.
    """
    if hasattr(space, "space_file"):
        space = space.space_file(problem)
    opened, _ = _space_and_file(space)
    target = _device_target(device)
    if configuration is None:
        chosen = _library.select(_results(db), opened, key(problem), kernel, target)
    else:
        chosen = _library.select_given(opened, key(problem), kernel, key(configuration))
    return _selection(chosen, _library.plan(opened, chosen, target), target)


def _selection(chosen, planned, target) -> Selection:
    c = chosen.pointer.contents
    plan = planned.pointer.contents
    arguments = tuple(_argument(plan.arguments[i]) for i in range(plan.argument_count))
    measured = parse_key(c.measured_problem.decode())
    return Selection(
        space=c.space.decode(),
        kernel=c.kernel.decode(),
        configuration=parse_key(c.configuration.decode()),
        problem=parse_key(c.problem.decode()),
        match=_MATCHES[c.match],
        size_ratio=c.size_ratio,
        measured_problem=measured or None,
        measured_device=c.measured_device.decode() or None,
        time_ms=c.time_ms if measured else None,
        compared_with=c.compared_with.decode() or None,
        shared_from=c.shared_from.decode() or None,
        kernel_hash=c.kernel_hash.decode() or None,
        stale=bool(c.stale),
        edited=bool(plan.edited),
        device=target.device.decode(),
        launches=tuple(_launch(plan.launches[i], arguments) for i in range(plan.launch_count)),
        arguments=arguments,
        text=c.text.decode("utf-8", "replace"),
        _plan=planned,
    )


def _argument(c) -> Argument:
    return Argument(
        name=c.name.decode(),
        type=c.type.decode(),
        role=_ROLES[c.role],
        memory=_MEMORIES[c.memory],
        shape=tuple(c.shape[i] for i in range(c.dimensions)),
        bytes=c.bytes,
        value=ctypes.string_at(c.value, c.bytes) if c.value else None,
    )


def _launch(c, arguments) -> Launch:
    return Launch(
        entry=c.entry.decode(),
        grid=(c.grid[0], c.grid[1], c.grid[2]),
        block=(c.block[0], c.block[1], c.block[2]),
        cluster=(c.cluster[0], c.cluster[1], c.cluster[2]),
        dynamic_shared_bytes=c.dynamic_shared_bytes,
        cooperative=bool(c.cooperative),
        shared_carveout=c.shared_carveout,
        programmatic=bool(c.programmatic),
        arguments=tuple(arguments[c.arguments[i].index].name for i in range(c.argument_count)),
    )
