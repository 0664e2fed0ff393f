"""Whether what Ollama serves under a model's name is of the source that the stack file names by now."""

from __future__ import annotations

from homellm.deploy.job import Job
from homellm.deploy.ollama_models import Named, lookup
from homellm.deploy.ollama_reached import Reached
from homellm.deploy.unapplied import held_by_record
from homellm.domain.stack import Model
from homellm.runners.ollama_models import source_name


def is_of_another(model: Model, named: Named, reached: Reached, job: Job) -> str:
    """Why the model that serves is not that of its source, as a sentence; empty where nothing says so.

    A name of the stack's own is a copy of its source, with the same weights. A source that the store lacks proves
    nothing by itself, since people remove what they have a copy of: it has to be another one than what was proved last.
    """
    wanted = source_name(model)
    if wanted is None:
        return ""
    source = lookup(str(wanted), reached)
    if source.usable:
        same = None in (source.blob_name, named.stored.blob_name) or source.blob_name == named.stored.blob_name
        return (
            ""
            if same
            else f"{wanted.short} has other weights than Ollama serves as {named.name}; homellm up applies it."
        )
    proof = named.record.proofs.get(model.name)
    if source.state != "absent" or proof is None or held_by_record(model, job.stack, proof.declared).edited is not True:
        return ""
    return f"{wanted.short} is not in Ollama's store, and the stack file changed; homellm up brings it."
