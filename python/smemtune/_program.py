"""The program smemtune, run as a command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _errors, _places


def main() -> None:
    """The console script `smemtune`: becomes the program."""
    try:
        path = _places.program()
    except _errors.UnavailableError as error:
        sys.exit(str(error))
    os.execve(path, ["smemtune", *sys.argv[1:]], environment())


def environment() -> Dict[str, str]:
    """The environment of the program, in which it finds spaces and NVRTC as this package does."""
    result = dict(os.environ)
    folder = _places.share()
    if folder is not None:
        result.setdefault("SMEMTUNE_SHARE", str(folder))
    nvrtc = _places.nvrtc()
    if nvrtc is not None:
        folders = [os.path.dirname(nvrtc), result.get("LD_LIBRARY_PATH", "")]
        result["LD_LIBRARY_PATH"] = ":".join(one for one in folders if one)
    return result


def words_of(stderr: str) -> str:
    """What the program says is wrong: its lines without its own name before them."""
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    return "\n".join(line[len("smemtune: ") :] if line.startswith("smemtune: ") else line
                     for line in lines)


def ask(arguments: Sequence[str]) -> Any:
    """Runs a command that prints JSON. Raises the exception for its exit status."""
    done = subprocess.run(
        [_places.program(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode != 0:
        raise _errors.BY_STATUS.get(done.returncode, _errors.Error)(words_of(done.stderr))
    return json.loads(done.stdout)


def _notebook_display() -> Optional[Callable[[str], None]]:
    """A function that shows a line in place of the one before; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    handle = display({"text/plain": "smemtune"}, raw=True, display_id=True)
    return lambda line: handle.update({"text/plain": line}, raw=True)


def run(
    arguments: List[str], progress: Any
) -> Tuple[int, str, str]:
    """Runs a command that takes long. Returns its status, its output and its messages.

    progress: True for the terminal or the notebook, False for none, or a function that is called
    with each line of progress. An interrupt is handed on to the program, which then ends with what
    it has; its status is 130.
    """
    show = progress if callable(progress) else _notebook_display() if progress else None
    inherits = bool(progress) and show is None and _is_terminal()
    process = subprocess.Popen(
        [_places.program(), *arguments],
        stdout=subprocess.PIPE,
        stderr=None if inherits else subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
        encoding="utf-8",
        errors="replace",
    )
    if not callable(show) and progress and not inherits:
        show = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
    messages: List[str] = []

    def follow(stderr: IO[str]) -> None:
        for line in stderr:
            messages.append(line.rstrip("\n"))
            if show:
                show(messages[-1])

    output: List[str] = []
    threads = []
    if process.stderr is not None:
        threads.append(threading.Thread(target=follow, args=(process.stderr,), daemon=True))
    if process.stdout is not None:
        read = process.stdout.read
        threads.append(threading.Thread(target=lambda: output.append(read()), daemon=True))
    for thread in threads:
        thread.start()
    interrupts = 0
    while True:
        try:
            process.wait()
            break
        except KeyboardInterrupt:
            interrupts += 1
            # In a terminal the program has had the same signal; a second one ends it at once.
            if interrupts == 1 and not inherits:
                process.send_signal(signal.SIGINT)
            elif interrupts > 1:
                process.kill()
    for thread in threads:
        thread.join()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return process.returncode, "".join(output), "\n".join(messages)


def _is_terminal() -> bool:
    try:
        return os.isatty(2) and sys.stderr.fileno() == 2
    except (OSError, ValueError, AttributeError):
        return False  # Standard error is captured.
