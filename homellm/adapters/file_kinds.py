"""What a file that is no GGUF seems to be, told from its first bytes."""

from __future__ import annotations

#: How many bytes from the start are enough to tell.
SNIFF_BYTES = 512

_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer: the repository was cloned without its large files (git lfs pull)"),
    (b"PK\x03\x04", "a zip archive, perhaps a PyTorch checkpoint"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x80\x02", "a Python pickle, perhaps a PyTorch checkpoint"),
    (b"FUGG", "a GGUF file with its bytes in reverse order"),
    (b"tjgg", "a GGJT file, from before GGUF; convert it, or download a .gguf"),
    (b"fmgg", "a GGMF file, from before GGUF; convert it, or download a .gguf"),
    (b"lmgg", "a GGML file, from before GGUF; convert it, or download a .gguf"),
    (b"algg", "a GGLA adapter, from before GGUF; convert it, or download a .gguf"),
    (b"\x7fELF", "a program"),
)
#: A safetensors file begins with the length of its JSON header in eight bytes.
_LENGTH_BYTES = 8


def kind_of(start: bytes) -> str:
    """A few words for a file that begins with `start`, to follow "it is"."""
    if not start:
        return "empty"
    for magic, words in _MAGICS:
        if start.startswith(magic):
            return words
    if start[_LENGTH_BYTES : _LENGTH_BYTES + 2] == b'{"':
        return "a safetensors file; llama.cpp needs a .gguf"
    if not start.strip(b"\0"):
        return "filled with zeros, as a download leaves it that reserved its space and did not go on"
    return _kind_of_text(start.lstrip(b"\xef\xbb\xbf \t\r\n")) or f"of an unknown kind (it begins with {start[:4]!r})"


def _kind_of_text(text: bytes) -> str:
    lower = text[:64].lower()
    if lower.startswith((b"<!doctype html", b"<html", b"<head")):
        return "an HTML page: the download brought a web page, perhaps one that asks to log in"
    if lower.startswith((b"<?xml", b"<error")):
        return "an XML document: the download brought an error and not the file"
    if lower.startswith((b"{", b"[")):
        return "a JSON document"
    try:
        words = text.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    if words.isprintable() or words.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        return f"a text that begins with “{words.splitlines()[0][:60]}”" if words else "empty but for blanks"
    return ""
