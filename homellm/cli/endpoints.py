"""`homellm endpoints`: where clients find the models, and what to write into their configuration."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from homellm.cli.options import DebugOption, FileOption, FormatOption, ModelsArgument, NoColorOption, common

if TYPE_CHECKING:
    from homellm.cli.options import Common
    from homellm.deploy.endpoints import Running
    from homellm.domain.endpoints import ModelEndpoints
    from homellm.domain.stack import Stack
    from homellm.render.clients import Snippet


class Client(StrEnum):
    """Programs that a snippet is known for."""

    OPEN_WEBUI = "open-webui"
    HERMES = "hermes"


_TEMPLATES = {Client.OPEN_WEBUI: "open-webui.env.j2", Client.HERMES: "hermes.yaml.j2"}


def endpoints(
    ctx: typer.Context,
    models: ModelsArgument = None,
    client: Annotated[
        Client | None, typer.Option("--client", show_default=False, help="Print what that client is configured with.")
    ] = None,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Write keys down; else a word stands for them.")
    ] = False,
    file: FileOption = None,
    format_: FormatOption = None,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> int:
    """Print the addresses of the models, or a client's configuration.

    From this host, from the LAN and from a container, in the style of OpenAI and, where Ollama serves, in that of
    Ollama. Where there is no way, it says why. What runs is told as it runs, by the engine; what does not run, and
    everything where no engine answers, as it is declared, and that is said.
    """
    from homellm.cli import streams
    from homellm.cli.run_verb import prepare
    from homellm.errors import ExitCode
    from homellm.report.endpoints import endpoints_document, endpoints_text

    given = common(ctx, file, format_, no_color, debug)
    stack, only = prepare(given, models)
    found = _found(stack, only)
    if client is None:
        if given.json:
            streams.write_document(endpoints_document(stack.name, found))
        else:
            streams.write_text(given, endpoints_text(found, width=streams.screen_width(sys.stdout)))
        return ExitCode.OK
    snippet = _snippet(client, stack, found, show_secrets=show_secrets)
    if given.json:
        document = endpoints_document(stack.name, found)
        streams.write_document({**document, "client": client.value, "text": snippet.text, "notes": list(snippet.notes)})
    else:
        _print(given, snippet)
    return ExitCode.OK


def _found(stack: Stack, only: tuple[str, ...]) -> tuple[ModelEndpoints, ...]:
    from homellm.adapters.lan import bridge_addresses, lan_addresses
    from homellm.render.endpoints import Machine
    from homellm.render.endpoints import endpoints as addresses

    now, here = _engine(stack)
    told = now.stack if now is not None else stack
    wanted = tuple(model for model in told.models if not only or model.name in only)
    moved = now.moved if now is not None else ()
    machine = Machine(lan_addresses(), bridge_addresses()) if here else Machine()
    found = addresses(told, wanted, machine=machine, moved=moved)
    return tuple(replace(one, running=None if now is None else one.name in now.models) for one in found)


def _engine(stack: Stack) -> tuple[Running | None, bool]:
    """The stack as it runs, and whether the engine is this machine's; an engine that is away is taken for it."""
    from homellm.cli import wiring
    from homellm.deploy.endpoints import as_running
    from homellm.errors import HomellmError

    try:
        ports = wiring.connect(os.environ)
        return as_running(stack, ports), ports.engine.info().local
    except HomellmError:
        return None, True


def _snippet(client: Client, stack: Stack, found: tuple[ModelEndpoints, ...], *, show_secrets: bool) -> Snippet:
    from homellm.errors import UsageError
    from homellm.render.clients import hermes, open_webui
    from homellm.resources import template_root

    template = (template_root() / _TEMPLATES[client]).read_text("utf-8")
    title = f"The stack {stack.name} for {client}, by homellm endpoints --client {client}"
    if client is Client.OPEN_WEBUI:
        return open_webui(found, template, title=title, show_secrets=show_secrets)
    try:
        return hermes(found, template, title=title, show_secrets=show_secrets)
    except ValueError as error:
        raise UsageError(f"{error}: they serve embeddings", hint="Name a model that chats.") from error


def _print(given: Common, snippet: Snippet) -> None:
    """The text on stdout, its notes in it as comments; on stderr as well where stdout is a file, which hides them."""
    from homellm.cli import streams

    streams.write_text(given, snippet.text)
    if streams.screen_width(sys.stdout) is not None:
        return
    for note in snippet.notes:
        streams.errors_output().write(f"note: {note}\n")
