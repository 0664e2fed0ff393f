"""Why an Ollama server cannot keep anything: the last line of one that ends before it serves.

It is no log entry but `Error:` and what Go's call said: `Error: open /root/.ollama/id_ed25519: read-only file system`
(the forms are those of issues of ollama/ollama 7471, 9148 and NixOS/nixpkgs 304531).
"""

from __future__ import annotations

from homellm.health.rules import Facts, Rule, problems

_CALL = r"Error: (?:could not [\w ]+ )?(?:open|mkdir|rename|chmod|remove|write|l?stat) (?P<subject>/\S+?)(?: /\S+)?: "


def _read_only(facts: Facts) -> str:
    return (
        f"Ollama has to write {facts.get('subject', 'below its home')}, and the file system there takes no changes. "
        "Is the disk of `store` mounted read-only (findmnt -T FOLDER; dmesg tells of errors)? Mount it for writing, or "
        "give `store` another folder."
    )


def _denied(facts: Facts) -> str:
    return (
        f"Ollama may not write {facts.get('subject', 'below its home')}. Make the folder of `store` writable for the "
        "user that the container runs as (chown; `user:`); on SELinux it also needs a label."
    )


STORE_RULES: tuple[Rule, ...] = (
    *problems(
        "store-read-only",
        _read_only,
        ("read-only file system", _CALL + "read-only file system"),
        fatal=True,
    ),
    *problems("store-denied", _denied, ("permission denied", _CALL + "permission denied"), fatal=True),
    *problems(
        "store-full",
        "The disk of Ollama's `store` is full. Free space on it, or give `store` a folder on another disk.",
        ("no space left on device", _CALL + "no space left on device"),
        fatal=True,
    ),
)
