"""A kernel in a Python string, with its parameters: a space without a space file of one's own."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
import pathlib
import shutil
import sys
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _errors, _places
from ._selection import Value, key

# NumPy's name of each type of CUDA C++ that a reference in Python can be given.
_NUMPY = {
    "signed char": "int8", "char": "int8", "int8_t": "int8",
    "unsigned char": "uint8", "uint8_t": "uint8", "bool": "uint8",
    "short": "int16", "int16_t": "int16", "unsigned short": "uint16", "uint16_t": "uint16",
    "int": "int32", "int32_t": "int32",
    "unsigned": "uint32", "unsigned int": "uint32", "uint32_t": "uint32",
    "long": "int64", "long long": "int64", "int64_t": "int64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "uint64_t": "uint64",
    "size_t": "uint64",
    "half": "float16", "__half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip


class Expression:
    """An expression of the space file, made by the operators of Python."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise _errors.InputError(
            f"{self.text} has no value yet: write & | and smemtune.where() for and, or and if"
        )

    def _with(self, operator: str, other: Any, swapped: bool = False) -> "Expression":
        left, right = (_text(other), self.text) if swapped else (self.text, _text(other))
        return Expression(f"({left} {operator} {right})")

    def __truediv__(self, other):
        raise _errors.InputError(f"{self.text} / {_text(other)}: sizes are integers, use //")

    __rtruediv__ = __truediv__
    __hash__ = None  # type: ignore[assignment]  # Its == is no comparison.

    def __neg__(self):
        return Expression(f"(-{self.text})")

    def __invert__(self):
        return Expression(f"(!{self.text})")

    def __abs__(self):
        return Expression(f"abs({self.text})")


def _operator(sign: str, swapped: bool):
    return lambda self, other: self._with(sign, other, swapped)


for _name, _sign in {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "xor": "^", "and": "&&", "or": "||",
}.items():  # fmt: skip
    setattr(Expression, f"__{_name}__", _operator(_sign, False))
    setattr(Expression, f"__r{_name}__", _operator(_sign, True))
for _name, _sign in {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}.items():  # fmt: skip
    setattr(Expression, f"__{_name}__", _operator(_sign, False))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (Expression, int, str)):
        return str(value)
    raise _errors.InputError(f"{value!r} is no part of an expression over integers")


def _call(function: str, *values: Any):
    if all(isinstance(value, int) for value in values):
        return None
    return Expression(f"{function}({', '.join(_text(value) for value in values)})")


def ceil_div(value, by):
    """The quotient rounded up, of numbers or in an expression."""
    made = _call("ceil_div", value, by)
    return -(-value // by) if made is None else made


def round_up(value, to):
    """The next multiple of `to`, of numbers or in an expression."""
    made = _call("round_up", value, to)
    return -(-value // to) * to if made is None else made


def minimum(*values):
    """The smallest, of numbers or in an expression."""
    made = _call("min", *values)
    return min(values) if made is None else made


def maximum(*values):
    """The largest, of numbers or in an expression."""
    made = _call("max", *values)
    return max(values) if made is None else made


def where(condition, then, otherwise):
    """`then` if the condition holds, else `otherwise`, of numbers or in an expression."""
    made = _call("select", condition, then, otherwise)
    return (then if condition else otherwise) if made is None else made


def expression(given: Any, known: Sequence[str]) -> Union[str, int]:
    """The expression that a string, a number or a lambda over `known` names stands for."""
    if not callable(given):
        return _one(given)
    return _one(_called(given, known))


def expressions(given: Any, known: Sequence[str]) -> List[Union[str, int]]:
    """A list of expressions, for a grid: of one, of a sequence, or of a lambda that returns such."""
    if callable(given):
        given = _called(given, known)
    if isinstance(given, (list, tuple)):
        return [expression(one, known) for one in given]
    return [_one(given)]


def _one(value: Any) -> Union[str, int]:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _text(value)


def _called(function: Callable, known: Sequence[str]) -> Any:
    names = list(inspect.signature(function).parameters)
    for name in names:
        if name not in known:
            raise _errors.InputError(
                f"a lambda takes {name}, which is neither a parameter nor of the problem: "
                + ", ".join(known)
            )
    return function(*(Expression(name) for name in names))


@dataclasses.dataclass(frozen=True)
class Buffer:
    """An array that the kernel takes."""

    name: str
    type: str  #: As CUDA C++ spells it: `float`, or a type that the problem names.
    shape: Any  #: Extents, outermost first: expressions over the problem.
    role: str  #: `input`, `output`, `inout` or `scratch`.
    init: Optional[str] = None  #: `uniform(-1, 1)`, `normal(0, 1)`, `iota`, `zero`, `constant(2)`.


def Input(name: str, type: str, *shape: Any, init: str = "uniform(-1, 1)") -> Buffer:
    """An array that the kernel reads. `init`: how its elements begin where it is tuned."""
    return Buffer(name, type, shape, "input", init)


def Output(name: str, type: str, *shape: Any) -> Buffer:
    """An array that the kernel writes, every element of it."""
    return Buffer(name, type, shape, "output")


def InOut(name: str, type: str, *shape: Any, init: str = "uniform(-1, 1)") -> Buffer:
    """An array that the kernel reads and writes."""
    return Buffer(name, type, shape, "inout", init)


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A number that the kernel takes: a value, or an expression over the problem."""

    name: str
    type: str
    value: Any


class Tunable:
    """A kernel in a string with its parameters. Made by tunable(); see there."""

    def __init__(self, name: str, source: str, **given: Any):
        self.name = name
        self.source = inspect.cleandoc(source) + "\n"
        self.problems = [dict(one) for one in given["problems"]]
        self.cpu_problems = [dict(one) for one in given["cpu_problems"]]
        self.reference = given["reference"]
        self._arrays = given["arrays"]
        self._arguments = list(given["arguments"])
        if not self.problems:
            raise _errors.InputError(f"{name}: no problems are given")
        self._problem_names = list(self.problems[0])
        self._known = self._problem_names + list(given["parameters"])
        self._tolerance = {
            n: given[n] for n in ("absolute", "relative") if given[n] is not None
        }
        self._kernel = self._kernel_of(given)
        self._metrics = {
            n: _text(expression(e, self._problem_names)) for n, e in given["metrics"].items()
        }
        self._definition = given["definition"]
        if self.reference is not None:
            for one in self._arguments:
                if isinstance(one, Buffer):
                    self._numpy_type(one, self.problems[0])
                    _generator(one)

    def _kernel_of(self, given: Dict[str, Any]) -> Dict[str, Any]:
        entry = given["entry"] or self.name
        kernel: Dict[str, Any] = {
            "name": self.name,
            "source": f"{self.name}.cu",
            "entry": entry,
            "parameters": {n: list(v) for n, v in given["parameters"].items()},
            "block": expressions(given["block"], self._known),
            "grid": expressions(given["grid"], self._known),
        }
        if "<" not in entry:
            kernel["pass"] = "define"
        if given["default"] is not None:
            kernel["default"] = dict(given["default"])
        for key in ("constraints", "promising"):
            conditions = [expression(one, self._known) for one in given[key]]
            if conditions:
                kernel[key] = conditions
        if given["dynamic_shared_bytes"] is not None:
            shared = expression(given["dynamic_shared_bytes"], self._known)
            kernel["dynamic_shared_bytes"] = shared
        return kernel

    def __repr__(self) -> str:
        return f"<smemtune.Tunable {self.name}>"

    def document(self, problem: Optional[Mapping[str, Value]] = None) -> Dict[str, Any]:
        """The space file, as JSON has it; for one problem and with the reference's answer if one is
        given and there is a reference in Python."""
        with_files = problem is not None and self.reference is not None
        arguments = []
        for one in self._arguments:
            if isinstance(one, Scalar):
                value = expression(one.value, self._problem_names) if not isinstance(
                    one.value, float) else one.value
                arguments.append({"name": one.name, "type": one.type, "value": value})
                continue
            shape = [_text(expression(extent, self._problem_names)) for extent in one.shape]
            entry = {"name": one.name, "type": one.type, "shape": shape, "role": one.role}
            if one.init is not None:
                entry["init"] = f'file("{one.name}.npy")' if with_files else one.init
            arguments.append(entry)
        verify: Dict[str, Any] = {"reference": "default", **self._tolerance}
        if with_files:
            verify["expected"] = {n: f"{n}.expected.npy" for n in self._result_names()}
        elif self._definition is not None:
            verify["definition"] = self._definition
        document: Dict[str, Any] = {
            "name": self.name,
            "problems": [dict(problem)] if with_files and problem else self.problems,
            "arguments": arguments,
            "verify": verify,
            "kernels": [self._kernel],
        }
        if self.cpu_problems and not with_files:
            document["cpu_problems"] = self.cpu_problems
        if self._metrics:
            document["metrics"] = self._metrics
        return document

    def _result_names(self) -> List[str]:
        return [one.name for one in self._arguments
                if isinstance(one, Buffer) and one.role in ("output", "inout")]

    def space_file(self, problem: Optional[Mapping[str, Value]] = None) -> str:
        """Writes the space file with its source below ~/.cache/smemtune/python and returns its path.

        With a reference in Python and a problem, the data of that problem and what the reference
        makes of it are written as well, so that every element is compared with it.
        """
        if problem is not None and self.reference is not None:
            self._check_problem(problem)
            document = self.document(problem)
        else:
            problem, document = None, self.document()
        text = json.dumps(document, indent=2) + "\n"
        digest = hashlib.sha256(text.encode() + self.source.encode() + self._reference_text())
        folder = _places.cache() / f"{self.name}-{digest.hexdigest()[:16]}"
        file = folder / f"{self.name}.json"
        if file.exists():
            return str(file)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = pathlib.Path(tempfile.mkdtemp(prefix=f".{self.name}-", dir=folder.parent))
        try:
            (made / f"{self.name}.cu").write_text(self.source, encoding="utf-8")
            (made / file.name).write_text(text, encoding="utf-8")
            if problem is not None:
                self._write_data(made, dict(problem))
            try:
                os.rename(made, folder)
            except OSError:
                if not file.exists():  # Not because another process was faster.
                    raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return str(file)

    def _check_problem(self, problem: Mapping[str, Value]) -> None:
        if sorted(problem) != sorted(self._problem_names):
            raise _errors.InputError(
                f"{self.name}: a problem has {', '.join(self._problem_names)}, not "
                f"{key(problem) or 'nothing'}"
            )

    def _reference_text(self) -> bytes:
        """What changes when the reference is edited."""
        if self.reference is None:
            return b""
        try:
            return inspect.getsource(self.reference).encode()
        except (OSError, TypeError):
            code = getattr(self.reference, "__code__", None)
            return code.co_code + repr(code.co_consts).encode() if code is not None else b""

    def _numpy_type(self, one: Buffer, problem: Mapping[str, Value]) -> str:
        name = str(problem.get(one.type, one.type))
        if name not in _NUMPY:
            raise _errors.InputError(
                f"{self.name}: {one.name} is of type {name}, for which NumPy has no type: a "
                "reference in Python cannot be given it"
            )
        return _NUMPY[name]

    def _write_data(self, folder: pathlib.Path, problem: Dict[str, Value]) -> None:
        """Writes two sets of data, which differ in magnitude and sign, and the answers to both."""
        import numpy

        sets = [self._one_set(numpy, problem, is_spread) for is_spread in (False, True)]
        for name in sets[0]:
            numpy.save(folder / f"{name}.npy", numpy.stack([one[name] for one in sets]))

    def _one_set(self, numpy, problem: Dict[str, Value], is_spread: bool) -> Dict[str, Any]:
        """The inputs by name, and what the reference makes of them by `NAME.expected`."""
        random = numpy.random.default_rng(2 if is_spread else 1)
        kinds: Dict[str, Any] = {}
        values: Dict[str, Any] = {}
        arrays: Dict[str, Any] = {}
        for one in self._arguments:
            if isinstance(one, Scalar):
                values[one.name] = _value(one.value, problem)
                continue
            shape = tuple(int(_value(extent, problem)) for extent in one.shape)
            dtype = numpy.dtype(self._numpy_type(one, problem))
            kinds[one.name] = (shape, dtype)
            if one.init is not None:
                arrays[one.name] = _generator(one)(numpy, random, shape, dtype, is_spread)
                values[one.name] = arrays[one.name].copy()
        answers = self._answers(values, problem)
        for name in self._result_names():
            shape, dtype = kinds[name]
            answer = _as_numpy(answers[name])
            if tuple(answer.shape) != shape:
                raise _errors.InputError(
                    f"{self.name}: the reference returns {name} of shape {tuple(answer.shape)}, "
                    f"the space has {shape}"
                )
            arrays[f"{name}.expected"] = numpy.ascontiguousarray(answer.astype(dtype))
        return arrays

    def _answers(self, values: Dict[str, Any], problem: Dict[str, Value]) -> Dict[str, Any]:
        taken = {}
        for name in inspect.signature(self.reference).parameters:
            if name in values:
                taken[name] = self._as_array(values[name])
            elif name in problem:
                taken[name] = problem[name]
            else:
                raise _errors.InputError(
                    f"{self.name}: the reference takes {name}, which is neither an input, a scalar "
                    "nor of the problem"
                )
        returned = self.reference(**taken)
        names = self._result_names()
        if isinstance(returned, Mapping):
            answers = dict(returned)
        elif isinstance(returned, (tuple, list)):
            answers = dict(zip(names, returned))
        else:
            answers = {names[0]: returned} if names else {}
        for name in names:
            if name not in answers:
                raise _errors.InputError(f"{self.name}: the reference does not return {name}")
        return answers

    def _as_array(self, value: Any) -> Any:
        if not hasattr(value, "dtype") or self._arrays == "numpy":
            return value
        if self._arrays == "torch":
            import torch

            return torch.from_numpy(value).to("cuda" if torch.cuda.is_available() else "cpu")
        import cupy

        return cupy.asarray(value)

    def tuned_on(self, tune_file: Callable, *, device, problems, **options: Any) -> Any:
        """Tunes it. With a reference in Python each problem is a search of its own."""
        if self.reference is None:
            return tune_file(self.space_file(), device=device, problems=problems, **options)
        if not problems:
            problems = self.problems
            if self.cpu_problems and self._is_for_cpu(device):
                problems = self.cpu_problems
        run = None
        for problem in problems:
            one = tune_file(self.space_file(problem), device=device, problems=[], **options)
            if run is None:
                run = one
            else:
                run = dataclasses.replace(
                    run,
                    evaluated=run.evaluated + one.evaluated,
                    elapsed_s=run.elapsed_s + one.elapsed_s,
                    problems=run.problems + one.problems,
                )
        return run

    @staticmethod
    def _is_for_cpu(device) -> bool:
        if device is not None:
            return device == "cpu"
        from . import _library

        try:
            _library.find_gpu(0)
            return False
        except _errors.UnavailableError:
            return True


def _value(given: Any, problem: Mapping[str, Value]) -> Any:
    """The value of a number, a lambda or an expression over the problem."""
    if callable(given):
        names = inspect.signature(given).parameters
        return given(*(problem[name] for name in names))
    if isinstance(given, (int, float)):
        return given
    functions = {"ceil_div": ceil_div, "round_up": round_up, "min": min, "max": max, "abs": abs}
    text = str(given)
    try:
        return eval(text, {"__builtins__": {}}, {**functions, **problem})  # noqa: S307
    except Exception as error:
        raise _errors.InputError(f"{text!r} cannot be evaluated in Python: {error}") from None


def _generator(one: Buffer) -> Callable:
    """The function that makes the elements that `init` means. Raises InputError."""
    text = (one.init or "zero").replace(" ", "")
    name, _, rest = text.partition("(")
    try:
        numbers = [float(part) for part in rest.rstrip(")").split(",") if part]
    except ValueError:
        numbers = None
    if name == "uniform" and numbers is not None and len(numbers) == 2:
        low, high = numbers
        return lambda np, random, shape, dtype, is_spread: _rounded(np, (
            _spread(np, random, low, high, shape) if is_spread
            else random.uniform(low, high, shape)), dtype)
    if name == "normal" and numbers is not None and len(numbers) == 2:
        mean, deviation = numbers
        return lambda np, random, shape, dtype, is_spread: _rounded(np, (
            _spread(np, random, mean - 4 * deviation, mean + 4 * deviation, shape) if is_spread
            else random.normal(mean, deviation, shape)), dtype)
    if name == "constant" and numbers is not None and len(numbers) == 1:
        number = numbers[0]
        return lambda np, random, shape, dtype, is_spread: np.full(shape, number, dtype)
    if text == "iota":
        return lambda np, random, shape, dtype, is_spread: np.arange(
            int(np.prod(shape))).astype(dtype).reshape(shape)
    if text == "zero":
        return lambda np, random, shape, dtype, is_spread: np.zeros(shape, dtype)
    raise _errors.InputError(
        f"{one.name}: with a reference in Python init is uniform(LOW, HIGH), "
        f"normal(MEAN, DEVIATION), constant(NUMBER), iota or zero, not {one.init!r}"
    )


def _spread(np, random, low: float, high: float, shape):
    """Numbers at distances of every order of magnitude from 0, or from the end of the range that is
    nearest to it; on both sides of 0 where the range has both."""
    nearest = min(max(0.0, low), high)
    is_above = random.random(shape) * (high - low) < high - nearest
    farthest = np.where(is_above, high, low)
    return nearest + (farthest - nearest) * np.exp2(-random.uniform(0, 24, shape))


def _rounded(np, values, dtype):
    return (np.rint(values) if dtype.kind in "iu" else values).astype(dtype)


def _as_numpy(value: Any):
    import numpy

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return cupy.asnumpy(value)
    return numpy.asarray(value)


def tunable(
    source: Optional[str] = None,
    *,
    arguments: Sequence[Union[Buffer, Scalar]],
    parameters: Mapping[str, Sequence[Value]],
    problems: Sequence[Mapping[str, Value]],
    block: Any,
    grid: Any,
    name: Optional[str] = None,
    entry: Optional[str] = None,
    default: Optional[Mapping[str, Value]] = None,
    constraints: Sequence[Any] = (),
    promising: Sequence[Any] = (),
    dynamic_shared_bytes: Any = None,
    cpu_problems: Sequence[Mapping[str, Value]] = (),
    metrics: Optional[Mapping[str, Any]] = None,
    definition: Optional[str] = None,
    reference: Optional[Callable] = None,
    arrays: str = "numpy",
    absolute: Optional[float] = None,
    relative: Optional[float] = None,
) -> Any:
    """Makes a kernel in a string tunable: for tune(), select(), Kernel() and torch_op().

        @smemtune.tunable(
            arguments=[Input("x", "float", "N"), Output("out", "float", "N"), Scalar("n", "int", "N")],
            parameters={"THREADS": [64, 128, 256], "ITEMS": [1, 2, 4]},
            problems=[{"N": 1 << 24}], cpu_problems=[{"N": 1 << 16}],
            entry="twice<THREADS, ITEMS>",
            block=["THREADS"], grid=lambda N, THREADS, ITEMS: ceil_div(N, THREADS * ITEMS),
            reference=lambda x: 2 * x)
        def twice():
            r'''template <int THREADS, int ITEMS>
                __global__ void twice(const float* x, float* out, int n) { ... }'''

    source: the CUDA source, with `name`; without it this is a decorator for a function whose name is
        the space's and whose docstring is the source.
    entry: the kernel; `f<T, TILE>` passes parameters as template arguments, a mere name (that of the
        space, if left out) as macros.
    grid, block, constraints, promising, dynamic_shared_bytes, metrics, shapes and scalars:
        expressions of space files, or lambdas over parameters and sizes, `lambda N, TILE:
        ceil_div(N, TILE)`. A configuration that violates one of `constraints` would compute
        something wrong or not run; one that violates `promising` is only not searched.
    problems: sizes and types; cpu_problems: smaller ones for the CPU device.
    reference: a function that computes the outputs, of inputs, scalars and sizes by their names; it
        returns one array, a tuple in the order of the outputs, or a dictionary. It is called with
        arrays of `arrays`: `numpy`, `torch` or `cupy`, twice for each problem: with elements as
        `init` says, and with some that differ from them in magnitude and sign. Every element of
        every configuration's output is compared with both answers; Run.compared says how many.
        Needs NumPy.
    definition: the same as a formula of space files, `out[i] = 2 * x[i]`, where there is none.
    absolute, relative: the tolerance.

    Raises InputError for what cannot be understood.
    """
    if arrays not in ("numpy", "torch", "cupy"):
        raise _errors.InputError(f"arrays is {arrays!r}: numpy, torch or cupy")
    if reference is not None and definition is not None:
        raise _errors.InputError("a reference and a definition: one of them says what is right")

    def make(of_name: str, text: str) -> Tunable:
        return Tunable(
            of_name,
            text,
            arguments=arguments,
            parameters=parameters,
            problems=problems,
            block=block,
            grid=grid,
            entry=entry,
            default=default,
            constraints=constraints,
            promising=promising,
            dynamic_shared_bytes=dynamic_shared_bytes,
            cpu_problems=cpu_problems,
            metrics=metrics or {},
            definition=definition,
            reference=reference,
            arrays=arrays,
            absolute=absolute,
            relative=relative,
        )

    if source is not None:
        if name is None:
            raise _errors.InputError("a kernel that is given as a string needs a name")
        return make(name, source)

    def decorate(function: Callable) -> Tunable:
        if not function.__doc__:
            raise _errors.InputError(f"{function.__name__} has no docstring with the CUDA source")
        return make(name or function.__name__, function.__doc__)

    return decorate
