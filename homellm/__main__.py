"""`python -m homellm`."""

from homellm.cli.main import run

if __name__ == "__main__":
    run()
