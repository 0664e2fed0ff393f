"""Write homellm/cli/help_page.py anew, from what the command line itself prints: python -m scripts.help_page."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from homellm.cli.main import main

PAGE = Path(__file__).parents[1] / "homellm" / "cli" / "help_page.py"

_HEAD = '''"""The help of `homellm` as the command line prints it, made by python -m scripts.help_page."""

HELP_PAGE = """\\
'''


def page() -> str:
    """What `homellm --help` prints on a screen of 80 columns."""
    os.environ["COLUMNS"] = "80"
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main(["--help"])
    return text.getvalue()


def write() -> None:
    """Write the module."""
    text = page()
    assert text.isascii(), "it must fit every terminal"  # noqa: S101 - a tool of this house
    assert '"""' not in text, "it stands in such quotes"  # noqa: S101
    assert "\\" not in text, "a backslash would have to be escaped"  # noqa: S101
    PAGE.write_text(f'{_HEAD}{text}"""\n', encoding="utf-8")


if __name__ == "__main__":
    write()
