"""Tests of the module without a GPU: python3 python/tests/test_smemtune.py"""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import types
import unittest
import unittest.mock

# The environment decides what the module finds, so it is set before anything is asked.
_FOLDER = tempfile.TemporaryDirectory(prefix="smemtune-python-test-")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "scale.json"
os.environ["SMEMTUNE_DB"] = os.path.join(_FOLDER.name, "results.sqlite")
os.environ["XDG_CACHE_HOME"] = os.path.join(_FOLDER.name, "cache")
os.environ.pop("SMEMTUNE_CACHE", None)
os.environ.pop("SMEMTUNE_SHARED_DB", None)

import smemtune  # noqa: E402
from smemtune import Input, Output, Scalar, ceil_div  # noqa: E402
from smemtune._kernel import _Slot, _is_contiguous, scalar_bytes  # noqa: E402
from smemtune._selection import key, parse_key  # noqa: E402
from smemtune._tunable import Expression, expression, expressions  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

H200 = ("NVIDIA H200", 90)
ON_CPU = {"N": 65536, "T": "float"}

SOURCE = """
    template <int THREADS, int ITEMS>
    __global__ void twice(const float* x, float* out, float factor, int n) {
      for (int item = 0; item < ITEMS; ++item) {
        const int i = (blockIdx.x * ITEMS + item) * THREADS + threadIdx.x;
        if (i < n) out[i] = factor * x[i];
      }
    }"""


def twice(**changed):
    given = dict(
        name="twice",
        arguments=[
            Input("x", "float", "N"),
            Output("out", "float", "N"),
            Scalar("factor", "float", 2.0),
            Scalar("n", "int", "N"),
        ],
        parameters={"THREADS": [64, 128], "ITEMS": [1, 2]},
        problems=[{"N": 1 << 20}],
        cpu_problems=[{"N": 4096}],
        entry="twice<THREADS, ITEMS>",
        block=["THREADS"],
        grid=lambda N, THREADS, ITEMS: ceil_div(N, THREADS * ITEMS),
    )
    given.update(changed)
    return smemtune.tunable(SOURCE, **given)


_tuned = None


def tuned():
    """A search of scale.json on the CPU device, made once."""
    global _tuned
    if _tuned is None:
        _tuned = smemtune.tune(EXAMPLE, device="cpu", max_evaluations=3, progress=False)
    return _tuned


class Tune(unittest.TestCase):
    def test_returns_what_the_command_says(self):
        run = tuned()
        self.assertEqual(run.space, "scale")
        self.assertEqual(run.evaluated, 3)
        self.assertFalse(run.interrupted)
        self.assertGreater(run.best["time"]["median_ms"], 0)
        self.assertEqual(run.best["compared_with"], "definition")

    def test_shows_progress_line_by_line(self):
        lines = []
        smemtune.tune(
            EXAMPLE, device="cpu", max_evaluations=2, fresh=True, progress=lines.append
        )
        self.assertTrue(any(" of " in line for line in lines), lines)

    def test_raises_the_programs_words(self):
        with self.assertRaisesRegex(smemtune.InputError, "no 'M'"):
            smemtune.tune(EXAMPLE, device="cpu", problems=[{"M": 1}], progress=False)
        with self.assertRaisesRegex(smemtune.InputError, "there is no such space file"):
            smemtune.tune("nowhere.json")
        with self.assertRaisesRegex(smemtune.StoreError, "results.txt"):
            file = pathlib.Path(_FOLDER.name) / "results.txt"
            file.write_text("this is no database, whatever else it may be\n" * 100)
            smemtune.tune(EXAMPLE, device="cpu", db=file, progress=False)

    def test_says_why_nothing_worked(self):
        broken = smemtune.tunable(
            "__global__ void broken(float* out) { out[0] = undeclared; }",
            name="broken",
            arguments=[Output("out", "float", 1)],
            parameters={"THREADS": [32]},
            problems=[{"N": 1}],
            block="THREADS",
            grid=1,
        )
        with self.assertRaisesRegex(smemtune.NothingWorked, "undeclared"):
            smemtune.tune(broken, device="cpu", progress=False)

    def test_interrupt_ends_it_with_what_it_has(self):
        code = f"""
            import smemtune, sys
            try:
                smemtune.tune({str(EXAMPLE)!r}, device="cpu", fresh=True, db={_FOLDER.name!r} + "/i.sqlite",
                              progress=lambda line: print(line, flush=True))
            except smemtune.Interrupted as interrupted:
                assert isinstance(interrupted, KeyboardInterrupt)
                print("interrupted", interrupted.run is None or interrupted.run.interrupted)
        """
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
            start_new_session=True,
        )
        child.stdout.readline()  # The search has begun.
        os.kill(child.pid, signal.SIGINT)  # As a notebook does: not to the program.
        output, _ = child.communicate(timeout=60)
        self.assertIn("interrupted True", output)
        self.assertEqual(child.returncode, 0)


class Select(unittest.TestCase):
    def test_what_was_tuned_here_is_exact(self):
        best = tuned().best
        chosen = smemtune.select(EXAMPLE, "cpu", **ON_CPU)
        self.assertEqual(chosen.match, "exact")
        self.assertEqual(chosen.size_ratio, 1)
        self.assertEqual(chosen.configuration, best["configuration"])
        self.assertEqual(chosen.time_ms, best["time"]["median_ms"])
        self.assertEqual(chosen.compared_with, "definition")
        self.assertEqual(chosen.measured_device, chosen.device)
        self.assertFalse(chosen.stale or chosen.edited)
        self.assertIsNone(chosen.shared_from)
        launch = chosen.launches[0]
        per_block = best["configuration"]["THREADS"] * best["configuration"]["ITEMS"]
        self.assertEqual(launch.grid, (-(-65536 // per_block), 1, 1))
        self.assertEqual(launch.arguments, ("in", "out", "factor", "n"))
        data, _, factor, _ = chosen.arguments
        self.assertEqual((data.type, data.role, data.shape), ("float", "input", (65536,)))
        self.assertEqual(struct.unpack("f", factor.value), (2.5,))

    def test_the_nearest_problem_is_named(self):
        chosen = smemtune.select("gemm", H200, M=4096, N=4096, K=4080, T="float")
        self.assertEqual(chosen.match, "nearest problem")
        self.assertLess(chosen.size_ratio, 1.01)
        self.assertEqual(chosen.measured_problem["T"], "float")

    def test_what_is_far_from_all_that_was_tuned_has_the_defaults(self):
        tuned()
        chosen = smemtune.select(EXAMPLE, "cpu", N=1 << 30, T="float")
        self.assertEqual(chosen.match, "defaults")
        self.assertEqual(chosen.configuration, {"THREADS": 256, "ITEMS": 1})

    def test_results_that_come_with_smemtune_answer_by_the_spaces_name(self):
        chosen = smemtune.select("gemm", H200, M=4096, N=4096, K=4096, T="float")
        self.assertEqual(chosen.match, "exact")
        self.assertTrue(chosen.shared_from.endswith("h200.json"), chosen.shared_from)

    def test_defaults_where_nothing_is_known(self):
        chosen = smemtune.select(EXAMPLE, ("NVIDIA A100", 80), **ON_CPU)
        self.assertEqual(chosen.match, "defaults")
        self.assertEqual(chosen.configuration, {"THREADS": 256, "ITEMS": 1})
        self.assertIsNone(chosen.time_ms)

    def test_a_configuration_that_the_caller_names(self):
        chosen = smemtune.select(EXAMPLE, H200, configuration={"ITEMS": 4}, **ON_CPU)
        self.assertEqual(chosen.match, "given")
        self.assertEqual(chosen.launches[0].entry, "scale<float, 256, 4>")

    def test_what_is_tuned_meanwhile_is_seen(self):
        db = os.path.join(_FOLDER.name, "meanwhile.sqlite")
        for problem in ({"N": 4096, "T": "float"}, {"N": 8192, "T": "float"}):
            smemtune.tune(EXAMPLE, device="cpu", problems=[problem], max_evaluations=2, db=db,
                          progress=False)
            self.assertEqual(smemtune.select(EXAMPLE, "cpu", db=db, **problem).match, "exact")

    def test_errors_say_what_is_wrong(self):
        for words, call in {
            "lacks 'T'": lambda: smemtune.select(EXAMPLE, H200, N=1),
            "has no 'M'": lambda: smemtune.select(EXAMPLE, H200, M=1, **ON_CPU),
            "neither an integer nor a word": lambda: smemtune.select(EXAMPLE, H200, N=1.5),
            "no kernel other": lambda: smemtune.select(EXAMPLE, H200, kernel="other", **ON_CPU),
            "cannot run on": lambda: smemtune.select(
                EXAMPLE, H200, configuration={"THREADS": 512, "ITEMS": 8}, **ON_CPU),
            "no such file of results": lambda: smemtune.select(
                EXAMPLE, H200, db="missing.sqlite", **ON_CPU),
            "device 'gpu'": lambda: smemtune.select(EXAMPLE, "gpu", **ON_CPU),
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                call()

    def test_threads_select_at_the_same_time(self):
        tuned()
        found = []
        threads = [
            threading.Thread(
                target=lambda: found.append(smemtune.select(EXAMPLE, "cpu", **ON_CPU).match))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["exact"] * 8)

    def test_compiles_to_cubin_and_ptx(self):
        chosen = smemtune.select(EXAMPLE, H200, **ON_CPU)
        try:
            module = chosen.compile()
        except smemtune.UnavailableError as error:
            self.skipTest(str(error))
        self.assertEqual(module.image[:4], b"\x7fELF")
        self.assertIn("scale", module.entries[0])
        self.assertIn(b".target sm_90", chosen.compile("compute_90").image)

    def test_every_shipped_space_is_planned(self):
        for file in sorted((ROOT / "configs").glob("*.json")):
            space = json.loads(file.read_text())
            if "kernels" not in space:
                continue
            with self.subTest(file.stem):
                problem = space["problems"][0]
                chosen = smemtune.select(file.stem, H200, configuration={}, **problem)
                self.assertEqual(chosen.space, space["name"])
                self.assertEqual(chosen.problem, problem)
                names = [argument.name for argument in chosen.arguments]
                self.assertTrue(chosen.launches)
                for launch in chosen.launches:
                    self.assertTrue(set(launch.arguments) <= set(names))
                    self.assertGreater(min(launch.grid + launch.block), 0)
                for argument in chosen.arguments:
                    self.assertEqual(argument.role == "scalar", argument.value is not None)
                    self.assertEqual(argument.role == "scalar", not argument.shape)

    def test_names_the_symbols_of_constant_memory(self):
        problem = json.loads((ROOT / "configs" / "convolution.json").read_text())["problems"][0]
        chosen = smemtune.select("convolution", H200, configuration={}, kernel="tiled", **problem)
        constant = [one.name for one in chosen.arguments if one.memory == "constant"]
        self.assertTrue(constant)
        try:
            self.assertEqual(list(chosen.compile().symbols), constant)
        except smemtune.UnavailableError as error:
            self.skipTest(str(error))

    def test_keys_hold_any_word(self):
        for values in ({}, {"A": -3}, {"T": "a,b"}, {"T": "a\\"}, {"T": "a\\,b\\\\", "U": "c"},
                       {"T": "x\\y", "N": 5}):
            self.assertEqual(parse_key(key(values)), values)
        self.assertEqual(key({"T": "a,b", "N": True}), "N=1,T=a\\,b")


class Results(unittest.TestCase):
    def test_have_the_documented_columns(self):
        tuned()
        rows = smemtune.results(space="scale")
        self.assertGreaterEqual(len(rows), 3)
        for row in rows:
            self.assertEqual(list(row), list(smemtune.COLUMNS))
        best = smemtune.best(space="scale", problem=ON_CPU)
        self.assertEqual(len(best), 1)
        self.assertEqual(best[0]["device_kind"], "cpu")
        self.assertEqual(best[0]["stage"], "final")

    def test_flat_rows_have_a_column_for_each_parameter(self):
        tuned()
        flat = smemtune.results(space="scale").flat()[0]
        for column in ("problem.N", "problem.T", "parameter.THREADS", "parameter.ITEMS", "time_ms"):
            self.assertIn(column, flat)
        self.assertNotIn("problem", flat)

    def test_frames_have_the_same_types_whatever_the_rows_hold(self):
        tuned()
        for rows in (smemtune.results(space="scale"), smemtune.Rows()):
            try:
                frame = rows.to_pandas()
            except ImportError as error:
                self.assertEqual(error.name, "pandas")
                break
            self.assertEqual(len(frame), len(rows))
            types = {"time_ms": "float64", "gflop_per_s": "float64", "samples": "Int64",
                     "registers_per_thread": "Int64", "chosen": "boolean", "imported_from": "object"}
            if rows:
                types.update({"problem.N": "Int64", "problem.T": "object"})
            self.assertEqual({name: str(frame[name].dtype) for name in types}, types)

    def test_tables_of_arrow_have_the_same_types_whatever_the_rows_hold(self):
        tuned()
        for rows in (smemtune.results(space="scale"), smemtune.Rows()):
            try:
                table = rows.to_arrow()
            except ImportError as error:
                self.assertEqual(error.name, "pyarrow")
                break
            self.assertEqual(table.num_rows, len(rows))
            types = {"time_ms": "double", "gflop_per_s": "double", "samples": "int64",
                     "registers_per_thread": "int64", "chosen": "bool", "imported_from": "string"}
            if rows:
                types.update({"problem.N": "int64", "problem.T": "string"})
            self.assertEqual({name: str(table.schema.field(name).type) for name in types}, types)

    def test_documents_of_the_commands(self):
        tuned()
        self.assertIn("devices", smemtune.compare(space="scale"))
        self.assertEqual(smemtune.portfolio(1, space="scale")["format"], "smemtune-best")
        shown = smemtune.occupancy(threads=256, registers=40, device="h200")
        self.assertEqual(shown["occupancy"]["percent"], 75)
        with self.assertRaisesRegex(smemtune.InputError, "5000"):
            smemtune.occupancy(threads=5000, device="h200")
        with self.assertRaisesRegex(smemtune.StoreError, "missing"):
            smemtune.results(os.path.join(_FOLDER.name, "missing.sqlite"))


class TunableKernels(unittest.TestCase):
    def test_the_space_file_is_what_was_given(self):
        document = twice(
            constraints=[lambda THREADS, ITEMS: (THREADS > 32) & (ITEMS != 3)],
            promising=["THREADS <= N"],
            metrics={"bytes": lambda N: 8 * N},
        ).document()
        self.assertEqual(document["kernels"][0]["grid"], ["ceil_div(N, (THREADS * ITEMS))"])
        self.assertEqual(document["kernels"][0]["constraints"], ["((THREADS > 32) && (ITEMS != 3))"])
        self.assertEqual(document["kernels"][0]["promising"], ["THREADS <= N"])
        self.assertEqual(document["metrics"], {"bytes": "(8 * N)"})

    def test_expressions_mean_what_they_mean_in_python(self):
        known = ["N", "T"]
        self.assertEqual(expression(lambda N: -(-N // 32), known), "(-((-N) // 32))")
        self.assertEqual(expression(lambda N: 2 ** N % 7 - (1 << N), known),
                         "(((2 ** N) % 7) - (1 << N))")
        self.assertEqual(expressions(lambda N, T: (N, smemtune.maximum(T, 1), 1), known),
                         ["N", "max(T, 1)", 1])
        self.assertEqual(ceil_div(10, 4), 3)
        self.assertEqual(smemtune.round_up(10, 4), 12)
        for words, wrong in {
            "use //": lambda N: N / 2,
            "has no value yet": lambda N: 1 if N > 2 else 2,
            "neither a parameter": lambda M: M,
            "no part of an expression": lambda N: N * 1.5,
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                expression(wrong, known)
        with self.assertRaises(smemtune.InputError):
            bool(Expression("N"))

    def test_a_definition_is_compared_with(self):
        run = smemtune.tune(twice(definition="out[i] = 2 * x[i]"), device="cpu", progress=False)
        self.assertEqual(run.best["compared_with"], "definition")
        self.assertEqual(run.evaluated, 4)

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_a_reference_in_python_is_compared_with_element_by_element(self):
        kernel = twice(name="by_reference", entry="twice<THREADS, ITEMS>",
                       reference=lambda x, factor: factor * x)
        run = smemtune.tune(kernel, device="cpu", progress=False)
        self.assertEqual(run.best["compared_with"], "expected file")
        self.assertEqual(run.best["compared"][0]["compared"], 4096)
        chosen = smemtune.select(kernel, "cpu", N=4096)
        self.assertEqual(chosen.match, "exact")
        self.assertFalse(chosen.edited)

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_a_kernel_that_differs_from_its_reference_is_refused(self):
        def off_by_one_element(x):
            answer = 2 * x
            answer[1234] += 1
            return answer

        with self.assertRaisesRegex(smemtune.Error, "1234"):
            smemtune.tune(twice(name="wrong", reference=off_by_one_element), device="cpu",
                          progress=False)

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_the_second_set_of_data_is_held_against_the_reference(self):
        seen = []

        def reference(x, factor):
            seen.append(x)
            return factor * x

        # Right for all that uniform(-1, 1) gives in practice, and wrong near 0.
        kernel = twice(
            reference=reference,
            parameters={"THREADS": [64], "ITEMS": [1]},
        )
        kernel.source = kernel.source.replace(
            "factor * x[i];", "fabsf(x[i]) < 3e-7f ? 1.0f : factor * x[i];")
        with self.assertRaisesRegex(smemtune.NothingWorked, "second seed"):
            smemtune.tune(kernel, device="cpu", progress=False)
        first, second = seen
        self.assertGreater(abs(first).min(), 1e-6)
        self.assertLess(abs(second).min(), 3e-7)
        self.assertTrue((second < 0).any() and (second > 0).any() and abs(second).max() <= 1)

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_ranges_on_one_side_are_spread_from_their_nearest_end(self):
        random = numpy.random.default_rng(1)
        values = smemtune._tunable._spread(numpy, random, 2.0, 10.0, (1000,))
        self.assertTrue((values >= 2).all() and (values <= 10).all() and values.min() < 2.001)
        values = smemtune._tunable._spread(numpy, random, -8.0, -1.0, (1000,))
        self.assertTrue((values >= -8).all() and (values <= -1).all() and values.max() > -1.001)

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_an_edited_reference_has_its_own_answers(self):
        def doubled(x):
            return 2 * x

        one = twice(reference=doubled).space_file({"N": 4096})
        other = twice(reference=lambda x: 3 * x).space_file({"N": 4096})
        self.assertNotEqual(one, other)
        self.assertEqual(one, twice(reference=doubled).space_file({"N": 4096}))

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_references_that_do_not_fit_are_named(self):
        for words, changed in {
            r"shape \(1,\)": {"reference": lambda x: x[:1]},
            "does not return out": {"reference": lambda x: {"other": x}},
            "takes y": {"reference": lambda y: y},
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                twice(**changed).space_file({"N": 4096})
        with self.assertRaisesRegex(smemtune.InputError, "NumPy has no type"):
            twice(arguments=[Input("x", "__nv_bfloat16", "N")], reference=lambda x: x)
        with self.assertRaisesRegex(smemtune.InputError, "a problem has N"):
            twice(reference=lambda x: x).space_file({"M": 1})

    def test_decorates_a_function_with_the_source(self):
        @smemtune.tunable(
            arguments=[Output("out", "int", "N")],
            parameters={"THREADS": [32, 64]},
            problems=[{"N": 64}],
            block="THREADS",
            grid=lambda N, THREADS: ceil_div(N, THREADS),
            definition="out[i] = i",
        )
        def count():
            """__global__ void count(int* out) {
                 const int i = blockIdx.x * THREADS + threadIdx.x;
                 out[i] = i;
               }"""

        self.assertEqual(smemtune.tune(count, device="cpu", progress=False).evaluated, 2)
        self.assertEqual(smemtune.select(count, "cpu", N=64).match, "exact")


def numpy_or(number):
    """The number as a scalar of NumPy where it is there."""
    return number if numpy is None else numpy.float32(number)


class Interface:
    """An array that only has the array interface."""

    def __init__(self, shape, typestr, strides=None, address=0x1000):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "strides": strides, "data": (address, False),
            "version": 3,
        }


class Arrays(unittest.TestCase):
    """How arrays are checked, without launching anything."""

    def setUp(self):
        kernel = type("K", (), {})()
        kernel.gpu = 0
        kernel.selection = smemtune.select(EXAMPLE, H200, **ON_CPU)
        self.arguments = kernel.selection.arguments
        self.slot = _Slot(self.arguments[0], 0, kernel)

    def address(self, array):
        return self.slot.reader(array)(array)

    def test_the_array_interface_is_held_against_the_space(self):
        self.assertEqual(self.address(Interface((65536,), "<f4")), 0x1000)
        self.assertEqual(self.address(Interface((65536,), "<f4", (4,))), 0x1000)
        for words, wrong in {
            "<f8": Interface((65536,), "<f8"),
            r"\(65535,\)": Interface((65535,), "<f4"),
            r"\(256, 256\)": Interface((256, 256), "<f4"),
            "other strides": Interface((65536,), "<f4", (8,)),
            "which is no array on a GPU": [1.0],
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                self.address(wrong)

    @unittest.skipIf(numpy is None or not hasattr(numpy.ndarray, "__dlpack__"), "no DLPack")
    def test_dlpack_of_the_host_is_refused(self):
        with self.assertRaisesRegex(smemtune.InputError, "on device 1:0 of DLPack"):
            self.address(numpy.zeros(65536, numpy.float32))

    def test_contiguous_is_row_major(self):
        self.assertTrue(_is_contiguous((2, 3), (3, 1), 1))
        self.assertTrue(_is_contiguous((2, 1, 3), (3, 77, 1), 1))
        self.assertFalse(_is_contiguous((2, 3), (1, 2), 1))

    def test_scalars_become_the_bytes_of_their_type(self):
        factor, n = self.arguments[2:]
        self.assertEqual(scalar_bytes(factor, 3), struct.pack("f", 3))
        self.assertEqual(scalar_bytes(n, 7), struct.pack("i", 7))
        for argument, wrong in ((factor, "x"), (n, 2.5), (n, 1 << 40), (n, b"1")):
            with self.assertRaisesRegex(smemtune.InputError, argument.name):
                scalar_bytes(argument, wrong)

    def test_bfloat16_is_rounded_to_the_nearest(self):
        argument = smemtune.Argument("a", "__nv_bfloat16", "scalar", "global", (), 2, None)
        for value, bits in ((1.0, 0x3F80), (1.00390625, 0x3F80), (1.01171875, 0x3F82),
                            (float("inf"), 0x7F80), (-2.0, 0xC000)):
            self.assertEqual(scalar_bytes(argument, value), struct.pack("<H", bits))

    def test_a_call_passes_what_it_is_given(self):
        kernel = smemtune.Kernel.__new__(smemtune.Kernel)
        kernel.selection = smemtune.select(EXAMPLE, H200, **ON_CPU)
        kernel.gpu, kernel._pointer = 0, None
        kernel._prepare()
        seen = []

        def launch(_, pointers, count, stream):
            layout = zip((ctypes.c_void_p * 4).from_address(pointers), (8, 8, 4, 4))
            bytes_of = [ctypes.string_at(at, size) for at, size in layout]
            seen.append((*struct.unpack("<QQfi", b"".join(bytes_of)), count, stream))
            return 0

        kernel._launch = launch
        x, out = (Interface((65536,), "<f4", address=at) for at in (0x1000, 0x2000))
        usual = (0x1000, 0x2000, 2.5, 65536, 4, 0)
        kernel(x, out)
        self.assertEqual(seen.pop(), usual)
        kernel(x, out=out, factor=numpy_or(3), n=True, stream=77)
        self.assertEqual(seen.pop(), (0x1000, 0x2000, 3.0, 1, 4, 77))
        kernel(in_=x, out=out, factor=struct.pack("f", 4))
        self.assertEqual(seen.pop(), (0x1000, 0x2000, 4.0, 65536, 4, 0))
        for words, given, named in (
            ("factor is a scalar of type float, not 1e\\+300", (x, out, 1e300), {}),
            ("n is a scalar of type int, not 2.5", (x, out, 1.0, 2.5), {}),
            ("n is a scalar of type int, not 4294967296", (x, out, 1.0, 1 << 32), {}),
            ("the argument out is not given", (x,), {"factor": 1}),
            ("no argument facto; it has in, out, factor, n", (x, out), {"facto": 1}),
            ("out is given twice", (x, out), {"out": out}),
            ("takes 4 arguments, 5 are given", (x, out, 1.0, 1, 1), {}),
        ):
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                kernel(*given, **named)
        kernel(x, out)
        self.assertEqual(seen, [usual])

    def test_a_constant_that_is_left_out_keeps_its_contents(self):
        problem = json.loads((ROOT / "configs" / "convolution.json").read_text())["problems"][0]
        kernel = smemtune.Kernel.__new__(smemtune.Kernel)
        kernel.selection = smemtune.select(
            "convolution", H200, configuration={}, kernel="tiled", **problem)
        kernel.gpu, kernel._pointer = 0, None
        kernel._prepare()
        missing = []

        def launch(_, pointers, count, stream):
            if isinstance(pointers, int):
                pointers = (ctypes.c_void_p * count).from_address(pointers)
            missing.append([one.name for one, at in zip(kernel.arguments, pointers) if not at])
            return 0

        kernel._launch = launch
        arrays = {one.name: Interface(one.shape, "<f4") for one in kernel.arguments if one.shape}
        constants = [one.name for one in kernel.arguments if one.memory == "constant"]
        for left_out in ([], constants, constants, []):
            kernel(**{name: one for name, one in arrays.items() if name not in left_out})
            self.assertEqual(missing.pop(), left_out)

    def test_a_kernel_needs_a_gpu(self):
        try:
            smemtune._library.find_gpu(0)
        except smemtune.UnavailableError as error:
            with self.assertRaises(smemtune.UnavailableError) as raised:
                smemtune.Kernel(EXAMPLE, **ON_CPU)
            self.assertEqual(str(raised.exception), str(error))
        with self.assertRaises(smemtune.Error):
            smemtune.Kernel(EXAMPLE, "cpu", **ON_CPU)


class NoTorch:
    """The part of PyTorch that an operator needs until it is called."""

    float32 = "float32"

    class cuda:
        @staticmethod
        def is_available():
            return False

    @staticmethod
    def device(name, index=0):
        return f"{name}:{index}"

    @staticmethod
    def empty(shape, dtype, device):
        return (tuple(shape), dtype, device)


class Operators(unittest.TestCase):
    def test_names_that_pytorch_reserves_have_a_line_behind_them(self):
        operator = smemtune._torch._Operator(NoTorch, EXAMPLE, lambda x: {"N": 5, "T": "float"}, {})
        self.assertEqual(operator.schema, "(Tensor in_, float? factor=None) -> Tensor")
        x = self.tensor(0)
        self.assertEqual(operator.fake(x, 2.0), ((5,), "float32", x.device))

    def test_outputs_are_planned_for_the_gpu_that_runs(self):
        operator = smemtune._torch._Operator(NoTorch, EXAMPLE, lambda x: {"N": 5, "T": "float"}, {})
        planned = smemtune.select(EXAMPLE, H200, N=5, T="float")
        x = self.tensor(1)
        with unittest.mock.patch.object(NoTorch.cuda, "is_available", lambda: True), \
                unittest.mock.patch("smemtune._torch.select", return_value=planned) as selected:
            operator.fake(x)
        self.assertEqual(selected.call_args[0], (EXAMPLE, 1))

    def tensor(self, gpu):
        return types.SimpleNamespace(device=types.SimpleNamespace(type="cuda", index=gpu))

    def test_scratch_is_no_argument(self):
        operator = smemtune._torch._Operator(
            NoTorch, "gemm", {"M": 64, "N": 4096, "K": 4096, "T": "float"}, {"kernel": "stream_k"})
        self.assertEqual(operator.schema, "(Tensor a, Tensor b) -> Tensor")


@unittest.skipIf(numpy is None, "no NumPy")
class Examples(unittest.TestCase):
    def test_softmax_runs(self):
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "python" / "softmax.py"],
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("compared with: expected file", done.stdout)

    def test_what_pages_say_runs(self):
        page = (ROOT / "docs" / "coming_from.md").read_text()
        code = next(block for block in page.split("```python\n")[1:] if "tunable(" in block)
        file = pathlib.Path(_FOLDER.name) / "scale.cu"
        file.write_text(
            """__global__ void scale(const float* x, float* out, float factor, int n) {
                 for (int item = 0; item < ITEMS; ++item) {
                   const int i = (blockIdx.x * ITEMS + item) * THREADS + threadIdx.x;
                   if (i < n) out[i] = factor * x[i];
                 }
               }""")
        code = code.split("```")[0].replace('open("scale.cu")', f"open({str(file)!r})")
        code = code.replace("smemtune.tune(scale)", "smemtune.tune(scale, device='cpu')")
        names = {"n": 4096}
        exec(code, names)
        self.assertEqual(names["run"].best["compared_with"], "expected file")
        page = (ROOT / "docs" / "python.md").read_text()
        code = next(block for block in page.split("```python\n")[1:] if "@smemtune.tunable" in block)
        code = code.split("smemtune.Kernel(")[0]
        code = code.replace("smemtune.tune(twice)", "run = smemtune.tune(twice, device='cpu')")
        names = {"smemtune": smemtune}
        exec(code, names)
        self.assertEqual(names["run"].best["compared_with"], "expected file")

    def test_the_notebook_runs_in_jupyter(self):
        try:
            import ipykernel  # noqa: F401
            import nbclient
            import nbformat
        except ImportError as error:
            self.skipTest(f"no {error.name}")
        file = ROOT / "examples" / "python" / "tuning.ipynb"
        notebook = nbformat.read(file, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            environment = {"JUPYTER_RUNTIME_DIR": folder, "IPYTHONDIR": folder,
                           "SMEMTUNE_DB": f"{folder}/results.sqlite"}
            kept = {name: os.environ.get(name) for name in environment}
            os.environ.update(environment)
            try:
                nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
            finally:
                for name, value in kept.items():
                    os.environ.pop(name) if value is None else os.environ.update({name: value})
        outputs = [json.dumps(cell.get("outputs", [])) for cell in notebook["cells"]]
        self.assertIn("expected file", outputs[3])
        # The progress is one line below the cell, which the last one took the place of.
        self.assertIn("9 of 9", outputs[3])
        self.assertNotIn("stderr", outputs[3])
        self.assertIn("saxpy<", outputs[7])

    def test_the_notebook_runs(self):
        notebook = json.loads((ROOT / "examples" / "python" / "tuning.ipynb").read_text())
        names = {"__name__": "__main__"}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), "notebook", "exec"), names)
        self.assertEqual(names["run"].best["compared_with"], "expected file")
        self.assertEqual(names["best"].match, "exact")
        self.assertEqual(names["best"].configuration, names["run"].best["configuration"])


class Package(unittest.TestCase):
    def test_versions_agree(self):
        self.assertEqual(smemtune._library.library().smemtune_version().decode(),
                         smemtune.__version__)
        said = subprocess.run([smemtune._places.program(), "--version"], capture_output=True,
                              text=True, check=True)
        self.assertIn(smemtune.__version__, said.stdout)

    def test_type_hints_hold(self):
        mypy = shutil.which("mypy")
        if mypy is None:
            self.skipTest("no mypy")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [mypy, "--python-version", "3.9", "--ignore-missing-imports", "--cache-dir", folder,
                 "-p", "smemtune"], cwd=ROOT / "python", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_everything_public_is_documented(self):
        for name in smemtune.__all__:
            self.assertTrue(getattr(smemtune, name).__doc__, name)

    def test_a_missing_library_is_named(self):
        code = "import smemtune; smemtune.select('gemm', ('x', 90))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=dict(os.environ, SMEMTUNE_LIBRARY="/nowhere/lib.so",
                     PYTHONPATH=os.pathsep.join(sys.path)),
            capture_output=True, text=True)
        self.assertIn("UnavailableError: /nowhere/lib.so", done.stderr)


def tearDownModule():
    _FOLDER.cleanup()


if __name__ == "__main__":
    unittest.main()
