"""What a container's default filter of system calls lets through on older engines, and must not.

Sockets of the family AF_VSOCK lead out of a virtual machine without any network interface. Newer engines
refuse them; here they are refused everywhere.
"""

from __future__ import annotations

import ctypes
import errno
import struct

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
AF_VSOCK = 40

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EAFNOSUPPORT
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

# By architecture: system calls that name a family, and ones whose family cannot be seen.
CALLS = {
    0xC000003E: ((41, 41 | 0x40000000), ()),  # x86-64 and its x32
    0x40000003: ((359,), (102,)),  # 32-bit x86, whose socketcall hides the family
    0xC00000B7: ((198,), ()),  # arm64
}


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Encode one instruction of a filter."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def program() -> bytes:
    """Build the filter: refuse sockets of one family, allow all else."""
    built = instruction(LOAD, ARCHITECTURE)
    for architecture, (by_family, whole) in CALLS.items():
        block = instruction(LOAD, NUMBER)
        for number in by_family:
            block += instruction(JUMP_IF_EQUAL, number, 0, 4) + instruction(LOAD, FIRST_ARGUMENT)
            block += instruction(JUMP_IF_EQUAL, AF_VSOCK, 0, 1) + instruction(RETURN, REFUSE)
            block += instruction(RETURN, ALLOW)
        for number in whole:
            block += instruction(JUMP_IF_EQUAL, number, 0, 1) + instruction(RETURN, REFUSE)
        block += instruction(RETURN, ALLOW)
        built += instruction(JUMP_IF_EQUAL, architecture, 0, len(block) // 8) + block
    return built + instruction(RETURN, ALLOW)


def install() -> None:
    """Put the filter on this process and all that it will start; it can never be taken off again."""
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")
