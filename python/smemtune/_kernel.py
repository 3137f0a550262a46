"""A tuned kernel that is called with arrays on a GPU."""

from __future__ import annotations

import collections
import ctypes
import functools
import keyword
import operator
import os
import struct
import sys
from typing import Any, Callable, Deque, Dict, List, Mapping, NoReturn, Optional, Tuple, Union

from . import _errors, _library, _places
from ._selection import Argument, Selection, Value, select

# For each element type: the name of PyTorch's dtype, the type string of the array interface, the code
# and bits of DLPack. None: there is none.
_TYPES = {
    "signed char": ("int8", "|i1", (0, 8)),
    "unsigned char": ("uint8", "|u1", (1, 8)),
    "short": ("int16", "<i2", (0, 16)),
    "unsigned short": ("uint16", "<u2", (1, 16)),
    "int": ("int32", "<i4", (0, 32)),
    "unsigned int": ("uint32", "<u4", (1, 32)),
    "long long": ("int64", "<i8", (0, 64)),
    "unsigned long long": ("uint64", "<u8", (1, 64)),
    "__nv_fp8_e4m3": ("float8_e4m3fn", None, (10, 8)),
    "__half": ("float16", "<f2", (2, 16)),
    "__nv_bfloat16": ("bfloat16", None, (4, 16)),
    "float": ("float32", "<f4", (2, 32)),
    "double": ("float64", "<f8", (2, 64)),
}

_PACK = {
    "signed char": "b",
    "unsigned char": "B",
    "short": "h",
    "unsigned short": "H",
    "int": "i",
    "unsigned int": "I",
    "long long": "q",
    "unsigned long long": "Q",
    "__half": "e",
    "float": "f",
    "double": "d",
}


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    """The beginning of DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _dlpack_pointer(capsule) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"dltensor")


def _is_contiguous(shape, strides, item: int) -> bool:
    """Whether strides, in the unit that `item` is the size of an element in, are row-major ones."""
    if strides is None:
        return True
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


class _Slot:
    """The place of an array among a kernel's arguments."""

    def __init__(self, argument: Argument, index: int, kernel: "Kernel"):
        self.argument = argument
        self.index = index
        self.kernel = kernel
        self.torch_type, self.interface_type, self.dlpack_type = _TYPES[argument.type]
        self.item = argument.bytes
        for extent in argument.shape:
            self.item //= extent

    def refuse(self, what: str) -> NoReturn:
        shape = " x ".join(str(extent) for extent in self.argument.shape)
        raise _errors.InputError(
            f"{self.kernel.selection.kernel}: {self.argument.name} is {shape} of "
            f"{self.argument.type} in row-major order on GPU {self.kernel.gpu}, not {what}"
        )

    def reader(self, value: Any) -> Callable[[Any], int]:
        """A function that returns what the launch passes for an array of this value's type. It
        raises InputError unless the array is as the space has it."""
        read = self.address_reader(value)
        if self.argument.memory == "texture":
            return lambda array: self.kernel._texture(self.index, read(array))
        return read

    def address_reader(self, value: Any) -> Callable[[Any], int]:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self.torch_reader(torch)
        cupy = sys.modules.get("cupy")
        if cupy is not None and isinstance(value, cupy.ndarray):
            return self.cupy_reader(cupy)
        if hasattr(value, "__cuda_array_interface__"):
            return self.read_interface
        if hasattr(value, "__dlpack__"):
            return self.read_dlpack
        self.refuse(f"a {type(value).__name__}, which is no array on a GPU")

    def torch_reader(self, torch) -> Callable[[Any], int]:
        dtypes = [getattr(torch, self.torch_type, None)]
        if self.torch_type == "uint8":
            dtypes.append(torch.bool)
        shape, gpu = torch.Size(self.argument.shape), self.kernel.gpu
        wanted = dtypes[0]

        def read(value) -> int:
            dtype = value.dtype
            if (
                (dtype is wanted or dtype in dtypes)
                and value.shape == shape
                and value.is_contiguous()
                and value.get_device() == gpu  # -1 on the host
            ):
                return value.data_ptr()
            order = "" if value.is_contiguous() else " with other strides"
            self.refuse(f"{tuple(value.shape)} of {dtype} on {value.device}{order}")

        return read

    def cupy_reader(self, cupy) -> Callable[[Any], int]:
        shape, gpu = self.argument.shape, self.kernel.gpu
        if self.interface_type is None:
            return self.read_interface
        wanted = cupy.dtype(self.interface_type)

        def read(value) -> int:
            data = value.data
            if (
                value.dtype == wanted
                and value.shape == shape
                and data.device_id == gpu
                and is_row_major(value)
            ):
                return data.ptr
            order = "" if value.flags.c_contiguous else " with other strides"
            self.refuse(f"{value.shape} of {value.dtype} on GPU {value.device.id}{order}")

        # CuPy's own name for it makes no object, unlike `flags`; releases may lack it.
        has_own = hasattr(cupy.ndarray, "_c_contiguous")
        is_row_major = operator.attrgetter("_c_contiguous" if has_own else "flags.c_contiguous")
        return read

    def read_interface(self, value) -> int:
        interface = value.__cuda_array_interface__
        shape = tuple(interface["shape"])
        typestr = interface["typestr"]
        fits = typestr == self.interface_type or (
            # Types that the interface has no word for come as integers of their size.
            self.interface_type is None and int(typestr[2:]) == self.item
        )
        fits = fits or (self.argument.type == "unsigned char" and typestr == "|b1")
        if not fits or shape != self.argument.shape:
            self.refuse(f"{shape} of {typestr}")
        if not _is_contiguous(shape, interface.get("strides"), self.item):
            self.refuse(f"{shape} of {typestr} with other strides")
        return interface["data"][0]

    def read_dlpack(self, value) -> int:
        # The capsule is not consumed: its owner keeps the memory, and frees it with the array.
        capsule = value.__dlpack__()
        tensor = ctypes.cast(_dlpack_pointer(capsule), ctypes.POINTER(_DLTensor)).contents
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
        on_gpu = tensor.device.type in (2, 13)  # kDLCUDA, kDLCUDAManaged
        if not on_gpu or tensor.device.id != self.kernel.gpu:
            self.refuse(f"on device {tensor.device.type}:{tensor.device.id} of DLPack")
        if (tensor.code, tensor.bits) != self.dlpack_type or shape != self.argument.shape:
            self.refuse(f"{shape} of DLPack's type {tensor.code} with {tensor.bits} bits")
        if not _is_contiguous(shape, strides, 1):
            self.refuse(f"{shape} with other strides")
        return (tensor.data or 0) + tensor.byte_offset


def scalar_bytes(argument: Argument, value: Any) -> bytes:
    """A scalar as the kernel takes it. Raises InputError for one that its type cannot hold."""
    if isinstance(value, (bytes, bytearray)):
        if len(value) == argument.bytes:
            return bytes(value)
        raise _errors.InputError(
            f"{argument.name} has {argument.bytes} bytes, {len(value)} are given"
        )
    try:
        if argument.type == "__nv_bfloat16":
            bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
            if bits & 0x7FFFFFFF <= 0x7F800000:  # To the nearest, ties to even; not of a NaN.
                bits += 0x7FFF + ((bits >> 16) & 1)
            return struct.pack("<H", (bits >> 16) & 0xFFFF)
        code = _PACK[argument.type]
        is_real = code in "efd"
        return struct.pack("<" + code, float(value) if is_real else value.__index__())
    except (struct.error, OverflowError, TypeError, ValueError, AttributeError, KeyError):
        raise _errors.InputError(
            f"{argument.name} is a scalar of type {argument.type}, not {value!r}"
        ) from None


# What Kernel._read() returns.
_Reading = Tuple[List[Callable], Callable[[], int], List[int]]


class Kernel:
    """The best configuration of a space for a problem, compiled, loaded and ready to be called.

        scale = smemtune.Kernel("scale.json", N=x.numel(), T="float")
        scale(x, out, factor=3.0)

    The arguments are those of the space file in its order (`kernel.arguments`), by position or by
    name: arrays of PyTorch or CuPy, and whatever has `__cuda_array_interface__` or DLPack, in
    row-major order, with exactly the shapes and types of the space. A scalar that is left out has
    the space's value. A buffer in constant memory is copied from the array; left out, it stays as
    it is. The call enqueues on the current stream of the first array's library and returns at once;
    it may be captured in a CUDA graph.

    The parameters are those of select(). Raises what select() raises; InputError with the compiler's
    log; UnavailableError without a GPU or NVRTC.
    """

    def __init__(
        self,
        space: Union[str, os.PathLike, Any],
        device: Union[None, int, str] = None,
        *,
        kernel: Optional[str] = None,
        configuration: Optional[Mapping[str, Value]] = None,
        db: Union[None, str, os.PathLike] = None,
        **problem: Value,
    ):
        self.selection: Selection = select(
            space, device, kernel=kernel, configuration=configuration, db=db, **problem
        )
        self.gpu = self._gpu_of(device)
        self._pointer = _library.load(self.selection._plan, _places.nvrtc())
        self._prepare()

    def _gpu_of(self, device) -> int:
        # Without a GPU this raises what is missing, in the library's words.
        from ._selection import _device_target

        target = _device_target(device)
        if target.gpu < 0:
            _library.find_gpu(0)
            raise _errors.InputError(f"a Kernel runs on a GPU of this machine, not on {device!r}")
        return target.gpu

    def _prepare(self) -> None:
        arguments = self.selection.arguments
        self._count = len(arguments)
        self._slots: List[Optional[_Slot]] = [
            None if one.role == "scalar" else _Slot(one, i, self) for i, one in enumerate(arguments)
        ]
        self._positions = {one.name: i for i, one in enumerate(arguments)}
        # Reserved words of Python are no names of arguments there.
        self._positions.update(
            {f"{one.name}_": i for i, one in enumerate(arguments) if keyword.iskeyword(one.name)}
        )
        self._layout = _Layout(arguments)
        self._frames: Deque[_Frame] = collections.deque()
        self._readers: Dict[Tuple[type, ...], _Reading] = {}
        self._orders: Dict[Tuple, Callable[[Tuple[Any, ...]], Any]] = {}
        self._textures: Dict[Tuple[int, int], int] = {}
        self._loaded = getattr(self._pointer, "value", self._pointer)
        self._launch = _library.library().smemtune_launch

    @property
    def arguments(self) -> Tuple[Argument, ...]:
        """What a call takes, in its order."""
        return self.selection.arguments

    def __repr__(self) -> str:
        return f"<smemtune.Kernel {self.selection.text} on GPU {self.gpu}>"

    def __call__(self, *values: Any, stream: Any = None, **named: Any) -> None:
        """Enqueues the kernel. `stream`: a CUDA stream's address, or an object of PyTorch or CuPy;
        None: the current one. Raises InputError for an array that is not as the space has it."""
        if named or len(values) != self._count:
            values = self._in_order(values, named)
        readers, current, kept = self._readers.get(tuple(map(type, values))) or self._read(values)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._layout)
        # A frame is this call's own until it is given back: threads may share the kernel.
        try:
            frame.pack(*[read(value) for read, value in zip(readers, values)])
            pointers = frame.pointers
            if kept:
                pointers = self._without_constants(frame, kept)
            on = current() if stream is None else _stream_address(stream)
            status = self._launch(self._loaded, pointers, self._count, on)
        except (struct.error, OverflowError):
            self._refuse_scalars(values)
            raise
        finally:
            self._frames.append(frame)
        if status:
            _library.check(status)

    def _read(self, values: Tuple[Any, ...]) -> _Reading:
        """For values of these types the functions that read them, the one that returns the current
        stream, and the places of constants that are left out; stored for later calls."""
        readers: List[Callable] = []
        kept: List[int] = []
        first = None
        for argument, slot, value in zip(self.arguments, self._slots, values):
            if slot is None:
                readers.append(_scalar_reader(argument, value))
            elif value is not None:
                readers.append(slot.reader(value))
                first = value if first is None else first
            elif argument.memory == "constant":
                readers.append(lambda none: 0)
                kept.append(slot.index)
            else:
                raise _errors.InputError(
                    f"{self.selection.kernel}: the argument {argument.name} is not given"
                )
        found = readers, _current_stream(first, self.gpu), kept
        self._readers[tuple(map(type, values))] = found
        return found

    def _refuse_scalars(self, values: Tuple[Any, ...]) -> None:
        """Raises InputError for the first scalar that its type cannot hold."""
        for argument, value in zip(self.arguments, values):
            if argument.role == "scalar" and value is not None:
                scalar_bytes(argument, value)

    def _without_constants(self, frame: "_Frame", kept: List[int]) -> Any:
        """Pointers to the values in a frame, with none to a constant that keeps its contents."""
        pointers = (ctypes.c_void_p * self._count)(*frame.places)
        for index in kept:
            pointers[index] = None
        return pointers

    def _in_order(self, values: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[Any, ...]:
        """All arguments in their order, None for those that are not given."""
        names = (len(values), *named)
        pick = self._orders.get(names)
        if pick is None:
            pick = self._orders[names] = operator.itemgetter(*self._order(len(values), named))
        picked = pick((*values, *named.values(), None))
        return picked if self._count > 1 else (picked,)

    def _order(self, count: int, named: Dict[str, Any]) -> List[int]:
        """For each argument its place among `count` values, the named ones and a last None."""
        if count > self._count:
            raise _errors.InputError(
                f"{self.selection.kernel} takes {self._count} arguments, {count} are given"
            )
        places = list(range(count)) + [count + len(named)] * (self._count - count)
        for number, name in enumerate(named):
            position = self._positions.get(name)
            if position is None:
                raise _errors.InputError(
                    f"{self.selection.kernel} has no argument {name}; it has "
                    + ", ".join(one.name for one in self.arguments)
                )
            if places[position] != count + len(named):
                raise _errors.InputError(f"{self.selection.kernel}: {name} is given twice")
            places[position] = count + number
        return places

    def _texture(self, index: int, address: int) -> int:
        known = self._textures.get((index, address))
        if known is None:
            made = ctypes.c_uint64()
            _library.check(
                _library.library().smemtune_texture(
                    self._pointer, index, address, ctypes.byref(made)
                )
            )
            known = self._textures[index, address] = made.value
        return known


class _Layout:
    """Where the values of a call lie in memory: each at a multiple of 16 bytes."""

    def __init__(self, arguments: Tuple[Argument, ...]):
        codes, self.offsets, end = ["<"], [], 0
        for one in arguments:
            code, size = ("Q", 8) if one.role != "scalar" else (_code(one), one.bytes)
            padding = -end % 16
            codes.append(f"{padding}x{code}")
            self.offsets.append(end + padding)
            end += padding + size
        self.struct = struct.Struct("".join(codes))


class _Frame:
    """The values of one call, and pointers to them."""

    def __init__(self, layout: _Layout):
        memory = bytearray(layout.struct.size + 16)
        self.memory = (ctypes.c_char * len(memory)).from_buffer(memory)
        begin = ctypes.addressof(self.memory)
        start = -begin % 16
        self.pack = functools.partial(layout.struct.pack_into, memory, start)
        self.places = [begin + start + at for at in layout.offsets]
        self.array = (ctypes.c_void_p * len(self.places))(*self.places)
        self.pointers = ctypes.addressof(self.array)


def _code(argument: Argument) -> str:
    """How `struct` packs a scalar: one whose type it lacks as bytes."""
    return _PACK.get(argument.type, f"{argument.bytes}s")


def _scalar_reader(argument: Argument, value: Any) -> Callable[[Any], Any]:
    """A function that returns a value of this type as `struct` packs it for the argument."""
    code = "<" + _code(argument)
    if value is None:
        (given,) = struct.unpack(code, argument.value or bytes(argument.bytes))
        return lambda none: given
    # struct refuses a number that the type does not hold.
    if isinstance(value, (int, float)) and code[1:] in ("e", "f", "d"):
        return float
    if isinstance(value, int) and argument.type in _PACK:
        return operator.index
    return lambda number: struct.unpack(code, scalar_bytes(argument, number))[0]


def _stream_address(stream: Any) -> int:
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba and cuda.core
        address = getattr(stream, name, None)
        if address is not None:
            return int(getattr(address, "value", address) or 0)
    raise _errors.InputError(f"{stream!r} is no CUDA stream")


def _current_stream(array: Any, gpu: int) -> Callable[[], int]:
    """A function that returns the current stream of the library that an array is from; the default
    stream of others."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return functools.partial(torch._C._cuda_getCurrentRawStream, gpu)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        get = cupy.cuda.get_current_stream
        return lambda: get().ptr
    return lambda: 0
