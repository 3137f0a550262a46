"""What is stored, as rows and documents."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Union

from . import _program
from ._selection import key

#: The columns of results(), with what they hold. A number that is not known is None.
COLUMNS = {
    "space": "name of the space",
    "kernel": "name of the kernel in the space",
    "problem": "sizes and types by name",
    "configuration": "values of the kernel's parameters by name",
    "status": "correct, constraints, compile, runtime, correctness or timeout",
    "reason": "why it failed, in a word; empty if it is correct",
    "detail": "why it failed, for people",
    "stage": "how far it came: final if it was in the finals",
    "time_ms": "median time in milliseconds; None if it was not timed",
    "time_low_ms": "lower end of the median's 95 % confidence interval, in milliseconds",
    "time_high_ms": "upper end of it, in milliseconds",
    "samples": "number of samples of the time",
    "throttled": "True if the clock stayed low",
    "chosen": "True if it won its run",
    "tied": "True if its run could not tell it from the winner",
    "is_default": "True for the kernel's default configuration",
    "compared_with": "what its output was compared with: definition, expected file, another kernel, only itself",
    "max_relative_error": "largest relative error against the reference",
    "gflop_per_s": "1e9 operations per second, where the space has the metric flops",
    "gb_per_s": "1e9 bytes per second, where the space has the metric bytes",
    "registers_per_thread": "most registers of any of its launches; None on the CPU device",
    "shared_bytes": "most shared memory per block of any of its launches, static and dynamic",
    "spill_bytes": "bytes that a thread spills, loads and stores, over all launches",
    "occupancy_percent": "least occupancy of its launches, in percent",
    "compile_ms": "time of the compilation in milliseconds",
    "device": "name of the device",
    "device_kind": "gpu or cpu",
    "architecture": "what it was compiled for: sm_90, host",
    "stale": "True if the kernel has been edited since",
    "kernel_hash": "SHA-256 of the kernel's source, launches and verification",
    "compiler": "the compiler and its version",
    "run": "id of the run that measured it",
    "imported_from": "the file it was imported from, None if it was not",
    "measured_utc": "when it was measured, ISO 8601",
}

# Columns of flat() that are not text. Those of sizes and parameters are integers, or text if one is.
_FLOATS = (
    "time_ms", "time_low_ms", "time_high_ms", "max_relative_error", "gflop_per_s", "gb_per_s",
    "occupancy_percent", "compile_ms",
)  # fmt: skip
_INTEGERS = ("samples", "registers_per_thread", "shared_bytes", "spill_bytes")
_FLAGS = ("throttled", "chosen", "tied", "is_default", "stale")


class Rows(List[Dict[str, Any]]):
    """Results, each a dictionary with the columns of `smemtune.COLUMNS`."""

    def flat(self) -> List[Dict[str, Any]]:
        """The rows with a column `problem.NAME` for every size and `parameter.NAME` for every
        parameter in place of the two dictionaries; None where a row has none of that name."""
        columns = self._columns()
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def _columns(self) -> Dict[str, List[Any]]:
        """The columns of flat(); without rows those that every row has."""
        columns: Dict[str, List[Any]] = {}
        for name in COLUMNS:
            prefix = {"problem": "problem", "configuration": "parameter"}.get(name)
            if prefix is None:
                columns[name] = [row[name] for row in self]
                continue
            for inner in sorted({inner for row in self for inner in row[name]}):
                values = [row[name].get(inner) for row in self]
                if any(isinstance(value, str) for value in values):
                    values = [None if value is None else str(value) for value in values]
                columns[f"{prefix}.{inner}"] = values
        return columns

    def to_pandas(self):
        """flat() as a pandas.DataFrame. The types of the columns do not depend on the rows: float64,
        Int64, boolean, and objects for text; those of sizes and parameters are integers, or text
        where a row has a word. Raises ImportError without pandas."""
        import pandas

        types = {"float": "float64", "integer": "Int64", "flag": "boolean", "text": "object"}
        return pandas.DataFrame({
            name: pandas.Series(values, dtype=types[_kind(name, values)])
            for name, values in self._columns().items()
        })

    def to_arrow(self):
        """flat() as a pyarrow.Table. The types of the columns do not depend on the rows: float64,
        int64, bool and string; those of sizes and parameters are integers, or text where a row has
        a word. Raises ImportError without pyarrow."""
        import pyarrow

        types = {"float": pyarrow.float64(), "integer": pyarrow.int64(), "flag": pyarrow.bool_(),
                 "text": pyarrow.string()}  # fmt: skip
        return pyarrow.table({
            name: pyarrow.array(values, type=types[_kind(name, values)])
            for name, values in self._columns().items()
        })


def _kind(name: str, values: List[Any]) -> str:
    """Returns the kind of a column of flat(): float, integer, flag or text."""
    if name.startswith(("problem.", "parameter.")):
        return "text" if any(isinstance(value, str) for value in values) else "integer"
    if name in _FLOATS:
        return "float"
    return "integer" if name in _INTEGERS else "flag" if name in _FLAGS else "text"


def results(
    db: Union[None, str, os.PathLike] = None,
    *,
    space: Optional[str] = None,
    kernel: Optional[str] = None,
    device: Optional[str] = None,
    problem: Optional[Dict[str, Any]] = None,
    status: Optional[str] = None,
    run: Optional[str] = None,
    source: str = "own,imported",
    limit: Optional[int] = None,
) -> Rows:
    """The stored results, failures too, in the order in which they were measured. A configuration
    that came into the finals has one of its screening, too.

    db: a results database; None: yours. The others leave only what is of this space, kernel, device,
    problem (whole or in part), status and run; `source` is that of `smemtune list`, here what the
    database holds; `limit`: only so many, the newest. Raises InputError for a name that nothing has, StoreError.
    """
    words = ["list", "--results", "--json", *_query(db, space, kernel, device, problem)]
    for name, value in {
        "--status": status, "--run": run, "--source": source, "--limit": limit
    }.items():
        if value is not None:
            words += [name, str(value)]
    return Rows(_row(entry) for entry in _program.ask(words)["results"])


def best(
    db: Union[None, str, os.PathLike] = None,
    *,
    space: Optional[str] = None,
    kernel: Optional[str] = None,
    device: Optional[str] = None,
    problem: Optional[Dict[str, Any]] = None,
    per_kernel: bool = False,
) -> Rows:
    """The best stored result of every space, problem and device; of every kernel if `per_kernel`."""
    words = ["best", "--json", *_query(db, space, kernel, device, problem)]
    if per_kernel:
        words.append("--per-kernel")
    return Rows(_row(entry) for entry in _program.ask(words)["best"])


def compare(
    db: Union[None, str, os.PathLike] = None,
    *,
    space: Optional[str] = None,
    kernel: Optional[str] = None,
    device: Optional[str] = None,
    problem: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Devices side by side: the document of `smemtune compare --json`, with `devices` and, for each
    of `problems`, the `best` on each device and what it loses on the others, in percent."""
    return _program.ask(["compare", "--json", *_query(db, space, kernel, device, problem)])


def portfolio(
    count: int,
    db: Union[None, str, os.PathLike] = None,
    *,
    space: Optional[str] = None,
    kernel: Optional[str] = None,
    device: Optional[str] = None,
) -> Dict[str, Any]:
    """Those `count` configurations of each space and device that together lose least over all
    problems: the document of `smemtune export --portfolio`."""
    words = ["export", "--portfolio", str(count), *_query(db, space, kernel, device, None)]
    return _program.ask(words)


def occupancy(
    *,
    threads: Union[None, int, str] = None,
    registers: Optional[int] = None,
    shared: Optional[int] = None,
    target: Optional[float] = None,
    device: Optional[str] = None,
    space: Union[None, str, os.PathLike] = None,
    configuration: Optional[Dict[str, Any]] = None,
    kernel: Optional[str] = None,
    problem: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """How many warps fit a multiprocessor and what limits them; needs no GPU.

    threads: per block, 256 or "16x16"; registers: per thread; shared: bytes per block; target: an
    occupancy in percent, to be told what it allows. device: any known GPU, `h200`, or `sm_90`; None:
    the first GPU, or the H200. With `space` a kernel of it is compiled instead, in a configuration.
    Returns the document of `smemtune occupancy --json`: `occupancy` has `percent`, `blocks_per_sm`,
    `warps_per_sm` and `limiters`. Raises InputError for what no block can have.
    """
    words = ["occupancy", "--json"]
    for name, value in {
        "--threads": threads,
        "--registers": registers,
        "--shared": shared,
        "--target": target,
        "--device": device,
        "--space": space,
        "--config": None if configuration is None else key(configuration),
        "--kernel": kernel,
        "--problem": None if problem is None else key(problem),
    }.items():
        if value is not None:
            words += [name, str(value)]
    return _program.ask(words)


def _query(db, space, kernel, device, problem) -> List[str]:
    words = []
    for name, value in {
        "--db": db,
        "--space": space,
        "--kernel": kernel,
        "--device": device,
        "--problem": None if problem is None else key(problem),
    }.items():
        if value is not None:
            words += [name, str(value)]
    return words


def _row(entry: Dict[str, Any]) -> Dict[str, Any]:
    time = entry.get("time") or {}
    median = time.get("median_ms")
    throughput = entry.get("throughput") or {}
    launches = entry.get("launches") or []
    provenance = entry["provenance"]
    imported = provenance.get("imported_from")
    return {
        **{name: entry.get(name) for name in (
            "space", "kernel", "problem", "configuration", "status", "reason", "detail", "stage")},
        "time_ms": time.get("mean_ms") if median is None else median,
        "time_low_ms": time.get("median_low_ms"),
        "time_high_ms": time.get("median_high_ms"),
        "samples": time.get("samples"),
        "throttled": time.get("throttled"),
        **{name: entry.get(name) for name in (
            "chosen", "tied", "is_default", "compared_with", "max_relative_error")},
        "gflop_per_s": throughput.get("gflop_per_s"),
        "gb_per_s": throughput.get("gb_per_s"),
        "registers_per_thread": _over(launches, max, "resources", "registers_per_thread"),
        "shared_bytes": _shared_bytes(launches),
        "spill_bytes": _spills(launches),
        "occupancy_percent": _over(launches, min, "occupancy", "percent"),
        "compile_ms": entry.get("compile_ms"),
        "device": entry["device"]["name"],
        "device_kind": entry["device"]["kind"],
        "architecture": entry["device"]["architecture"],
        "stale": provenance.get("stale"),
        "kernel_hash": provenance.get("kernel_hash"),
        "compiler": provenance.get("compiler"),
        "run": provenance.get("run"),
        "imported_from": imported["file"] if imported else None,
        "measured_utc": provenance.get("measured_utc"),
    }


def _over(launches, combine, group: str, name: str):
    values = [(launch.get(group) or {}).get(name) for launch in launches]
    known = [value for value in values if value is not None]
    return combine(known) if known else None


def _shared_bytes(launches):
    values = []
    for launch in launches:
        static = (launch.get("resources") or {}).get("static_shared_bytes")
        if static is not None:
            values.append(static + (launch.get("dynamic_shared_bytes") or 0))
    return max(values) if values else None


def _spills(launches):
    values = []
    for launch in launches:
        resources = launch.get("resources") or {}
        stores, loads = resources.get("spill_store_bytes"), resources.get("spill_load_bytes")
        if stores is not None and loads is not None:
            values.append(stores + loads)
    return sum(values) if values else None
