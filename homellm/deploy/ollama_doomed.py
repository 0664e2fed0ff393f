"""What is known to keep an Ollama server, or what it serves, from coming up again, before a restart stops it."""

from __future__ import annotations

from homellm.deploy.doomed_restart import mounts_gone, of_its_own
from homellm.deploy.job import Job
from homellm.deploy.ollama_models import lookup, unusable
from homellm.deploy.ollama_server import find, settle_server
from homellm.domain.ollama_names import parse_name
from homellm.domain.stack import OllamaServer
from homellm.errors import HomellmError, Problem
from homellm.runners.ollama_models import served_name


def server_known_to_fail(server: OllamaServer, job: Job) -> tuple[Problem, ...]:
    """Why a server of ours, or a model that is in its memory, would not come up again; empty where nothing is known.

    Problems of the present declaration count where its container is made of that very one. A model of which the store
    has lost something serves from memory, and would not be loaded again.
    """
    desired, unit, problems = settle_server(server, job.stack, job.world)
    current = unit.current
    if current is None:
        return ()
    return (*mounts_gone(current, job), *_lost_models(server, job), *of_its_own(current, desired, problems))


def _lost_models(server: OllamaServer, job: Job) -> tuple[Problem, ...]:
    try:
        reached = find(server, job.stack, job.ports)
        loaded = [parse_name(one.name) for one in reached.api.loaded()]
        names = [served_name(model) for model in job.stack.models_on(server)]
        served = [name for name in names if any(one.same(parse_name(name)) for one in loaded)]
        found = [lookup(name, reached) for name in served]
    except HomellmError:
        return ()  # it does not answer: nothing is served that a restart could take away
    return tuple(problem for one in found if not one.usable for problem in unusable(one, reached).problems)
