"""One llama-server process as its log tells it: from its first line over its loads to its end, and the next one."""

from __future__ import annotations

import re
from typing import Literal

from homellm.domain.signals import Signal
from homellm.health.devices import CPU, full_name, gpu_names, is_software, on_host, table_name
from homellm.health.load import LoadState
from homellm.health.problems import Problems
from homellm.health.rules_flags import DEVICE_HINT, NO_GPU_HINT

Phase = Literal["starting", "loading", "running", "ended"]

#: What each process writes once, before it loads anything.
_ONCE = frozenset(("server-init", "build", "verbosity"))
#: What the argument parser writes: whenever it comes, a process has begun.
_ARGUMENTS = frozenset(("flag-deprecated", "flag-unknown", "setting-invalid"))
#: What comes early, in some builds only with the first load: it begins a process after one that served or ended.
_EARLY = frozenset(("backend", "system-info", "no-devices", "no-gpu"))
#: What libraries and the argument parser write without the server's prefix, also where it has one.
_UNSTAMPED = re.compile(
    r"ggml_|GGML_|load_backend|AMX |CUDA error|ROCm error|terminate called|  what\(\)|  Device \d|warning: |error[: ]|"
    r"\.{0,2}/|[Ii]llegal instruction|[Ss]egmentation fault|panic: |fatal error: "
)
_ENDS = frozenset(("flag-unknown", "setting-invalid"))
_MOST_DEVICES = 64
_LAYERS_HINT = (
    "Only a part of the model is on the GPU, the rest is computed by the CPU. Free memory on the device, lower ctx or "
    "parallel, or take a smaller quantisation; gpu_layers: all insists."
)


class ProcessState:
    """A fold of the signals of one llama-server, restarts included: it always tells of the last process and load."""

    def __init__(self) -> None:
        self.known = False
        self.stamped = False
        self._reset()

    def _reset(self) -> None:
        self.phase: Phase = "starting"
        self.load = LoadState()
        self.listening = False
        self.build: str | None = None
        self.verbosity: int | None = None
        self.threads: int | None = None
        self.devices: dict[str, Signal] = {}
        self._no_devices: Signal | None = None
        self._problems = Problems()
        self._once: set[str] = set()

    def add(self, signal: Signal) -> bool:
        """Take one signal; False when it was no line of the server: text that a client wrote, say."""
        if not self._believable(signal):
            return False
        self.known = True
        self.stamped = self.stamped or signal.stamped
        if self._begins_process(signal):
            self._reset()
        if signal.id in _ONCE:
            self._once.add(signal.id)
        if signal.problem:
            self._add_problem(signal)
        self._live(signal)
        self._tell(signal)
        self.load.add(signal)
        return True

    def _believable(self, signal: Signal) -> bool:
        """In a log with prefixes a line without one is only believed where the server really writes such lines."""
        if signal.stamped or not self.stamped:
            return True
        if signal.id in _ONCE:
            self.stamped = False  # another process, whose log has no prefixes
            return True
        if signal.fatal and self.phase == "running" and signal.line.startswith("error"):
            return False
        return _UNSTAMPED.match(signal.line) is not None

    def _begins_process(self, signal: Signal) -> bool:
        if signal.id in self._once or (signal.id in _ONCE and self.phase in ("running", "ended")):
            return True
        if signal.id in _ARGUMENTS or (signal.id == "no-gpu" and signal.line.startswith("warning")):
            return self.phase != "starting"
        return signal.id in _EARLY and self.phase in ("running", "ended")

    def _live(self, signal: Signal) -> None:
        """Where in its life the process is."""
        match signal.id:
            case "load-begin":
                if self.phase == "ended":
                    self._reset()
                self.phase = "loading"
                self.load = LoadState(str(signal.facts.get("path")))
            case "loaded" | "listening":
                self._ready(signal)
            case "slots" if self.listening and self.phase == "loading":
                self._ready(signal)  # woken up: the server says its slots again and nothing more
            case "slot-serving" | "slot-launch":
                self._ready(signal)  # whoever serves is ready, also where the first lines are lost
            case "load-failed":
                self.load.ready, self.load.failed = False, True
                self.phase = "ended"
            case "shutdown":
                self.phase = "ended"
            case _ if signal.fatal:
                self._fail(signal)

    def _ready(self, signal: Signal) -> None:
        if self.load.failed and signal.id != "loaded":
            return
        if self.phase != "ended":
            self.phase = "running"
        self.load.ready, self.load.failed = True, False
        self.listening = self.listening or signal.id == "listening"

    def _fail(self, signal: Signal) -> None:
        if self.phase != "running":
            self.load.failed = True
        if signal.id in _ENDS:
            self.phase = "ended"

    def _tell(self, signal: Signal) -> None:
        """Facts of the process rather than of a load."""
        facts = signal.facts
        match signal.id:
            case "build":
                self.build = str(facts["build"])
            case "verbosity":
                self.verbosity = int(str(facts["level"]))
            case "system-info":
                self.threads = int(str(facts["n_threads"]))
            case "no-devices":
                self._no_devices = signal
            case "device-listed" | "device-used" if len(self.devices) < _MOST_DEVICES:
                self.devices[str(facts["device"])] = signal

    def _add_problem(self, signal: Signal) -> None:
        """A load's problems go with the load; what was wrong before it, or while serving, concerns the process."""
        if self.phase == "loading":
            self.load.problems.add(signal)
        else:
            self._problems.add(signal)

    @property
    def path(self) -> str | None:
        """Where the model of the last load lies."""
        return self.load.path

    @property
    def device(self) -> str | None:
        """The device that holds the last load, `cpu`, or None when the log does not tell.

        A buffer proves it; `using device` says what the server computes with; the memory table and `no usable GPU`
        count where neither stands. `offloaded 31/31` and a loaded backend prove nothing.
        """
        load = self.load
        names = gpu_names(load.buffers) or list(load.used)
        if names:
            known = {device: str(signal.facts["name"]) for device, signal in self.devices.items()}
            return ", ".join(full_name(name, known) for name in names)
        if load.buffers:
            return CPU
        if load.rows:
            return (
                ", ".join(table_name(row.device) for row in load.rows if row.model_mib and not on_host(row.device))
                or CPU
            )
        return CPU if self.found_no_gpu and not self._gpus_listed() else None

    @property
    def found_no_gpu(self) -> bool:
        """Whether a backend looked for a GPU and found none, be it a problem or not."""
        no_gpu = any(problem.id == "no-gpu" and not problem.fatal for problem in self._raw_problems())
        return no_gpu or self._no_devices is not None

    @property
    def device_pci(self) -> str | None:
        """The PCI address of the one device in use, when the log tells it."""
        found = {str(signal.facts["pci"]) for signal in self.load.used.values() if signal.facts.get("pci")}
        return found.pop() if len(found) == 1 and len(self.load.used) == 1 else None

    @property
    def layers_offloaded(self) -> str | None:
        """`31/31`; nothing is offloaded where every buffer is the CPU's, whatever the log claims."""
        if self.load.offloaded is None:
            return None
        offloaded, total = self.load.offloaded
        return f"{0 if self.device == CPU else offloaded}/{total}"

    def _gpus_listed(self) -> bool:
        return any(not on_host(device) for device in self.devices)

    def _raw_problems(self) -> tuple[Signal, ...]:
        return (*self._problems.kept(), *self.load.problems.kept())

    def problems(self) -> tuple[Signal, ...]:
        """What is wrong, in the order it came, with what only several lines together tell."""
        device = self.device
        found = [p for p in self._raw_problems() if p.id != "no-gpu" or p.fatal or device in (None, CPU)]
        known = {problem.id for problem in found}
        if "no-gpu" not in known and device == CPU and self._claims_offload() and (line := self._no_devices):
            found.append(Signal("no-gpu", line.line, {"count": 1}, problem=True, hint=NO_GPU_HINT))
        if "cpu-device" not in known and (line := self._software_device()):
            found.append(Signal("cpu-device", line.line, {"count": 1}, problem=True, hint=DEVICE_HINT))
        if self._partial() and self.load.offload_line is not None:
            found.append(
                Signal("layers-partial", self.load.offload_line.line, {"count": 1}, problem=True, hint=_LAYERS_HINT)
            )
        return tuple(found)

    def _claims_offload(self) -> bool:
        """Whether layers were to be on a GPU: the claim proves no GPU, and does prove that one was asked for."""
        return self.load.offloaded is not None and self.load.offloaded[0] > 0

    def _software_device(self) -> Signal | None:
        """The line that names a driver on the CPU, where that is the device in use."""
        if not is_software(self.device or ""):
            return None
        named = (*self.load.used.values(), *self.devices.values(), *self.load.row_lines)
        return next((signal for signal in named if is_software(signal.line)), None)

    def _partial(self) -> bool:
        """Whether a GPU has a part of the layers; none at all is a matter of the device where no GPU is seen."""
        if self.load.offloaded is None or self.device == CPU:
            return False
        offloaded, total = self.load.offloaded
        return offloaded < total and (offloaded > 0 or self.device is not None)
