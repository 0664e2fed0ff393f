"""The shipped templates."""

from homellm.resources import template_root

RUN = (template_root() / "run.sh.j2").read_text()
COMPOSE = (template_root() / "compose.yaml.j2").read_text()
OPEN_WEBUI = (template_root() / "open-webui.env.j2").read_text()
HERMES = (template_root() / "hermes.yaml.j2").read_text()
