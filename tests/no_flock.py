"""Runs a command to which the kernel answers flock with ENOLCK, as on a file system without locks.

python tests/no_flock.py COMMAND…
"""

import ctypes
import errno
import os
import platform
import struct
import sys

import pytest

FLOCK = {"x86_64": 73, "aarch64": 32}  # its number among the system calls
without_flock = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in FLOCK, reason="needs seccomp of Linux on x86-64 or ARM64"
)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # of prctl


def forbid():
    """Install a filter of system calls for this process and all that it starts."""
    steps = [
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 0, 1, FLOCK[platform.machine()]),  # is it flock?
        (0x06, 0, 0, 0x00050000 | errno.ENOLCK),  # then this error
        (0x06, 0, 0, 0x7FFF0000),  # else go on
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, whole):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be installed")


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
