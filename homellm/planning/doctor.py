"""From what was seen of host, engine and containers to what `doctor` says: what would stop the stack, and advice."""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.diagnosis import CardState, Diagnosis
from homellm.domain.open_webui import WebUi
from homellm.domain.stack import Gpu, GpuApi, Stack
from homellm.domain.world import EngineInfo, Host, HostGpu
from homellm.errors import ExitCode, Problem
from homellm.gpu import engine_limit, resolve
from homellm.planning.exposure import exposure_advice
from homellm.planning.host_advice import engine_advice, host_advice, ollama_advice
from homellm.planning.host_problems import host_problems
from homellm.planning.web_ui_advice import web_ui_advice

#: Makers whose GPUs serve models; anything else needs a render node to count.
_MAKERS = ("intel", "amd", "nvidia")


def diagnose(
    stack: Stack | None,
    host: Host,
    engine: EngineInfo | None,
    stopping: tuple[Problem, ...],
    web_uis: tuple[WebUi, ...] = (),
) -> Diagnosis:
    """The whole diagnosis.

    `stopping` are the problems that were found on the way, those of a plan among them. Without an engine nobody has
    made a plan: then what the host alone tells of the stack is added here.
    """
    found = host_problems(stack, host, engine) if stack is not None else ()
    own = tuple(problem for problem in found if engine is None or problem.exit_code is ExitCode.OK)
    cards = card_states(host, engine)
    advice = (
        *host_advice(host),
        *(engine_advice(engine) if engine is not None else ()),
        *_cards(cards, stopping + own),
        *ollama_advice(host, stack),
        *(exposure_advice(stack, host.bridges) if stack is not None else ()),
        *(advice for web_ui in web_uis for advice in web_ui_advice(web_ui, stack)),
    )
    return Diagnosis(
        host=host,
        engine=engine,
        stack=stack.name if stack is not None else None,
        models=len(stack.models) if stack is not None else 0,
        cards=cards,
        web_uis=web_uis,
        problems=tuple(dict.fromkeys((*stopping, *own, *advice))),
    )


def card_states(host: Host, engine: EngineInfo | None) -> tuple[CardState, ...]:
    """Each GPU of the host with the api that suits it, and what keeps containers from it."""
    if not host.readable:
        return ()
    if host.wsl2:
        return _under_wsl2(host, engine)
    return tuple(_state(card, host, engine) for card in host.gpus)


def _under_wsl2(host: Host, engine: EngineInfo | None) -> tuple[CardState, ...]:
    """Windows' driver passes all NVIDIA cards as one, which has no address here."""
    declared = Gpu("NVIDIA", "cuda", auto=True)
    card = resolve(declared, host)
    if isinstance(card, Problem):
        return (CardState(HostGpu(pci="", id="", vendor="other", name="GPU by WSL2"), "cuda", _plain(declared, card)),)
    return (CardState(card, "cuda", _limit(declared, card, host, engine)),)


def _state(card: HostGpu, host: Host, engine: EngineInfo | None) -> CardState:
    api = _api(card)
    if api is None:
        return CardState(card, None)
    declared = Gpu(card.pci, api, pci=card.pci)
    found = resolve(declared, host)
    if isinstance(found, Problem):
        return CardState(card, api, _plain(declared, found))
    return CardState(found, api, _limit(declared, found, host, engine))


def _api(card: HostGpu) -> GpuApi | None:
    if card.vendor == "nvidia" and card.driver == "nvidia":
        return "cuda"
    return "vulkan" if card.vendor in _MAKERS or card.render_node else None


def _limit(declared: Gpu, card: HostGpu, host: Host, engine: EngineInfo | None) -> Problem | None:
    found = engine_limit(declared, card, host, engine) if engine is not None else None
    return None if found is None else _plain(declared, found)


def _plain(declared: Gpu, problem: Problem) -> Problem:
    """A problem of a GPU that no stack file has declared: its own words alone, and it stops nothing by itself."""
    message = problem.message.removeprefix(f"GPU {declared.name}: ")
    return replace(problem, message=message, exit_code=ExitCode.OK)


def _cards(cards: tuple[CardState, ...], told: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """What keeps GPUs from containers, but for what is told already because the stack declares that GPU."""
    return tuple(
        state.problem
        for state in cards
        if state.problem is not None
        and not any(one.id == state.problem.id and state.problem.message in one.message for one in told)
    )
