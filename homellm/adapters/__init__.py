"""The only I/O: Docker, sysfs and /proc, GGUF, HTTP, clock, lock."""
