"""Asked against observed: one verdict for each thing that the stack file asks and some witness can tell."""

from homellm.health.checks.judge import judge_all

__all__ = ["judge_all"]
