"""Asked against observed: one verdict for each thing that the stack file asks and some witness can tell."""

from homellm.health.checks.judge import judge_all, judge_inspected
from homellm.health.checks.serving import judges_template

__all__ = ["judge_all", "judge_inspected", "judges_template"]
