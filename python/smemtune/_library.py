"""libsmemtune's C interface (smemtune/smemtune_c.h) by ctypes."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

from . import _errors, _places


class Target(ctypes.Structure):
    _fields_ = [("device", c_char_p), ("compute_capability", c_int), ("gpu", c_int)]


class Selection(ctypes.Structure):
    _fields_ = [
        ("match", c_int),
        ("size_ratio", c_double),
        ("space", c_char_p),
        ("kernel", c_char_p),
        ("configuration", c_char_p),
        ("problem", c_char_p),
        ("measured_problem", c_char_p),
        ("measured_device", c_char_p),
        ("time_ms", c_double),
        ("kernel_hash", c_char_p),
        ("shared_from", c_char_p),
        ("compared_with", c_char_p),
        ("stale", c_int),
        ("text", c_char_p),
    ]


class Argument(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("role", c_int),
        ("memory", c_int),
        ("dimensions", c_size_t),
        ("shape", POINTER(c_int64)),
        ("bytes", c_int64),
        ("value", c_void_p),
    ]


class LaunchArgument(ctypes.Structure):
    _fields_ = [("index", c_size_t), ("value", c_void_p)]


class LaunchShape(ctypes.Structure):
    _fields_ = [
        ("entry", c_char_p),
        ("grid", c_int64 * 3),
        ("block", c_int64 * 3),
        ("cluster", c_int64 * 3),
        ("dynamic_shared_bytes", c_int64),
        ("cooperative", c_int),
        ("shared_carveout", c_int64),
        ("programmatic", c_int),
        ("argument_count", c_size_t),
        ("arguments", POINTER(LaunchArgument)),
    ]


class Plan(ctypes.Structure):
    _fields_ = [
        ("launch_count", c_size_t),
        ("launches", POINTER(LaunchShape)),
        ("argument_count", c_size_t),
        ("arguments", POINTER(Argument)),
        ("edited", c_int),
    ]


class Module(ctypes.Structure):
    _fields_ = [
        ("image", c_void_p),
        ("image_bytes", c_size_t),
        ("entry_count", c_size_t),
        ("entries", POINTER(c_char_p)),
        ("symbol_count", c_size_t),
        ("symbols", POINTER(c_char_p)),
        ("log", c_char_p),
    ]


VERSION = 1  # SMEMTUNE_C_VERSION that this module was written for.

# Parameters of each function that returns a status, and what releases the object it makes.
_FUNCTIONS = {
    "smemtune_open_results": [POINTER(c_char_p), c_size_t, POINTER(c_void_p)],
    "smemtune_open_space": [c_char_p, c_char_p, POINTER(c_void_p)],
    "smemtune_find_gpu": [c_int, POINTER(Target)],
    "smemtune_select": [
        c_void_p,
        c_void_p,
        c_char_p,
        c_char_p,
        POINTER(Target),
        POINTER(POINTER(Selection)),
    ],
    "smemtune_select_given": [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(POINTER(Selection))],
    "smemtune_plan_selection": [
        c_void_p,
        POINTER(Selection),
        POINTER(Target),
        POINTER(POINTER(Plan)),
    ],
    "smemtune_compile": [POINTER(Plan), c_char_p, c_char_p, POINTER(POINTER(Module))],
    "smemtune_load": [POINTER(Plan), c_char_p, POINTER(c_void_p)],
    "smemtune_launch": [c_void_p, c_void_p, c_size_t, c_void_p],
    "smemtune_texture": [c_void_p, c_size_t, c_uint64, POINTER(c_uint64)],
}
_RELEASES = {
    "smemtune_close_results": c_void_p,
    "smemtune_close_space": c_void_p,
    "smemtune_free_selection": POINTER(Selection),
    "smemtune_free_plan": POINTER(Plan),
    "smemtune_free_module": POINTER(Module),
    "smemtune_unload": c_void_p,
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, opened once. Raises UnavailableError."""
    path = _places.library()
    try:
        opened = ctypes.CDLL(path)
        opened.smemtune_c_version.restype = c_int
        found = opened.smemtune_c_version()
    except (OSError, AttributeError) as error:
        raise _errors.UnavailableError(f"{path}: cannot be used: {error}") from None
    if found < VERSION:
        raise _errors.UnavailableError(
            f"{path}: has version {found} of the C interface, this module needs {VERSION}"
        )
    for name, parameters in _FUNCTIONS.items():
        function = getattr(opened, name)
        function.argtypes = parameters
        function.restype = c_int
    for name, parameter in _RELEASES.items():
        function = getattr(opened, name)
        function.argtypes = [parameter]
        function.restype = None
    for name in ("smemtune_version", "smemtune_error"):
        getattr(opened, name).argtypes = []
        getattr(opened, name).restype = c_char_p
    return opened


def check(status: int) -> None:
    """Raises the exception for a status, with the library's words."""
    if status != 0:
        words = library().smemtune_error().decode("utf-8", "replace")
        raise _errors.BY_STATUS.get(status, _errors.Error)(words)


class Handle:
    """An object of the library, released with this one."""

    def __init__(self, pointer, release: str):
        self.pointer = pointer
        self._release = getattr(library(), release)

    def __del__(self):
        release, self._release = getattr(self, "_release", None), None
        if release is not None:
            release(self.pointer)


def open_results(files) -> Handle:
    names = [str(one).encode() for one in files]
    pointer = c_void_p()
    check(
        library().smemtune_open_results(
            (c_char_p * len(names))(*names), len(names), ctypes.byref(pointer)
        )
    )
    return Handle(pointer, "smemtune_close_results")


def open_space(file: str, share) -> Handle:
    pointer = c_void_p()
    folder = None if share is None else str(share).encode()
    check(library().smemtune_open_space(file.encode(), folder, ctypes.byref(pointer)))
    return Handle(pointer, "smemtune_close_space")


def find_gpu(index: int) -> Target:
    target = Target()
    check(library().smemtune_find_gpu(index, ctypes.byref(target)))
    return target


def select(results, space, problem: str, kernel, target) -> Handle:
    pointer = POINTER(Selection)()
    check(
        library().smemtune_select(
            results.pointer,
            space.pointer,
            problem.encode(),
            None if kernel is None else kernel.encode(),
            ctypes.byref(target),
            ctypes.byref(pointer),
        )
    )
    return Handle(pointer, "smemtune_free_selection")


def select_given(space, problem: str, kernel, configuration: str) -> Handle:
    pointer = POINTER(Selection)()
    check(
        library().smemtune_select_given(
            space.pointer,
            problem.encode(),
            None if kernel is None else kernel.encode(),
            configuration.encode(),
            ctypes.byref(pointer),
        )
    )
    return Handle(pointer, "smemtune_free_selection")


def plan(space, selection, target) -> Handle:
    pointer = POINTER(Plan)()
    check(
        library().smemtune_plan_selection(
            space.pointer, selection.pointer, ctypes.byref(target), ctypes.byref(pointer)
        )
    )
    return Handle(pointer, "smemtune_free_plan")


def compile_plan(planned, architecture, nvrtc) -> Handle:
    pointer = POINTER(Module)()
    check(
        library().smemtune_compile(
            planned.pointer,
            None if architecture is None else architecture.encode(),
            None if nvrtc is None else nvrtc.encode(),
            ctypes.byref(pointer),
        )
    )
    return Handle(pointer, "smemtune_free_module")


def load(planned, nvrtc) -> c_void_p:
    """A kernel in a GPU's context. It stays loaded until smemtune_unload() or the process ends."""
    pointer = c_void_p()
    check(
        library().smemtune_load(
            planned.pointer, None if nvrtc is None else nvrtc.encode(), ctypes.byref(pointer)
        )
    )
    return pointer
