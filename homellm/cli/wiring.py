"""The one place where the ports get their adapters. Everything heavy is imported here, when a verb calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from homellm.cli.stack_file import locate, read
from homellm.cli.this_machine import with_gpus
from homellm.errors import StackFileError

if TYPE_CHECKING:
    from homellm.adapters.hub_cache import HubCache
    from homellm.cli.options import Common
    from homellm.deploy.session import Ports
    from homellm.domain.stack import Stack
    from homellm.ports import ModelHub


def load_stack(common: Common, environ: Mapping[str, str] = os.environ) -> Stack:
    """The stack file as a Stack. Raises StackFileError with everything that is wrong in it.

    Where the verb needs the stack's name alone, a file that is wrong elsewhere is a stack without models. Where it only
    looks, variables may be unset that concern nothing which it shows.
    """
    path = locate(common.file, environ)
    text = read(path)
    from homellm.loading.loader import load

    try:
        return load(path, text, environ)
    except StackFileError as error:
        known = _known(path, text, environ, common)
        if known is not None:
            return known
        raise with_gpus(error, environ) from None


def _known(path: Path, text: str, environ: Mapping[str, str], common: Common) -> Stack | None:
    """As much of a stack whose file is wrong as the verb needs; None when that cannot be told either."""
    from homellm.loading.loader import load

    if common.by_name:
        return _by_name(path, text, environ)
    try:
        return load(path, text, environ, looking=True) if common.looking else None
    except StackFileError:
        return None


def _by_name(path: Path, text: str, environ: Mapping[str, str]) -> Stack | None:
    from homellm.domain.stack import Stack
    from homellm.loading.loader import stack_name

    name = stack_name(path, text, environ)
    return Stack(name=name, file=path.absolute()) if name is not None else None


def declared_models(common: Common, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The names of the models in the stack file, whatever else is wrong in it; none where even these cannot be read."""
    from homellm.cli.stack_file import locate, read
    from homellm.loading.loader import model_names

    return model_names(read(locate(common.file, environ)))


def connect(environ: Mapping[str, str] = os.environ) -> Ports:
    """The ports to the engine that the environment names, and to the machine that it runs on.

    Raises EngineUnreachable when no engine answers.
    """
    from homellm.adapters.clock import SystemClock
    from homellm.adapters.dialect_cache import DialectCache
    from homellm.adapters.docker_engine import connect as connect_engine
    from homellm.adapters.gguf_files import GgufFiles
    from homellm.adapters.host.linux import LinuxHost
    from homellm.adapters.http import HttpClient
    from homellm.adapters.lock import StackLock
    from homellm.adapters.namespace import network_namespace
    from homellm.adapters.ollama_ways import OllamaWays
    from homellm.adapters.state_files import StateFiles
    from homellm.deploy.session import Ports

    engine = connect_engine(environ, _home(environ))
    root, here = environ.get("HOMELLM_HOST_ROOT", ""), engine.info().local
    return Ports(
        engine=engine,
        host=LinuxHost(Path(root or "/"), local=bool(root) or here, here=here),
        files=GgufFiles(),
        http=HttpClient(),
        clock=SystemClock(),
        lock=StackLock,
        cache=DialectCache(cache_home(environ) / "homellm" / "dialects"),
        ollamas=OllamaWays(engine),
        hub=connect_hub(environ),
        state=StateFiles(state_home(environ) / "homellm" / "ollama"),
        maker=network_namespace(),
    )


def connect_hub(environ: Mapping[str, str] = os.environ) -> ModelHub:
    """Hugging Face's hub, or the mirror that the environment names, with the cache that all its programs share."""
    from homellm.adapters.hub_later import HubLater
    from homellm.adapters.hub_settings import settings_of

    return HubLater(settings_of(environ, _home(environ)), hub_cache(environ))


def hub_cache(environ: Mapping[str, str] = os.environ) -> HubCache:
    """The hub's cache on this machine."""
    from homellm.adapters.hub_cache import HubCache
    from homellm.adapters.hub_settings import settings_of

    return HubCache(settings_of(environ, _home(environ)).cache, cache_home(environ) / "homellm" / "hub")


def cache_home(environ: Mapping[str, str]) -> Path:
    """XDG_CACHE_HOME, else ~/.cache. A relative one is ignored, as the XDG base directory specification has it."""
    named = Path(environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named
    return _home(environ) / ".cache"


def state_home(environ: Mapping[str, str]) -> Path:
    """XDG_STATE_HOME, else ~/.local/state; as for the cache."""
    named = Path(environ.get("XDG_STATE_HOME", ""))
    return named if named.is_absolute() else _home(environ) / ".local" / "state"


def _home(environ: Mapping[str, str]) -> Path:
    """HOME; without one a folder that is nowhere: nothing is read from it and nothing is kept."""
    return Path(environ.get("HOME") or "/nonexistent")
