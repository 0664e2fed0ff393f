"""A hub of which nothing is loaded before it is asked."""

from __future__ import annotations

import inspect
import subprocess
import sys

from homellm import ports
from homellm.adapters.hub import Hub
from homellm.adapters.hub_later import HubLater


def test_it_is_a_hub_in_everything() -> None:
    wanted = {name for name in vars(ports.ModelHub) if not name.startswith("_")}
    for name in wanted:
        mine, real = getattr(HubLater, name), getattr(Hub, name)
        if isinstance(real, property):
            assert isinstance(mine, property), name
        else:
            assert inspect.signature(mine).parameters == inspect.signature(real).parameters, name


def test_a_verb_that_asks_no_hub_loads_no_client_of_http() -> None:
    code = (
        "import sys\nfrom homellm.cli.wiring import connect_hub\nhub = connect_hub({'HOME': '/nonexistent'})\n"
        "loaded = [name for name in ('httpx', 'rich', 'huggingface_hub') if name in sys.modules]\n"
        "print(hub.offline, hub.location, loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False /nonexistent/.cache/huggingface/hub []\n"
