"""homellm: declare the models of a home server, start them with Docker, and prove that they run as declared."""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, read when it is asked for: importlib.metadata costs 30 ms, and most verbs need no version."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - heavy, see above

    try:
        return version("homellm")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0.0.0"
