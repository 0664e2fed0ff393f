"""The shipped templates."""

from homellm.resources import template_root

RUN = (template_root() / "run.sh.j2").read_text()
COMPOSE = (template_root() / "compose.yaml.j2").read_text()
