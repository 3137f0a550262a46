"""Custom operators of PyTorch."""

from __future__ import annotations

import keyword
import threading
from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

from ._kernel import _TYPES, Kernel
from ._selection import Argument, Value, key, select


def torch_op(
    name: str,
    space: Any,
    problem: Union[Mapping[str, Value], Callable[..., Mapping[str, Value]]],
    **options: Any,
):
    """Makes a kernel an operator of PyTorch, which torch.compile keeps as it is.

        scale = smemtune.torch_op(
            "mine::scale", "scale.json", lambda x: {"N": x.numel(), "T": "float"})
        y = scale(x, 3.0)

    name: `NAMESPACE::NAME`. problem: the space's problem, or a function that returns it of the
    tensors that the operator takes. options: those of Kernel().

    The operator takes the tensors that the kernel reads (input and inout, which it changes) in the
    space file's order, then its real scalars as floats that may be left out. Integer scalars have the
    values of the space file for the problem. It returns the outputs: a tensor, or a tuple of them.
    Scratch buffers are its own.
    Kernels are selected and compiled once for each problem. It has a fake implementation with the
    outputs' shapes, and no gradient. Raises what Kernel() raises, when it is called.
    """
    import torch

    operator = _Operator(torch, space, problem, options)
    made = torch.library.custom_op(
        name,
        operator.run,
        mutates_args=tuple(_identifier(one) for one in operator.changed),
        schema=operator.schema,
    )
    made.register_fake(operator.fake)
    return made


class _Operator:
    def __init__(self, torch, space, problem, options):
        self.torch = torch
        self.space = space
        self.problem = problem
        self.options = options
        self.kernels: Dict[Tuple[int, str], Kernel] = {}
        self.lock = threading.Lock()
        self.arguments = self._any_arguments()
        self.tensors = [one.name for one in self.arguments if one.role in ("input", "inout")]
        self.scalars = [
            one for one in self.arguments if one.role == "scalar" and _is_real(one)
        ]
        self.outputs = [one.name for one in self.arguments if one.role == "output"]
        self.changed = tuple(one.name for one in self.arguments if one.role == "inout")
        self.schema = self._schema()

    def _any_arguments(self) -> Tuple[Argument, ...]:
        """The arguments for some problem: their names and roles are those for every problem."""
        problem = self.problem if not callable(self.problem) else _first_problem(self.space)
        return self._planned(problem)

    def _planned(self, problem, gpu=None) -> Tuple[Argument, ...]:
        """The arguments of what run() selects on a GPU, None: the current one; without a GPU of what
        it would select on an H200."""
        device = gpu if self.torch.cuda.is_available() else ("NVIDIA H200", 90)
        return select(self.space, device, **self.options, **problem).arguments

    def _schema(self) -> str:
        parts = []
        for number, name in enumerate(self.tensors):
            kind = f"Tensor(a{number}!)" if name in self.changed else "Tensor"
            parts.append(f"{kind} {_identifier(name)}")
        parts += [f"float? {_identifier(one.name)}=None" for one in self.scalars]
        returned = ["Tensor"] * len(self.outputs)
        result = returned[0] if len(returned) == 1 else "(" + ", ".join(returned) + ")"
        return f"({', '.join(parts)}) -> {result}"

    def _problem_of(self, tensors) -> Dict[str, Value]:
        problem = self.problem(*tensors) if callable(self.problem) else self.problem
        return {n: v if isinstance(v, str) else int(v) for n, v in problem.items()}

    def _split(self, values) -> Tuple[List[Any], List[Any]]:
        count = len(self.tensors)
        return list(values[:count]), list(values[count:])

    def run(self, *values):
        tensors, scalars = self._split(values)
        problem = self._problem_of(tensors)
        gpu = tensors[0].get_device() if tensors else self.torch.cuda.current_device()
        known = (gpu, key(problem))
        kernel = self.kernels.get(known)
        if kernel is None:
            with self.lock:
                kernel = self.kernels.get(known)
                if kernel is None:
                    kernel = Kernel(self.space, gpu, **self.options, **problem)
                    self.kernels[known] = kernel
        device = self.torch.device("cuda", gpu)
        made = self._made(kernel.arguments, device, "output")
        given = {
            **dict(zip(self.tensors, tensors)),
            **made,
            **self._made(kernel.arguments, device, "scratch"),
        }
        for one, value in zip(self.scalars, scalars):
            if value is not None:
                given[one.name] = value
        kernel(*[given.get(one.name) for one in kernel.arguments])
        return self._returned(made)

    def fake(self, *values):
        tensors, _ = self._split(values)
        problem = self._problem_of(tensors)
        device = tensors[0].device if tensors else self.torch.device("cuda")
        arguments = self._planned(problem, device.index)
        return self._returned(self._made(arguments, device, "output"))

    def _made(self, arguments, device, role: str) -> Dict[str, Any]:
        return {
            one.name: self.torch.empty(
                one.shape, dtype=getattr(self.torch, _TYPES[one.type][0]), device=device
            )
            for one in arguments
            if one.role == role
        }

    def _returned(self, made):
        tensors = [made[name] for name in self.outputs]
        if not tensors:
            return None
        return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _identifier(name: str) -> str:
    """The name of an argument in a schema of PyTorch, whose reserved words are Python's and NONE."""
    return f"{name}_" if keyword.iskeyword(name) or name == "NONE" else name


def _is_real(argument: Argument) -> bool:
    return argument.type in ("float", "double", "__half", "__nv_bfloat16")


def _first_problem(space) -> Dict[str, Value]:
    import json
    import pathlib

    from . import _places

    if hasattr(space, "problems"):
        return dict(space.problems[0])
    text = pathlib.Path(_places.space_file(space)).read_text(encoding="utf-8")
    return dict(json.loads(text)["problems"][0])
