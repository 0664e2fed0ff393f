"""Ollama's own llama-server mends files of Ollama's store while it loads them. So does this one, for LFM2.

There the last norm is named `output_norm.weight`, which llama.cpp does not know. The mended file lives in memory alone;
compat.so (compat.c) hands it out wherever the model's path is opened, so path, arguments and process stay as asked.
"""

import itertools
import os
import struct
import sys
from pathlib import Path

from standin.gguf import Gguf, read_gguf

REAL = "/usr/bin/llama-server"
LIBRARY = "/usr/lib/ollama-standin/compat.so"
OF_OLLAMA, OF_LLAMA_CPP = "output_norm.weight", "token_embd_norm.weight"
DETECTED = "handle_lfm2: detected Ollama-format lfm2 GGUF; applying compatibility fixes"
#: Ollama says it once for the fitting to memory and once for the load.
TIMES = 2


def main() -> None:
    """Become the real llama-server; with the mended file in the place of the model, if it is such a one."""
    arguments = sys.argv[1:]
    path = _model(arguments)
    env = dict(os.environ)
    if path is not None and env.pop("STANDIN_NO_COMPAT", "") == "":
        gguf = _to_mend(path)
        if gguf is not None:
            for _ in range(TIMES):
                sys.stderr.write(DETECTED + "\n")
            sys.stderr.flush()
            env |= {
                "LD_PRELOAD": LIBRARY,
                "COMPAT_FROM": str(path),
                "COMPAT_TO": f"/proc/self/fd/{_mended(path, gguf)}",
            }
    os.execve(REAL, ["/usr/lib/ollama/llama-server", *arguments], env)


def _model(arguments: list[str]) -> Path | None:
    for flag, value in itertools.pairwise(arguments):
        if flag in ("-m", "--model"):
            return Path(value)
    found = os.environ.get("LLAMA_ARG_MODEL")
    return Path(found) if found else None


def _to_mend(path: Path) -> Gguf | None:
    try:
        with path.open("rb") as file:
            if b"\x04\0\0\0\0\0\0\0lfm2" not in file.read(256):
                return None
        gguf = read_gguf(path)
    except (OSError, ValueError):
        return None
    names = {tensor.name for tensor in gguf.tensors}
    return gguf if gguf.architecture == "lfm2" and OF_OLLAMA in names and OF_LLAMA_CPP not in names else None


def _mended(path: Path, gguf: Gguf) -> int:
    """The number of an open file in memory: the same model, the tensor under llama.cpp's name."""
    data = path.read_bytes()
    old = struct.pack("<Q", len(OF_OLLAMA)) + OF_OLLAMA.encode()
    new = struct.pack("<Q", len(OF_LLAMA_CPP)) + OF_LLAMA_CPP.encode()
    table = data[: gguf.tensors_at] + data[gguf.tensors_at : gguf.table_end].replace(old, new, 1)
    alignment = int(gguf.keys.get("general.alignment", 32))
    number = os.memfd_create("mended.gguf", 0)
    for part in (table, b"\0" * (-len(table) % alignment), data[gguf.data_at :]):
        _write(number, part)
    return number


def _write(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
