"""Exceptions, with the words of the program and the library."""


class Error(Exception):
    """Anything that fails and is none of the classes below: an error of CUDA, a lack of memory."""


class InputError(Error, ValueError):
    """A file, a name, a number or an array is not what it should be."""


class NothingWorked(Error):
    """No configuration worked, or the reference itself is wrong; the message has its log."""


class StoreError(Error):
    """A results database cannot be used; it is left as it was."""


class UnavailableError(Error, RuntimeError):
    """A GPU, a driver, a compiler or NVRTC is missing or broken."""


class Interrupted(KeyboardInterrupt):
    """A search that was interrupted. `run` is what it had found, None if nothing."""

    def __init__(self, message, run=None):
        super().__init__(message)
        self.run = run


# Exit statuses of the program, which are the library's statuses, too.
BY_STATUS = {2: InputError, 3: NothingWorked, 4: StoreError, 5: UnavailableError}
