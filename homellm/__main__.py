"""`python -m homellm`."""

from homellm.cli.entry import run

if __name__ == "__main__":
    run()
