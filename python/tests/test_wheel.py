"""Tests of the wheel, in a bare virtual environment without a network:
python3 python/tests/test_wheel.py BUILD, where BUILD is the folder of a build."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_BYTES = 25_000_000

USE = """
import os, sys
import smemtune
assert smemtune.__file__.startswith(sys.prefix), smemtune.__file__
assert "numpy" not in sys.modules
run = smemtune.tune(sys.argv[1], device="cpu", max_evaluations=2, progress=False)
chosen = smemtune.select(sys.argv[1], "cpu", N=65536, T="float")
assert chosen.match == "exact" and chosen.configuration == run.best["configuration"], chosen
shipped = smemtune.select("gemm", ("NVIDIA H200", 90), M=4096, N=4096, K=4096, T="float")
assert shipped.match == "exact" and shipped.launches[0].grid[0] > 0, shipped
assert len(smemtune.results()) >= 2
mapped = open("/proc/self/maps").read()
for name in ("libsmemtune_c", "libsqlite3"):
    paths = {line.split()[-1] for line in mapped.splitlines() if name in line}
    assert paths and all(path.startswith(sys.prefix) for path in paths), paths
print("used", smemtune.__version__)
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = tempfile.TemporaryDirectory(prefix="smemtune-wheel-test-")
        cls.folder = pathlib.Path(cls.own.name)
        # Nothing of the machine's set-up but where its compilers are.
        cls.environment = {"PATH": "/usr/bin:/bin", "HOME": cls.own.name, "LC_ALL": "C.UTF-8",
                           "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        cls.run_in(sys.executable, ROOT / "python" / "smemtune_build.py", "--build", BUILD,
                   "--output", cls.folder / "dist")
        cls.wheel = next((cls.folder / "dist").glob("*.whl"))

    @classmethod
    def tearDownClass(cls):
        cls.own.cleanup()

    @classmethod
    def run_in(cls, *words):
        done = subprocess.run([str(word) for word in words], env=cls.environment, cwd=cls.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}")
        return done.stdout

    def environment_with(self, name, *install):
        venv = self.folder / name
        self.run_in(sys.executable, "-m", "venv", venv)
        self.run_in(venv / "bin" / "python", "-m", "pip", "install", "--no-index", *install)
        return venv

    def use(self, venv):
        space = self.folder / "scale.json"
        for file in ("scale.json", "scale.cu"):
            shutil.copy(ROOT / "examples" / file, self.folder)
        self.assertIn("used", self.run_in(venv / "bin" / "python", "-c", USE, space))
        self.assertIn("smemtune", self.run_in(venv / "bin" / "smemtune", "--version"))
        self.assertIn("register_tiled", self.run_in(venv / "bin" / "smemtune", "space", "gemm"))

    def test_works_in_a_bare_environment(self):
        venv = self.environment_with("bare", self.wheel)
        self.use(venv)
        self.run_in(venv / "bin" / "python", "-m", "pip", "uninstall", "-y", "smemtune")
        left = [path for path in venv.rglob("*smemtune*") if "__pycache__" not in path.parts]
        self.assertEqual(left, [])

    def test_pip_installs_the_folder(self):
        venv = self.environment_with("folder", "--config-settings", f"build={BUILD}",
                                     ROOT / "python")
        self.assertIn("smemtune", self.run_in(venv / "bin" / "smemtune", "--version"))

    def test_is_small_and_the_same_each_time(self):
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)
        self.run_in(sys.executable, ROOT / "python" / "smemtune_build.py", "--build", BUILD,
                    "--output", self.folder / "again")
        again = self.folder / "again" / self.wheel.name
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())

    def test_links_only_what_its_tag_allows(self):
        minor = int(re.search(r"manylinux_2_(\d+)_", self.wheel.name).group(1))
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            archive.extractall(self.folder / "unpacked")
        own = {os.path.basename(name) for name in names}
        for name in names:
            path = self.folder / "unpacked" / name
            if path.is_dir() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            linked = re.findall(r"NEEDED\).*\[(.+)\]", self.run_in("readelf", "-d", path))
            for library in linked:
                self.assertTrue(
                    library in own or re.match(
                        r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux-.*)\.so",
                        library), f"{name} links {library}")
            symbols = self.run_in("objdump", "-T", path)
            for found in re.findall(r"GLIBC_2\.(\d+)", symbols):
                self.assertLessEqual(int(found), minor, name)

    def test_has_what_type_checkers_and_people_need(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
        for wanted in ("smemtune/py.typed", "smemtune/_bundled/share/smemtune/configs/gemm.json",
                       "smemtune-0.2.0.dist-info/licenses/LICENSE",
                       "smemtune-0.2.0.dist-info/RECORD"):
            self.assertIn(re.sub(r"0\.2\.0", self.wheel.name.split("-")[1], wanted), names)
        self.assertFalse([name for name in names if "test" in name.split("/")[-1]])


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
