"""homellm: declare the models of a home server, start them with Docker, and prove that they run as declared."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("homellm")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.0.0"
