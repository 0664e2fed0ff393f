"""What engine tests stand on: the engine that is there, images and models made once, and names of their own.

Everything that a test makes is named `homellm-test-<run_id>-…` and removed after it, whether it passed or not.
"""

import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TypeVar

import docker
import pytest
from docker.errors import DockerException

from scripts.provision.errors import ProvisionError
from scripts.provision.image import ensure_debian_image
from scripts.provision.model import ensure_model
from tests.engine.support.cache import cache_root
from tests.engine.support.cli import Cli
from tests.engine.support.images import instant_image as make_instant_image
from tests.engine.support.old_build import b10434_image as make_b10434_image
from tests.engine.support.ollama_image import ollama_image as make_ollama_image
from tests.engine.support.ollama_server import OllamaServer
from tests.engine.support.ollama_store import OllamaStore
from tests.engine.support.ollama_store import store_with as write_store
from tests.engine.support.private_engine import PrivateEngine
from tests.engine.support.registry import OllamaRegistry
from tests.engine.support.stacks import write_stack
from tests.engine.support.sweep import sweep
from tests.engine.support.tiny_models import LAST_NORM_OF_OLLAMA
from tests.engine.support.tiny_models import tiny_lfm2 as make_tiny_lfm2

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test below this folder is an engine test."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def docker_api() -> Iterator[docker.APIClient]:
    """The engine itself, by docker-py: the tests' own witness, which shares no code with homellm."""
    try:
        api = docker.from_env(timeout=120).api
        api.ping()
    except DockerException as error:
        pytest.fail(
            f"engine tests need a Docker Engine, and none answers ({error}). Next: sudo scripts/test", pytrace=False
        )
    yield api
    api.close()


@pytest.fixture(scope="session")
def llama_image(docker_api: docker.APIClient) -> str:
    """The real llama-server, built from Debian's packages once and kept by its recipe's hash."""
    return _provided(lambda: ensure_debian_image(docker_api))


@pytest.fixture(scope="session")
def instant_image(docker_api: docker.APIClient) -> str:
    """A llama-server that is ready at once: see tests/engine/images/instant/README.md."""
    return make_instant_image(docker_api)


@pytest.fixture(scope="session")
def make_instant(docker_api: docker.APIClient) -> Callable[..., str]:
    """Makes variants of it: `make_instant(env={"INSTANT_SIGILL": "1"})`."""
    return lambda **recipe: make_instant_image(docker_api, **recipe)


@pytest.fixture(scope="session")
def early_2025_image(docker_api: docker.APIClient) -> str:
    """A stand-in with the help of a build of early 2025: `--mlock`, `-fa` without a value, LLAMA_LOG_VERBOSITY."""
    return make_instant_image(docker_api, help="early-2025")


@pytest.fixture(scope="session")
def b10434_image(docker_api: docker.APIClient, llama_image: str) -> str:
    """The real b10434, for its --help and --version alone."""
    return make_b10434_image(docker_api, llama_image)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """A real small model, SmolLM2-135M-Instruct: 30 layers, 96 MB of weights, a context of 8192."""
    return _provided(lambda: ensure_model(cache_root()))


@pytest.fixture(scope="session")
def tiny_lfm2(smollm2: Path) -> Path:
    """A hybrid of 8 MB, which Ollama refuses parallel slots and llama-server gives them."""
    return make_tiny_lfm2(smollm2)


@pytest.fixture(scope="session")
def ollama_format_lfm2(smollm2: Path) -> Path:
    """The same as Ollama's own converter writes it: llama.cpp refuses it, Ollama's llama-server loads it."""
    return make_tiny_lfm2(smollm2, last_norm=LAST_NORM_OF_OLLAMA)


@pytest.fixture(scope="session")
def ollama_image(docker_api: docker.APIClient, llama_image: str) -> str:
    """The Ollama of the tests, on the real llama-server: see tests/engine/images/ollama/README.md."""
    return make_ollama_image(docker_api, llama_image)


@pytest.fixture(scope="session")
def make_ollama(docker_api: docker.APIClient, llama_image: str) -> Callable[..., str]:
    """Makes variants of it: `make_ollama(env={"STANDIN_PERMIT": "lfm2"})`."""
    return lambda **recipe: make_ollama_image(docker_api, llama_image, **recipe)


@pytest.fixture
def ollama_registry(docker_api: docker.APIClient) -> Iterator[OllamaRegistry]:
    """A registry that containers reach: `ollama_registry.add("lfm2:tiny", tiny_lfm2)` returns the name to pull."""
    (config, *_) = docker_api.inspect_network("bridge")["IPAM"]["Config"]
    # Engines before 28 name the gateway only where it was asked for; it is the first address all the same.
    registry = OllamaRegistry(config.get("Gateway") or str(next(ip_network(config["Subnet"]).hosts())))
    yield registry
    registry.close()


@pytest.fixture
def store_with(tmp_path: Path) -> Callable[..., OllamaStore]:
    """Writes a store without a server: `store_with({"lfm2.5:2.6b": tiny_lfm2, "smol": {"gguf": smollm2, …}})`."""
    return lambda models, folder="ollama": write_store(tmp_path / folder, models)


@pytest.fixture
def run_ollama(docker_api: docker.APIClient, prefix: str, ollama_image: str) -> Callable[..., OllamaServer]:
    """Runs the Ollama of the tests without homellm: `run_ollama(env={…}, store=store.root)`, ready when returned."""
    names = itertools.count()

    def run(image: str = ollama_image, **more: Any) -> OllamaServer:
        return OllamaServer(docker_api, image, f"{prefix}-ollama-{next(names)}", **more).ready()

    return run


@pytest.fixture
def run_id() -> str:
    return uuid.uuid4().hex[:8]


@pytest.fixture
def prefix(run_id: str, docker_api: docker.APIClient) -> Iterator[str]:
    """`homellm-test-<run_id>`: the beginning of every name that this test makes; all of it is removed afterwards."""
    name = f"homellm-test-{run_id}"
    yield name
    sweep(docker_api, name)


@pytest.fixture
def stack_file(prefix: str, tmp_path: Path) -> Callable[..., Path]:
    """Writes `homellm.yaml` of the stack `<prefix>`: `stack_file({"m": {"source": …}}, defaults={…})`."""
    return lambda models, **top: write_stack(tmp_path / "homellm.yaml", top.pop("name", prefix), models, **top)


@pytest.fixture
def cli(tmp_path: Path, prefix: str) -> Iterator[Cli]:
    """homellm as people run it, in `tmp_path`: `cli("up", "--format", "json")`; it is ended before the sweep."""
    runner = Cli(tmp_path)
    yield runner
    runner.end()


@pytest.fixture
def private_engine(run_id: str, docker_api: docker.APIClient, instant_image: str) -> Iterator[PrivateEngine]:
    """A second engine in a network namespace of its own, with the instant image; see also `private_cli`."""
    if os.geteuid() != 0:
        pytest.fail("a second Docker Engine needs root. Next: sudo scripts/test", pytrace=False)
    engine = PrivateEngine(f"homellm-test-{run_id}")
    try:
        engine.start()
        engine.load(docker_api, instant_image)
        yield engine
    finally:
        engine.remove()


@pytest.fixture
def private_cli(private_engine: PrivateEngine, tmp_path: Path) -> Iterator[Cli]:
    """homellm inside the private engine's namespace, where the ports are that it publishes."""
    runner = Cli(tmp_path, env={"DOCKER_HOST": private_engine.host}, enter=private_engine.enter)
    yield runner
    runner.end()


T = TypeVar("T")


def _provided(make: Callable[[], T]) -> T:
    try:
        return make()
    except ProvisionError as error:
        pytest.fail(f"{error}\nnext: {error.hint}", pytrace=False)
