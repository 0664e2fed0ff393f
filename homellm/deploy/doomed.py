"""What is known to stop a model before anything is pulled for it: nobody waits for gigabytes to read of a typo."""

from __future__ import annotations

from dataclasses import replace

from homellm.deploy.pull import missing_images, with_images
from homellm.deploy.pull_models import HubFiles
from homellm.deploy.select import servers_of
from homellm.deploy.session import Options, Ports
from homellm.deploy.settle import settle
from homellm.domain.stack import Model, Stack
from homellm.domain.steps import PullImage
from homellm.domain.world import World


def known_to_fail(stack: Stack, models: tuple[Model, ...], world: World, options: Options) -> frozenset[str]:
    """The names of models, and of Ollama servers, that something of file, host or engine stops already.

    They are told by their own turn, which asks again; here it only keeps pulls and a network from being made for them.
    """
    own = (model for model in models if model.runner == "llama-server")
    stopped = {model.name for model in own if settle(model, stack, world, fit=options.fit)[2]}
    return frozenset(stopped | _doomed_servers(stack, models, world))


def _doomed_servers(stack: Stack, models: tuple[Model, ...], world: World) -> set[str]:
    servers = [server for server in servers_of(stack, models) if server.ours]
    if not servers:
        return set()
    from homellm.deploy.ollama_server import settle_server  # noqa: PLC0415 - loaded for stacks with an Ollama alone

    return {server.name for server in servers if settle_server(server, stack, world)[2]}


def is_doomed(model: Model, doomed: frozenset[str]) -> bool:
    """Whether a model is stopped, by itself or by the Ollama server that it needs."""
    return (model.server if model.runner == "ollama" else model.name) in doomed


def pulls_for(
    stack: Stack, models: tuple[Model, ...], doomed: frozenset[str], files: HubFiles, ports: Ports
) -> tuple[HubFiles, dict[str, PullImage]]:
    """What is still to be pulled: files and images that some model needs which nothing is known to stop."""
    wanted = tuple(model for model in models if not is_doomed(model, doomed))
    sources = {str(model.source) for model in wanted}
    kept = replace(files, steps={source: step for source, step in files.steps.items() if source in sources})
    return kept, missing_images(with_images(stack, wanted), ports)
