"""A tuned kernel that is called with arrays on a GPU."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

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
    """The place of an argument's value, which the launch reads."""

    def __init__(self, argument: Argument, index: int, kernel: "Kernel"):
        self.argument = argument
        self.index = index
        self.kernel = kernel
        self.torch_type, self.interface_type, self.dlpack_type = _TYPES[argument.type]
        self.item = argument.bytes
        for extent in argument.shape:
            self.item //= extent
        self.readers: Dict[type, Callable[[Any], int]] = {}

    def refuse(self, what: str):
        shape = " x ".join(str(extent) for extent in self.argument.shape)
        raise _errors.InputError(
            f"{self.kernel.selection.kernel}: {self.argument.name} is {shape} of "
            f"{self.argument.type} in row-major order on GPU {self.kernel.gpu}, not {what}"
        )

    def address(self, value: Any) -> int:
        """The device address of an array. Raises InputError unless it is as the space has it."""
        reader = self.readers.get(type(value))
        if reader is None:
            reader = self.readers[type(value)] = self.reader_for(value)
        return reader(value)

    def reader_for(self, value: Any) -> Callable[[Any], int]:
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
                and value.is_cuda
                and value.get_device() == gpu
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
            if (
                value.dtype == wanted
                and value.shape == shape
                and value.flags.c_contiguous
                and value.device.id == gpu
            ):
                return value.data.ptr
            order = "" if value.flags.c_contiguous else " with other strides"
            self.refuse(f"{value.shape} of {value.dtype} on GPU {value.device.id}{order}")

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
        self._slots: List[Optional[_Slot]] = [
            None if one.role == "scalar" else _Slot(one, i, self) for i, one in enumerate(arguments)
        ]
        self._positions = {one.name: i for i, one in enumerate(arguments)}
        self._values = [
            (ctypes.c_char * one.bytes).from_buffer(bytearray(one.bytes))
            if one.role == "scalar"
            else ctypes.c_uint64()
            for one in arguments
        ]
        self._addresses = [ctypes.addressof(value) for value in self._values]
        self._pointers = (ctypes.c_void_p * len(arguments))()
        self._textures: Dict[Tuple[int, int], int] = {}
        self._lock = threading.Lock()
        self._launch = _library.library().smemtune_launch
        self._count = len(arguments)

    @property
    def arguments(self) -> Tuple[Argument, ...]:
        """What a call takes, in its order."""
        return self.selection.arguments

    def __repr__(self) -> str:
        return f"<smemtune.Kernel {self.selection.text} on GPU {self.gpu}>"

    def __call__(self, *values: Any, stream: Any = None, **named: Any) -> None:
        """Enqueues the kernel. `stream`: a CUDA stream's address, or an object of PyTorch or CuPy;
        None: the current one. Raises InputError for an array that is not as the space has it."""
        if named:
            values = self._in_order(values, named)
        elif len(values) > self._count:
            raise _errors.InputError(
                f"{self.selection.kernel} takes {self._count} arguments, {len(values)} are given"
            )
        first = None
        pointers, addresses, slots = self._pointers, self._addresses, self._slots
        with self._lock:
            index = 0
            for value in values:
                slot = slots[index]
                if value is None:
                    pointers[index] = None
                elif slot is not None:
                    address = slot.address(value)
                    if slot.argument.memory == "texture":
                        address = self._texture(index, address)
                    self._values[index].value = address
                    pointers[index] = addresses[index]
                    if first is None:
                        first = value
                else:
                    argument = self.selection.arguments[index]
                    self._values[index].raw = scalar_bytes(argument, value)
                    pointers[index] = addresses[index]
                index += 1
            while index < self._count:
                pointers[index] = None
                index += 1
            on = _current_stream(first, self.gpu) if stream is None else _stream_address(stream)
            status = self._launch(self._pointer, pointers, self._count, on)
        if status:
            _library.check(status)

    def _in_order(self, values: Tuple[Any, ...], named: Dict[str, Any]) -> List[Any]:
        ordered = list(values) + [None] * (self._count - len(values))
        for name, value in named.items():
            position = self._positions.get(name)
            if position is None:
                raise _errors.InputError(
                    f"{self.selection.kernel} has no argument {name}; it has "
                    + ", ".join(self._positions)
                )
            if position < len(values):
                raise _errors.InputError(f"{self.selection.kernel}: {name} is given twice")
            ordered[position] = value
        return ordered

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


def _stream_address(stream: Any) -> int:
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba and cuda.core
        address = getattr(stream, name, None)
        if address is not None:
            return int(getattr(address, "value", address) or 0)
    raise _errors.InputError(f"{stream!r} is no CUDA stream")


def _current_stream(array: Any, gpu: int) -> int:
    """The current stream of the library that an array is from; the default stream of others."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return torch._C._cuda_getCurrentRawStream(gpu)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        return cupy.cuda.get_current_stream().ptr
    return 0
