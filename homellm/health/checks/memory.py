"""Memory: locked weights, and where the weights went."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.verdicts import Verdict
from homellm.health.checks.case import Case, judged
from homellm.health.devices import on_host

#: So much of the weights locked counts as all of them: a page of a mapped header is neither weight nor locked.
LOCKED_ENOUGH = 0.95
#: A reckoning that is further off than this is worth a report.
RECKONED_WITHIN = 0.10
#: So much is no difference, whatever part of a small model it is: the server's table cuts every device to whole MiB (a
#: GPU and the host lose up to 2), and buffers are padded to an alignment that nothing reckons.
NO_DIFFERENCE_MIB = 4
#: The log rounds buffers to hundredths of a MiB and pads tensors; less than this of the file's weights is a difference.
_SAME = 0.90
_KIB, _MIB, _GIB = 1024, 1024**2, 1024**3

_CAPABILITY = (
    "The weights are not locked. The container needs the capability IPC_LOCK, which mlock: true gives; a rootless or "
    "user-namespaced engine, an unprivileged LXC, or a user other than root in the container takes it away."
)


def mlock(case: Case) -> Verdict | None:
    """The weights that lie in main memory are locked there (VmLck of the process; the log's warning is the reason).

    Nothing locked, or the warning, fails the gate; a part is failed advice with both numbers.
    """
    if not case.model.mlock:
        return None
    process, warned = case.evidence.process, case.log_says("mlock-failed")
    if process is None:
        passed = False if warned else None
        hint = _CAPABILITY if warned else "The process could not be read from here, and only it can tell."
        where = case.where("problem:mlock-failed")
        return judged("mlock", True, False if warned else None, passed, where, hint=hint, gate=True)
    locked, needed = process.locked_bytes, _weights_in_memory(case)
    source = case.process_source
    if needed is None:
        hint = _CAPABILITY if not locked else "How much there is to lock is not known: " + case.log_lacks
        return judged("mlock", True, bool(locked) or None, None if locked else False, source, hint=hint, gate=True)
    text = f"{size(locked)} of {size(needed)} locked"
    if locked >= LOCKED_ENOUGH * needed:
        return judged("mlock", True, True, True, source, gate=True, text=text)
    if not locked or warned:
        return judged("mlock", True, False, False, source, hint=_CAPABILITY, gate=True, text=text)
    hint = (
        "A part of the weights lies in buffers that this build does not lock (repacked for the CPU). It may be swapped "
        "out; turn repacking off (extra_args: [--no-repack]) or accept it."
    )
    return judged("mlock", True, False, False, source, hint=hint, text=text)


def _weights_in_memory(case: Case) -> int | None:
    """Bytes of weights in main memory: by the log's buffers, else the whole file where no GPU takes a part.

    A log that has lost its first lines may have lost a buffer with them.
    """
    host = sum(mib for buffer, mib in case.log.weights_mib.items() if on_host(buffer))
    if case.log.weights_mib and case.whole_load:
        return round(host * _MIB)
    return case.evidence.weights_bytes if case.model.gpu is None else None


def memory(case: Case) -> Verdict | None:
    """What it took against what was reckoned; where the log has no table of it, the weights against the file's."""
    asked = case.evidence.weights_bytes
    if asked is None:
        return None
    reckoned, taken = case.evidence.reckoned_bytes, _taken(case)
    if reckoned is not None and taken is not None and case.whole_load:
        off = (taken - reckoned) / reckoned
        near = abs(taken - reckoned) <= max(RECKONED_WITHIN * reckoned, NO_DIFFERENCE_MIB * _MIB)
        text = f"{size(taken)}, {abs(off):.0%} {'more' if off > 0 else 'less'} than reckoned"
        hint = "The reckoning of homellm fit is off for this model. Please report it with the output of homellm fit."
        verdict = judged("memory", reckoned, taken, near, case.where("memory"), hint=hint, text=text)
        return replace(verdict, asked_text=size(reckoned))
    where = case.where("weights_mib")
    if not case.log.weights_mib or not case.whole_load:
        return judged("memory", asked, None, None, where, hint=case.log_lacks)
    observed = round(sum(case.log.weights_mib.values()) * _MIB)
    text = ", ".join(f"{size(round(mib * _MIB))} in {name}" for name, mib in case.log.weights_mib.items())
    hint = "The server holds less than the file has; compare the file with its source."
    return judged("memory", asked, observed, observed >= _SAME * asked, where, hint=hint, text=text)


def _taken(case: Case) -> int | None:
    """Bytes on all devices together, by the server's own table of the load; None where it printed none."""
    rows = [row.self_mib for row in case.log.memory]
    return sum(row for row in rows if row is not None) * _MIB if rows and None not in rows else None


def size(count: int) -> str:
    """A number of bytes with a binary unit: `29.0 MiB`."""
    unit, name = (_GIB, "GiB") if count >= _GIB else (_MIB, "MiB") if count >= _MIB else (_KIB, "KiB")
    return f"{count / unit:.1f} {name}"
