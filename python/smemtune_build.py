#!/usr/bin/env python3
"""Builds the wheel: python3 python/smemtune_build.py [--build FOLDER] [--output FOLDER]

Without --build the program and the library are built in build/wheel first; with it those of an
existing build are taken. Needs CMake, patchelf, binutils and what smemtune itself is built with, and
nothing of Python but its standard library. `pip install ./python` calls build_wheel().

What is linked and not on every Linux (SQLite, OpenSSL, ...) goes into the wheel, as manylinux wants
it; the tag names the oldest glibc that it runs with.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# Libraries linked here that every Linux of a manylinux tag has (PEP 600).
ON_EVERY_LINUX = re.compile(
    r"^(linux-vdso|ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|librt|libpthread|libgcc_s"
    r"|libstdc\+\+)\.so\.\d+$"
)

METADATA = """\
Metadata-Version: 2.1
Name: smemtune
Version: {version}
Summary: Autotuner for shared-memory CUDA kernels
License: MIT
Requires-Python: >=3.9
Provides-Extra: reference
Requires-Dist: numpy; extra == "reference"
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: smemtune_build
Root-Is-Purelib: false
Tag: {tag}
"""


class UnsupportedOperation(Exception):
    """What PEP 517 lets a backend refuse."""


def say(words):
    print(f"smemtune_build: {words}", file=sys.stderr, flush=True)


def run(*words, **options):
    done = subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        **options,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout}")
    return done.stdout


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(smemtune VERSION ([0-9.]+)", text).group(1)


def build():
    """Builds the program and the library. Returns the folder of the build."""
    folder = ROOT / "build" / "wheel"
    configure = [
        "cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSMEMTUNE_TESTS=OFF",
        "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
    ]
    say(f"building in {folder}")
    tried = subprocess.run(
        [str(word) for word in configure], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)
    if tried.returncode != 0:
        if "No CUDA toolkit" not in tried.stdout:
            sys.exit(tried.stdout)
        say("no CUDA toolkit is here: this wheel selects and tunes on the CPU device only")
        run(*configure, "-DSMEMTUNE_CUDA=OFF")
    run("cmake", "--build", folder, "--parallel", os.cpu_count() or 1)
    return folder


def needed(path):
    """The names of the libraries that a file links, with the paths where the loader finds them."""
    found = {}
    for line in run("ldd", path).splitlines():
        match = re.match(r"\s*(\S+) => (\S+) \(0x", line)
        if match:
            found[match.group(1)] = pathlib.Path(match.group(2))
        elif "not found" in line:
            sys.exit(f"{path}: {line.strip()}")
    return found


def direct(path):
    return re.findall(r"NEEDED\).*\[(.+)\]", run("readelf", "-d", path))


def bundle(files, folder):
    """Copies what `files` link and not every Linux has into `folder`, under names of their own, and
    makes the files use these. Returns the copies."""
    wanted = {}
    for file in files:
        for name, path in needed(file).items():
            if not ON_EVERY_LINUX.match(name):
                wanted[name] = path
    folder.mkdir()
    copies = {}
    for name, path in sorted(wanted.items()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        stem, _, rest = name.partition(".so")
        copies[name] = folder / f"{stem}-{digest}.so{rest}"
        shutil.copyfile(path.resolve(), copies[name])
        copies[name].chmod(0o755)
        run("patchelf", "--set-soname", copies[name].name, copies[name])
    for file in [*files, *copies.values()]:
        for name in direct(file):
            if name in copies:
                run("patchelf", "--replace-needed", name, copies[name].name, file)
        origin = os.path.relpath(folder, file.parent)
        run("patchelf", "--set-rpath", "$ORIGIN" if origin == "." else f"$ORIGIN/{origin}", file)
    return {copies[name]: path for name, path in wanted.items()}


def oldest_glibc(files):
    """The minor number of the oldest glibc 2 that has every symbol that the files need."""
    text = "".join(run("objdump", "-T", file) for file in files)
    glibc = max(int(found) for found in re.findall(r"GLIBC_2\.(\d+)", text))
    # libstdc++ of the distributions that a manylinux tag means.
    cxx = max((int(found) for found in re.findall(r"GLIBCXX_3\.4\.(\d+)", text)), default=0)
    if cxx > 30:
        return max(glibc, int(platform.libc_ver()[1].split(".")[1]))
    return max(glibc, 35 if cxx == 30 else 34 if cxx == 29 else 31)


def licences(bundled, folder):
    """Copies the licences of this project and, as far as dpkg knows them, of what is bundled."""
    folder.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    if shutil.which("dpkg-query") is None:
        return
    for path in bundled.values():
        owner = subprocess.run(["dpkg-query", "-S", str(path.resolve())], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        package = owner.stdout.split(":")[0]
        text = pathlib.Path("/usr/share/doc") / package / "copyright"
        if owner.returncode == 0 and text.exists():
            shutil.copyfile(text, folder / f"{package}.txt")


def stage(folder, build_folder):
    """Lays out the contents of the wheel in `folder`. Returns its tag."""
    package = folder / "smemtune"
    shutil.copytree(HERE / "smemtune", package, ignore=shutil.ignore_patterns("__pycache__", "_bundled"))
    with tempfile.TemporaryDirectory() as installed:
        for component in ("Unspecified", "library"):
            run("cmake", "--install", build_folder, "--prefix", installed, "--component", component,
                "--strip")
        here = pathlib.Path(installed)
        bundled = package / "_bundled"
        (bundled / "bin").mkdir(parents=True)
        (bundled / "lib").mkdir()
        program = bundled / "bin" / "smemtune"
        library = bundled / "lib" / "libsmemtune_c.so.0"
        shutil.copy(here / "bin" / "smemtune", program)
        shutil.copy(next(here.glob("lib*/**/libsmemtune_c.so.0")).resolve(), library)
        shutil.copytree(here / "share" / "smemtune", bundled / "share" / "smemtune")
    copies = bundle([program, library], folder / "smemtune.libs")
    info = folder / f"smemtune-{version()}.dist-info"
    licences(copies, info / "licenses")
    tag = (f"py3-none-manylinux_2_{oldest_glibc([program, library, *copies])}"
           f"_{platform.machine()}")
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    (info / "METADATA").write_text(METADATA.format(version=version()) + readme, encoding="utf-8")
    (info / "WHEEL").write_text(WHEEL.format(tag=tag), encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[console_scripts]\nsmemtune = smemtune._program:main\n", encoding="utf-8")
    return tag


def pack(folder, file):
    """Writes the wheel: the same contents give the same bytes."""
    record = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name, content, mode):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)

        info = f"smemtune-{version()}.dist-info"
        paths = [path for path in folder.rglob("*") if path.is_file()]
        # The metadata come last, as PEP 427 recommends.
        for path in sorted(paths, key=lambda path: (info in path.parts, path)):
            name = path.relative_to(folder).as_posix()
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}\n")
            add(name, content, 0o755 if os.access(path, os.X_OK) else 0o644)
        add(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n", 0o644)


def make(output, build_folder):
    for tool in ("cmake", "patchelf", "readelf", "objdump", "ldd"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is needed to build the wheel, and is not here")
    with tempfile.TemporaryDirectory() as folder:
        staged = pathlib.Path(folder) / "wheel"
        staged.mkdir()
        tag = stage(staged, build_folder or build())
        name = f"smemtune-{version()}-{tag}.whl"
        pathlib.Path(output).mkdir(parents=True, exist_ok=True)
        pack(staged, pathlib.Path(output) / name)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. The setting `build` names an existing build."""
    del metadata_directory
    return make(wheel_directory, (config_settings or {}).get("build"))


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517. The sources are the repository."""
    del sdist_directory, config_settings
    raise UnsupportedOperation("there is no source distribution: clone the repository")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="an existing build, such as build/release")
    parser.add_argument("--output", default="dist", help="where the wheel goes [dist]")
    options = parser.parse_args()
    print(pathlib.Path(options.output) / make(options.output, options.build))


if __name__ == "__main__":
    main()
