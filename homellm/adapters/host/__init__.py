"""The machine that runs the engine, read from its /sys, /proc, /dev and /etc below a root that is passed in."""

from homellm.adapters.host.linux import LinuxHost

__all__ = ["LinuxHost"]
