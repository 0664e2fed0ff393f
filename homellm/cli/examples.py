"""One example for each verb, printed at the end of its help: what somebody would really type, and what it is for."""

from __future__ import annotations

from collections.abc import Mapping

#: Verb -> (command, what it does). Every command is one that the command line takes.
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "up": ("homellm up lfm2.5", "start or update one model; the others are left alone"),
    "down": ("homellm down lfm2.5", "take one model's containers away; the others run on, and files stay"),
    "restart": ("homellm restart lfm2.5", "after a driver update, say: the same container, verified again"),
    "pull": ("homellm pull", "bring everything first, so that up is quick"),
    "plan": ("homellm plan --detailed-exitcode", "in a script: 6 when the file and what runs differ"),
    "check": ("homellm check --format json", "for cron and monitoring: every check with its evidence"),
    "ps": ("homellm ps", "what runs, with how many slots, and where"),
    "logs": ("homellm logs -f -n 20 lfm2.5", "the last 20 lines of one model, and what comes"),
    "doctor": ("homellm doctor", "before the first up, or when something does not work"),
    "fit": (
        "homellm fit -f model.gguf --ctx 8192 --parallel 1..8 --memory 8GiB",
        "how many slots of 8192 tokens fit an 8 GB card",
    ),
    "explain": ("docker logs llama 2>&1 | homellm explain", "what happened in a container of anybody's"),
    "endpoints": ("homellm endpoints --client open-webui > open-webui.env", "the environment of an Open WebUI"),
    "render": ("homellm render compose > compose.yaml", "the same containers for Docker Compose"),
    "config": ("homellm -f nuc.yaml config", "is the file right, and what does it mean?"),
    "schema": ("homellm schema > homellm.schema.json", "the file that the first line of a stack file names"),
    "version": ("homellm version", "for reports of faults"),
}


def epilog(verb: str) -> str | None:
    """The end of a verb's help; the framework keeps lines as they are after a backspace of their own."""
    if verb not in EXAMPLES:
        return None
    command, purpose = EXAMPLES[verb]
    return f"\b\nExample: {purpose}\n  {command}"
