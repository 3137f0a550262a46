"""Tests of the module on a GPU, with PyTorch and CuPy where they are there:
python3 python/tests/test_gpu.py -v"""

import os
import pathlib
import tempfile
import threading
import unittest

_FOLDER = tempfile.TemporaryDirectory(prefix="smemtune-python-test-")
EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "scale.json"
os.environ["SMEMTUNE_DB"] = os.path.join(_FOLDER.name, "results.sqlite")
os.environ["XDG_CACHE_HOME"] = os.path.join(_FOLDER.name, "cache")

import smemtune  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None
try:
    smemtune._library.find_gpu(0)
    MISSING = None
except smemtune.UnavailableError as error:
    MISSING = str(error)

N = 1 << 20
MOST_OVERHEAD_US = 5  # More than CuPy's RawKernel takes for a call.


def setUpModule():
    if MISSING is not None:
        raise unittest.SkipTest(MISSING)


def tearDownModule():
    _FOLDER.cleanup()


def scale(n=N, **changed):
    return smemtune.Kernel(EXAMPLE, N=n, T="float", **changed)


class Interface:
    """An array that only has the array interface."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class Packed:
    """An array that only has DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@unittest.skipIf(torch is None, "no PyTorch")
class WithTorch(unittest.TestCase):
    def setUp(self):
        self.x = torch.randn(N, device="cuda")
        self.out = torch.zeros(N, device="cuda")

    def check(self, factor):
        torch.cuda.synchronize()
        self.assertTrue(torch.equal(self.out, factor * self.x))

    def test_computes(self):
        kernel = scale()
        kernel(self.x, self.out)
        self.check(2.5)  # The space file's factor.
        kernel(self.x, self.out, 3.0)
        self.check(3.0)
        kernel(self.x, out=self.out, factor=4)
        self.check(4.0)

    def test_takes_the_array_interface_and_dlpack(self):
        kernel = scale()
        for number, wrap in enumerate((Interface, Packed)):
            torch.cuda.synchronize()
            kernel(wrap(self.x), wrap(self.out), number + 2.0)
            self.check(number + 2.0)

    def test_uses_the_current_stream(self):
        kernel = scale()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            self.x.fill_(3.0)
            kernel(self.x, self.out, 2.0)
        stream.synchronize()
        self.assertTrue(bool((self.out == 6.0).all()))

    def test_takes_a_stream(self):
        kernel = scale()
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        kernel(self.x, self.out, 7.0, stream=stream)
        stream.synchronize()
        self.check(7.0)
        kernel(self.x, self.out, 8.0, stream=stream.cuda_stream)
        stream.synchronize()
        self.check(8.0)

    def test_is_captured_in_graphs(self):
        kernel = scale()
        kernel(self.x, self.out, 2.0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(self.x, self.out, 5.0)
        self.x.fill_(2.0)
        graph.replay()
        self.check(5.0)

    def test_refuses_other_arrays(self):
        kernel = scale()
        for words, wrong in {
            "float64": self.x.double(),
            r"\(1048575,\)": self.x[1:],
            "with other strides": torch.zeros(2 * N, device="cuda")[::2],
            "on cpu": self.x.cpu(),
            "no array on a GPU": 5.0,
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                kernel(wrong, self.out)
        with self.assertRaisesRegex(smemtune.InputError, "out is not given"):
            kernel(self.x)
        with self.assertRaisesRegex(smemtune.InputError, "no argument facto"):
            kernel(self.x, self.out, facto=1)
        with self.assertRaisesRegex(smemtune.InputError, "takes 4 arguments"):
            kernel(self.x, self.out, 1.0, N, 2)

    def test_threads_share_a_kernel(self):
        kernel = scale()
        outs = [torch.zeros(N, device="cuda") for _ in range(4)]
        torch.cuda.synchronize()

        def work(number):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(200):
                    kernel(self.x, outs[number], float(number + 1))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(outs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
        for number, out in enumerate(outs):
            self.assertTrue(torch.equal(out, (number + 1) * self.x))

    def test_gemm_of_the_shipped_results(self):
        size = 512
        a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
        kernel = smemtune.Kernel("gemm", M=size, N=size, K=size, T="float")
        given = {}
        for argument in kernel.arguments:
            if argument.role in ("output", "inout", "scratch"):
                dtype = getattr(torch, smemtune._kernel._TYPES[argument.type][0])
                given[argument.name] = torch.zeros(argument.shape, dtype=dtype, device="cuda")
        kernel(a=a, b=b, **given)
        torch.cuda.synchronize()
        wanted = (a.double() @ b.double()).float()
        torch.testing.assert_close(given["c"], wanted, rtol=1e-4, atol=1e-3)

    def test_leaves_the_way_of_loading_modules(self):
        self.assertNotEqual(os.environ.get("CUDA_MODULE_LOADING"), "EAGER")

    def test_is_an_operator(self):
        if not hasattr(torch.library, "custom_op"):
            self.skipTest("this PyTorch has no torch.library.custom_op")
        op = smemtune.torch_op(
            "smemtune_test::scale", EXAMPLE, lambda x: {"N": x.numel(), "T": "float"}
        )
        self.assertTrue(torch.equal(op(self.x), 2.5 * self.x))
        self.assertTrue(torch.equal(op(self.x, 3.0), 3.0 * self.x))
        self.assertTrue(torch.equal(op(self.x[:1000].contiguous(), 2.0), 2.0 * self.x[:1000]))
        torch.library.opcheck(op, (self.x, 2.0), test_utils=("test_schema", "test_faketensor"))

        def both(x):
            return op(x, 2.0) + 1

        compiled = torch.compile(both, fullgraph=True)
        self.assertTrue(torch.equal(compiled(self.x), both(self.x)))

    def test_an_operator_has_its_own_scratch(self):
        if not hasattr(torch.library, "custom_op"):
            self.skipTest("this PyTorch has no torch.library.custom_op")
        op = smemtune.torch_op("smemtune_test::gemm", "gemm", lambda a, b: {
            "M": a.shape[0], "N": b.shape[1], "K": a.shape[1], "T": "float"})
        for rows, inner, columns in ((64, 4096, 4096), (512, 512, 512)):
            a = torch.randn(rows, inner, device="cuda")
            b = torch.randn(inner, columns, device="cuda")
            wanted = (a.double() @ b.double()).float()
            torch.testing.assert_close(op(a, b), wanted, rtol=1e-4, atol=1e-2)
        compiled = torch.compile(lambda a, b: 2 * op(a, b), fullgraph=True)
        torch.testing.assert_close(compiled(a, b), 2 * wanted, rtol=1e-4, atol=1e-2)

    def test_a_reference_on_torch_tensors(self):
        kernel = smemtune.tunable(
            """__global__ void soft(const float* x, float* out, int rows, int columns) {
                 const int row = blockIdx.x * ROWS + threadIdx.y;
                 if (row >= rows) return;
                 float most = -INFINITY, sum = 0;
                 for (int i = threadIdx.x; i < columns; i += 32)
                   most = fmaxf(most, x[row * columns + i]);
                 for (int s = 16; s; s /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
                 for (int i = threadIdx.x; i < columns; i += 32)
                   sum += expf(x[row * columns + i] - most);
                 for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
                 for (int i = threadIdx.x; i < columns; i += 32)
                   out[row * columns + i] = expf(x[row * columns + i] - most) / sum;
               }""",
            name="soft",
            arguments=[
                smemtune.Input("x", "float", "ROW_COUNT", "COLUMNS", init="normal(0, 1)"),
                smemtune.Output("out", "float", "ROW_COUNT", "COLUMNS"),
                smemtune.Scalar("rows", "int", "ROW_COUNT"),
                smemtune.Scalar("columns", "int", "COLUMNS"),
            ],
            parameters={"ROWS": [1, 2, 4, 8]},
            problems=[{"ROW_COUNT": 1000, "COLUMNS": 777}],
            block=[32, "ROWS"],
            grid=lambda ROW_COUNT, ROWS: smemtune.ceil_div(ROW_COUNT, ROWS),
            reference=lambda x: torch.softmax(x, dim=1),
            arrays="torch",
            relative=1e-5,
        )
        run = smemtune.tune(kernel, progress=False)
        self.assertEqual(run.best["compared_with"], "expected file")
        best = smemtune.Kernel(kernel, ROW_COUNT=1000, COLUMNS=777)
        self.assertEqual(best.selection.match, "exact")
        x = torch.randn(1000, 777, device="cuda")
        out = torch.empty_like(x)
        best(x, out)
        torch.testing.assert_close(out, torch.softmax(x, dim=1))


@unittest.skipIf(cupy is None, "no CuPy")
class WithCupy(unittest.TestCase):
    def test_computes_on_the_current_stream(self):
        kernel = scale()
        x = cupy.arange(N, dtype=cupy.float32)
        out = cupy.zeros_like(x)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True) as stream:
            kernel(x, out, 3.0)
            stream.synchronize()
        self.assertTrue(bool((out == 3 * x).all()))

    def test_refuses_other_arrays(self):
        kernel = scale()
        out = cupy.zeros(N, dtype=cupy.float32)
        for words, wrong in {
            "float64": cupy.zeros(N),
            "with other strides": cupy.zeros(2 * N, dtype=cupy.float32)[::2],
        }.items():
            with self.subTest(words), self.assertRaisesRegex(smemtune.InputError, words):
                kernel(wrong, out)

    def test_a_call_costs_little_more_than_a_raw_kernel(self):
        import call_times

        times = {name: least for name, (least, _) in call_times.measure().items()}
        print("".join(f"\n  {name}: {us:.2f} us" for name, us in times.items()))
        for name, us in times.items():
            if name.startswith("Kernel"):
                self.assertLess(us, times["CuPy RawKernel"] + MOST_OVERHEAD_US, name)


if __name__ == "__main__":
    unittest.main()
