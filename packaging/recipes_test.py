"""Tests of the recipes, as far as they go without their servers: python3 packaging/recipes_test.py"""

import json
import pathlib
import re
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# Packages that bootstrap.sh installs to build with, and their names in vcpkg, Spack and conda-forge.
NAMES = {
    "libboost-context-dev": ("boost-context", "boost", "libboost-devel"),
    "libclang-dev": ("llvm", "llvm", "clangdev"),
    "libcli11-dev": ("cli11", "cli11", "cli11"),
    "libsimdjson-dev": ("simdjson", "simdjson", "simdjson"),
    "libsqlite3-dev": ("sqlite3", "sqlite", "libsqlite"),
    "libssl-dev": ("openssl", "openssl", "openssl"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann-json", "nlohmann_json"),
    "zlib1g-dev": ("zlib", "zlib-api", "zlib"),
}
# Packages that come with the recipes' compilers and build systems, or are not needed.
NOT_IN_RECIPES = {"build-essential", "cmake", "ninja-build", "libjs-chart.js"}


def vcpkg():
    manifest = json.loads((HERE / "vcpkg/smemtune/vcpkg.json").read_text(encoding="utf-8"))
    return {one if isinstance(one, str) else one["name"] for one in manifest["dependencies"]}


def spack(cuda):
    """The names of what the recipe depends on and its arguments for CMake, from the recipe as Spack
    runs it, with directives that only note what they are given."""
    names = set()
    package = types.ModuleType("spack.package")

    class CMakePackage:
        def define_from_variant(self, name, variant):
            return f"-D{name}={cuda}"

        def define(self, name, value):
            return f"-D{name}={value}"

    class Spec(dict):
        def satisfies(self, condition):
            return cuda

    CMakePackage.spec = Spec(cuda=types.SimpleNamespace(prefix="/cuda"))
    package.CMakePackage = CMakePackage
    package.depends_on = lambda spec, **rest: names.add(re.match(r"[\w-]+", spec).group())
    for directive in ("license", "version", "variant", "generator"):
        setattr(package, directive, lambda *given, **rest: None)
    package.__all__ = [name for name in vars(package) if not name.startswith("__")]
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    file = HERE / "spack/packages/smemtune/package.py"
    scope = {"__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    return names, scope["Smemtune"]().cmake_args(), scope["Smemtune"]._checkout


def conda():
    """The names under `requirements`. They are on lines of their own, whatever the templates make."""
    text = (HERE / "conda/meta.yaml").read_text(encoding="utf-8")
    block = re.search(r"^requirements:\n((?:  .*\n)+)", text, re.MULTILINE).group(1)
    return set(re.findall(r"^    - ([\w-]+)", block, re.MULTILINE))


class Recipes(unittest.TestCase):
    def test_need_what_bootstrap_installs(self):
        text = (HERE.parent / "bootstrap.sh").read_text(encoding="utf-8")
        listed = re.search(r"^packages=\((.*?)\)", text, re.MULTILINE | re.DOTALL).group(1)
        installed = set(listed.replace("\\", " ").split())
        self.assertEqual(installed - NOT_IN_RECIPES, set(NAMES))
        for number, (recipe, needs) in enumerate(
                {"vcpkg": vcpkg(), "spack": spack(True)[0], "conda": conda()}.items()):
            for package, names in NAMES.items():
                self.assertIn(names[number], needs, f"{recipe} lacks {package}")

    def test_spack_builds_this_checkout_with_and_without_cuda(self):
        _, arguments, checkout = spack(True)
        self.assertEqual(pathlib.Path(checkout), HERE.parent)
        self.assertEqual(arguments, ["-DSMEMTUNE_CUDA=True", "-DSMEMTUNE_TESTS=False",
                                     "-DCUDAToolkit_ROOT=/cuda"])
        self.assertEqual(spack(False)[1], ["-DSMEMTUNE_CUDA=False", "-DSMEMTUNE_TESTS=False"])

    def test_conda_is_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        text = (HERE / "conda/meta.yaml").read_text(encoding="utf-8")
        text = re.sub(r"^\{%.*%\}$", "", text, flags=re.MULTILINE)
        recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", text))
        self.assertEqual((HERE / "conda" / recipe["source"]["path"]).resolve(), HERE.parent)
        self.assertIn("run", recipe["requirements"])


if __name__ == "__main__":
    unittest.main()
