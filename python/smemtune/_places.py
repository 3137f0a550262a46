"""Where program, library, spaces, results and NVRTC are."""

from __future__ import annotations

import glob
import os
import pathlib
import re
import shutil
import sys
from typing import List, Optional

from ._errors import InputError, UnavailableError

BUNDLED = pathlib.Path(__file__).parent / "_bundled"


def program() -> str:
    """The program: $SMEMTUNE_PROGRAM, that of this package, or the one in PATH."""
    given = os.environ.get("SMEMTUNE_PROGRAM")
    if given:
        return given
    bundled = BUNDLED / "bin" / "smemtune"
    if bundled.exists():
        return str(bundled)
    # A script of this package's own may come first in PATH; it starts this module again.
    found = shutil.which("smemtune")
    if found and not _is_script(found):
        return found
    raise UnavailableError(
        "the program smemtune is neither in this package nor in PATH: set SMEMTUNE_PROGRAM"
    )


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def library() -> str:
    """The shared library: $SMEMTUNE_LIBRARY, that of this package, or the system's."""
    given = os.environ.get("SMEMTUNE_LIBRARY")
    if given:
        return given
    bundled = BUNDLED / "lib" / "libsmemtune_c.so.0"
    return str(bundled) if bundled.exists() else "libsmemtune_c.so.0"


def share() -> Optional[pathlib.Path]:
    """The folder that holds configs and kernel_templates; None where the library knows it."""
    given = os.environ.get("SMEMTUNE_SHARE")
    if given:
        return pathlib.Path(given)
    for folder in (
        BUNDLED / "share" / "smemtune",
        pathlib.Path(_resolved_program()).parent.parent / "share" / "smemtune",
    ):
        if (folder / "configs").is_dir():
            return folder
    return None


def _resolved_program() -> str:
    try:
        return os.path.realpath(program())
    except UnavailableError:
        return ""


def database() -> Optional[pathlib.Path]:
    """The user's results: $SMEMTUNE_DB, or the file that the program uses without it."""
    given = os.environ.get("SMEMTUNE_DB")
    if given:
        return pathlib.Path(given)
    data = os.environ.get("XDG_DATA_HOME", "")
    if not data.startswith("/"):
        home = os.environ.get("HOME")
        if not home:
            return None
        data = os.path.join(home, ".local", "share")
    return pathlib.Path(data) / "smemtune" / "smemtune.sqlite"


def cache() -> pathlib.Path:
    """The folder for what this package writes."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(
        os.environ.get("HOME") or "/tmp", ".cache"
    )
    return pathlib.Path(base) / "smemtune" / "python"


def result_files(db=None) -> List[str]:
    """The files that select() asks, the user's own first; empty if there is no such file."""
    own = pathlib.Path(db) if db is not None else database()
    if db is not None and not pathlib.Path(db).exists():
        raise InputError(f"{own}: no such file of results")
    files = [str(own) if own is not None and own.exists() else ""]
    files += [one for one in os.environ.get("SMEMTUNE_SHARED_DB", "").split(":") if one]
    folder = share()
    if os.environ.get("SMEMTUNE_SHIPPED") != "off" and folder is not None:
        shipped = folder / "db" / "shipped"
        if shipped.is_dir():
            files.append(str(shipped))
    return files


def space_file(space) -> str:
    """The file that `space` means: a path, or the name of a space that comes with smemtune."""
    path = pathlib.Path(space)
    if path.exists() and not path.is_dir():
        return str(path)
    folder = share()
    if folder is not None and path.parent == pathlib.Path("."):
        shipped = folder / "configs" / (path.name if path.suffix == ".json" else f"{path.name}.json")
        if shipped.exists():
            return str(shipped)
    where = f", here or in {folder / 'configs'}" if folder is not None else ""
    raise InputError(f"'{space}': there is no such space file{where}")


def nvrtc() -> Optional[str]:
    """$SMEMTUNE_NVRTC, or the newest NVRTC among NVIDIA's wheels of this Python; None: neither."""
    given = os.environ.get("SMEMTUNE_NVRTC")
    if given:
        return given
    found = []
    for folder in sys.path:
        if not folder:
            continue
        for package in ("cu*", "cuda_nvrtc"):
            pattern = os.path.join(glob.escape(folder), "nvidia", package, "lib", "libnvrtc.so.*")
            for path in glob.glob(pattern):
                version = re.search(r"libnvrtc\.so\.(\d+)", path)
                if version:
                    found.append((int(version.group(1)), path))
    return max(found)[1] if found else None


def cpu_name() -> str:
    """The name under which the program keeps results of this machine's CPU device."""
    name = None
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    name = line.split(":", 1)[1].strip()
                    break
    except OSError:
        pass
    if not name:
        name = os.uname().machine
    cores = len(os.sched_getaffinity(0))
    return f"{name}, {cores} core" + ("" if cores == 1 else "s")
