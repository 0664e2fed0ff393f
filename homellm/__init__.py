"""homellm: declare the models of a home server, start them with Docker, and prove that they run as declared."""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, read when it is first asked for: importlib.metadata costs 30 ms, and help needs no version."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - heavy, see above

    try:
        found = version("homellm")
    except PackageNotFoundError:  # a checkout that was never installed
        found = "0.0.0"
    globals()[name] = found  # from now on Python finds it without this function
    return found
