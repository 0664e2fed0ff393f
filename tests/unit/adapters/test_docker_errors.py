"""The engine's own texts, as it gave them, and what we make of each. Where no version stands, it is 20.10."""

from __future__ import annotations

import pytest

from homellm.adapters.docker_error_rules import RULES
from homellm.adapters.docker_errors import holder_of, taken_port, translate
from homellm.adapters.docker_pull_errors import is_transient, pull_failure, registry_of
from homellm.errors import ContainerGone, EngineRefused, ExitCode, NameTaken

ENDPOINT = "driver failed programming external connectivity on endpoint homellm-x (76b2370ffbf7): "
SHIM = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "

#: text of the engine, id, what the message has to name.
TEXTS = [
    ("No such container: nuc-lfm", "container-gone", "nuc-lfm"),
    ("Cannot kill container: nuc-lfm: No such container: nuc-lfm", "container-gone", "nuc-lfm"),
    ("Cannot kill container: ff5a: Container ff5a4a is not running", "not-running", ""),
    (
        'Conflict. The container name "/ollama-webui" is already in use by container '
        '"ff5a4a6e90ba42597d33e2ad9860970d70391f4f18cbc122b3cb0258b112142c". You have to remove (or rename) that '
        "container to be able to reuse that name.",
        "name-taken",
        "ollama-webui is in use by another container, ff5a4a6e90ba.",
    ),
    ("network with name homellm-nuc already exists", "network-taken", "homellm-nuc"),
    (
        "Invalid container name (a b), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed",
        "invalid-name",
        "a b",
    ),
    ("Renaming a container with the same name as its current name", "same-name", ""),
    ("Requested CPUs are not available - requested 0-7, available: 0-1", "cpus-unavailable", "0-7 asks"),
    ("Requested CPUs are not available - requested 0-3,6, available: 0-1", "cpus-unavailable", "0-3,6 asks"),
    ("Invalid value x for cpuset cpus: invalid format: x", "cpuset-invalid", "cpuset x."),
    ("Minimum memory limit allowed is 6MB", "memory-too-small", "6MB"),
    (
        "Minimum memoryswap limit should be larger than memory limit, see usage",
        "memory-swap",
        "swap",
    ),
    (
        SHIM + "error during container init: error setting cgroup config for procHooks process: "
        "the minimum allowed cpu-shares is 2: unknown",
        "cpu-shares-too-small",
        "2",
    ),
    (
        SHIM + "error during container init: error setting rlimits for ready process: error setting rlimit type 8: "
        "operation not permitted: unknown",
        "memlock-not-permitted",
        "memlock",
    ),
    (
        'invalid mount config for type "bind": bind source path does not exist: /home/u/my models',
        "mount-missing",
        "/home/u/my models is",
    ),
    (
        'error gathering device information while adding custom device "/dev/dri": no such file or directory',
        "device-missing",
        "/dev/dri cannot be passed on: no such file or directory",
    ),
    ("Unable to find group render: no matching entries in group file", "group-by-name", "render"),
    ("unable to find user nobody2: no matching entries in passwd file", "user-missing", "nobody2"),
    ("Could not find the file /nodir in container nuc-lfm", "path-missing", "/nodir in container nuc-lfm"),
    ("lstat /var/lib/docker/overlay2/b4b9/merged/f/x: not a directory", "path-missing", "no /f/x:"),
    ("container rootfs is marked read-only", "read-only", "read-only"),
    ('could not select device driver "cdi" with capabilities: []', "cdi-unsupported", "25"),
    (
        "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all",  # 25 and newer
        "cdi-device-missing",
        "nvidia.com/gpu=all",
    ),
    ('could not select device driver "" with capabilities: [[gpu]]', "no-nvidia-toolkit", "NVIDIA"),
    ('could not select device driver "nvidia" with capabilities: [[gpu]]', "no-nvidia-toolkit", "NVIDIA"),
    ("Unknown runtime specified nvidia", "no-nvidia-toolkit", "NVIDIA"),
    ("unknown or invalid runtime name: nvidia", "no-nvidia-toolkit", "NVIDIA"),  # 23 and newer
    (
        SHIM + "error during container init: error running hook #0: error running hook: exit status 1, stdout: , "
        "stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: initialization error: nvml error: "
        "driver/library version mismatch: unknown",
        "nvidia-driver",
        "driver/library version mismatch",
    ),
    ("Unknown runtime specified kata", "unknown-runtime", "kata"),
    (ENDPOINT + "Bind for 0.0.0.0:5432 failed: port is already allocated", "port-taken", "5432 of 0.0.0.0"),
    (
        ENDPOINT + "Error starting userland proxy: listen tcp4 127.0.0.1:11434: bind: address already in use",
        "port-taken",
        "Port 11434 of 127.0.0.1 is taken by another program",
    ),
    (
        ENDPOINT + "Error starting userland proxy: listen tcp6 [::1]:11434: bind: address already in use",
        "port-taken",
        "Port 11434 of ::1",
    ),
    (
        "failed to set up container networking: driver failed programming external connectivity on endpoint x (1): "
        "failed to bind host port for 127.0.0.1:8080:172.17.0.2:80/tcp: address already in use",  # 28
        "port-taken",
        "Port 8080 of 127.0.0.1",
    ),
    (
        "failed to bind host port 0.0.0.0:8080/tcp: address already in use",  # 29
        "port-taken",
        "Port 8080 of 0.0.0.0",
    ),
    (
        "Ports are not available: exposing port TCP 0.0.0.0:80 -> 127.0.0.1:0: listen tcp4 0.0.0.0:80: bind: "
        "address already in use",  # Docker Desktop
        "port-taken",
        "Port 80 of 0.0.0.0",
    ),
    (
        ENDPOINT
        + "Error starting userland proxy: listen tcp4 10.99.99.99:19997: bind: cannot assign requested address",
        "address-not-here",
        "10.99.99.99 is no address",
    ),
    (
        "listen tcp4 0.0.0.0:80: bind: permission denied",
        "port-privileged",
        "80",
    ),
    ('invalid port specification: "99999"', "port-invalid", "99999 is no port"),
    (
        ENDPOINT + " (iptables failed: iptables --wait -t nat -A DOCKER -p tcp -d 127.0.0.1: iptables: No "
        "chain/target/match by that name.)",
        "firewall-rules-lost",
        "firewall",
    ),
    ("No such image: homellm-test-nope:latest", "no-such-image", "homellm-test-nope:latest is not here"),
    (
        "image with reference a:1 was found but does not match the specified platform: wanted linux/arm64",
        "image-platform",
        "processor",
    ),
    ("invalid reference format: repository name must be lowercase", "image-name-invalid", "name"),
    (
        SHIM + 'exec: "/nope": stat /nope: no such file or directory: unknown',
        "no-such-program",
        "no program /nope",
    ),
    (
        SHIM + 'exec: "llama-server": executable file not found in $PATH: unknown',
        "no-such-program",
        "no program llama-server",
    ),
    (SHIM + 'exec: "/etc": permission denied: unknown', "program-not-executable", "/etc"),
    (SHIM + "exec /app/llama-server: exec format error", "image-platform", "processor"),
    ('invalid CapAdd: unknown capability: "CAP_NOPE"', "unknown-capability", "CAP_NOPE"),
    ("unknown log opt 'max-size' for journald log driver", "unknown-log-option", "journald takes no option max-size"),
    ('error looking up logging plugin nope: plugin "nope" not found', "unknown-log-driver", "nope"),
    ("configured logging driver does not support reading", "log-unreadable", "log driver"),
    (
        "error while removing network: network homellm-nuc id 2360ea4f has active endpoints",
        "network-in-use",
        "homellm-nuc",
    ),
    (
        "error while removing network: unknown network homellm-nuc id 2360ea4f",
        "network-missing",
        "no network homellm-nuc any more",
    ),
    (
        'error while removing network: network homellm-nuc has active endpoints (name:"x" id:"1")',  # 28
        "network-in-use",
        "homellm-nuc",
    ),
    ("network homellm-nuc not found", "network-missing", "homellm-nuc"),
    (
        "endpoint with name nuc-lfm already exists in network homellm-nuc",
        "already-connected",
        "nuc-lfm has joined the network homellm-nuc",
    ),
    (
        "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network",
        "address-pools-used-up",
        "address",
    ),
    ("all predefined address pools have been fully subnetted", "address-pools-used-up", "address"),  # 27
    ("Container cannot be connected to network endpoints: a, b", "several-networks", "one network"),
    (
        "You cannot remove a restarting container 6899. Stop the container before attempting removal or force remove",
        "still-running",
        "is restarting",
    ),
    (
        'cannot remove container "nuc-lfm": container is running: stop the container before removing or force remove',
        "still-running",  # 25 and newer
        "is running",
    ),
    (
        "unable to remove filesystem for ff5a4a6e90ba: unlinkat /var/lib/docker/containers/ff5a4a6e90ba: "
        "directory not empty",
        "not-removed",
        "could not end it: unlinkat /var/lib/docker/containers/ff5a4a6e90ba: directory not empty.",
    ),
    (
        'container ff5a4a6e90ba: driver "overlay2" failed to remove root filesystem: unlinkat '
        "/var/lib/docker/overlay2/b4b9/merged: device or resource busy",
        "not-removed",
        "/merged: device or resource busy.",
    ),
    (
        'Cannot update container ff5a: container is marked for removal and cannot be "update"',
        "being-removed",
        "removed",
    ),
    ("can not get logs from container which is dead or marked for removal", "being-removed", "being removed"),
    ("removal of container nuc-lfm is already in progress", "being-removed", "being removed"),
    ("container is marked for removal and cannot be started", "being-removed", "being removed"),
    (
        "write /var/lib/docker/tmp/GetImageBlob1: no space left on device",
        "disk-full",
        "full",
    ),
]


@pytest.mark.parametrize(("text", "expected", "names"), TEXTS, ids=[f"{row[1]}-{n}" for n, row in enumerate(TEXTS)])
def test_each_text_has_its_meaning(text: str, expected: str, names: str) -> None:
    error = translate(text, doing="start nuc-lfm")
    assert error.problems[0].id == expected
    assert names in str(error)
    assert error.original == text
    assert error.exit_code is ExitCode.REFUSED
    for said in (str(error), error.hint):
        assert "{" not in said


def test_every_rule_is_tried_by_a_text() -> None:
    assert {rule.id for rule in RULES} == {expected for _, expected, _ in TEXTS}


def test_what_people_do_next_stands_beside_it() -> None:
    """What is only ever told to ourselves needs no hint."""
    silent = {"not-running", "same-name", "path-missing", "read-only", "already-connected"}
    assert {rule.id for rule in RULES if not rule.hint} <= silent


def test_some_are_kinds_of_their_own() -> None:
    assert isinstance(translate("No such container: x", doing="start x"), ContainerGone)
    assert isinstance(translate(TEXTS[3][0], doing="make x"), NameTaken)


def test_an_unknown_text_is_passed_on_with_what_was_asked() -> None:
    error = translate("  the moon is full  ", doing="start nuc-lfm")
    assert type(error) is EngineRefused
    assert str(error) == "The engine refuses to start nuc-lfm: the moon is full"
    assert "journalctl" in error.hint
    assert error.original == "  the moon is full  "


def test_an_empty_text_says_so() -> None:
    assert str(translate("", doing="start x")) == "The engine refuses to start x: nothing at all"


class TestTakenPort:
    def test_its_place_is_read(self) -> None:
        assert taken_port(ENDPOINT + "Bind for 0.0.0.0:5432 failed: port is already allocated") == ("0.0.0.0", 5432)
        assert taken_port("listen tcp6 [::1]:11434: bind: address already in use") == ("::1", 11434)
        assert taken_port("No such container: x") is None

    def test_a_known_holder_is_named(self) -> None:
        text = ENDPOINT + "Bind for 0.0.0.0:5432 failed: port is already allocated"
        error = translate(text, doing="start x", holder="my-postgres")
        assert str(error) == "Port 5432 of 0.0.0.0 is taken by the container my-postgres."

    def test_the_holder_is_found_among_those_that_publish(self) -> None:
        published = [("127.0.0.1", 80, "a"), ("10.0.0.1", 5432, "b"), ("0.0.0.0", 5432, "c")]
        assert holder_of(("127.0.0.1", 5432), published) == "c"
        assert holder_of(("10.0.0.1", 5432), published) == "b"
        assert holder_of(("127.0.0.1", 81), published) is None

    def test_a_container_of_the_other_family_is_not_blamed(self) -> None:
        """What holds IPv4 there is a program of the host, and the engine's words are of IPv4."""
        assert holder_of(("0.0.0.0", 5432), [("::", 5432, "b")]) is None
        assert holder_of(("::", 5432), [("0.0.0.0", 5432, "b")]) is None
        assert holder_of(("::1", 5432), [("::", 5432, "b")]) == "b"


REF = "ghcr.io/ggml-org/llama.cpp:server-vulkan"
PULLS = [
    ("manifest for a:nope not found: manifest unknown: manifest unknown", "image-not-found"),
    (
        "pull access denied for home-llama, repository does not exist or may require 'docker login': denied: requested "
        "access to the resource is denied",
        "image-not-found",
    ),
    ('failed to resolve reference "docker.io/library/a:nope": docker.io/library/a:nope: not found', "image-not-found"),
    ('Error response from daemon: Head "https://ghcr.io/v2/x/manifests/y": denied', "registry-login"),
    ("unauthorized: authentication required", "registry-login"),
    ('Get "https://registry/v2/": no basic auth credentials', "registry-login"),
    ("toomanyrequests: You have reached your pull rate limit.", "registry-rate-limit"),
    ("no matching manifest for linux/arm64/v8 in the manifest list entries", "image-platform"),
    ("failed to register layer: Error processing tar file(exit status 1): no space left on device", "disk-full"),
    ('Get "https://127.0.0.1:5/v2/": http: server gave HTTP response to HTTPS client', "registry-not-https"),
    ('Get "https://r/v2/": x509: certificate signed by unknown authority', "registry-certificate"),
    ("invalid reference format", "image-name-invalid"),
    ("the moon is full", "pull-failed"),
    ('Get "https://ghcr.io/v2/": dial tcp: lookup ghcr.io on 127.0.0.53:53: no such host', "registry-unreachable"),
    ('Get "https://ghcr.io/v2/": dial tcp 127.0.0.1:1: connect: connection refused', "registry-unreachable"),
    ('Get "https://ghcr.io/v2/": net/http: TLS handshake timeout', "registry-unreachable"),
    (
        'Get "https://ghcr.io/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded '
        "while awaiting headers)",
        "registry-unreachable",
    ),
    ('Get "https://ghcr.io/v2/": EOF', "registry-unreachable"),
    ("unexpected EOF", "registry-unreachable"),
    ("received unexpected HTTP status: 503 Service Unavailable", "registry-unreachable"),
    ("read tcp 10.0.0.2:1->10.0.0.3:443: read: connection reset by peer", "registry-unreachable"),
]


@pytest.mark.parametrize(("text", "expected"), PULLS)
def test_each_failure_of_a_pull_has_its_meaning(text: str, expected: str) -> None:
    error = pull_failure(REF, text)
    assert error.problems[0].id == expected
    assert str(error).startswith(f"The image {REF} cannot be pulled: ")
    assert error.hint
    assert error.original == text
    assert is_transient(error) is (expected == "registry-unreachable")


@pytest.mark.parametrize(
    ("ref", "registry"),
    [
        (REF, "ghcr.io"),
        ("home-llama:dev", "docker.io"),
        ("ollama/ollama:latest", "docker.io"),
        ("localhost/x", "localhost"),
        ("127.0.0.1:5000/x:1", "127.0.0.1:5000"),
    ],
)
def test_the_registry_of_an_image(ref: str, registry: str) -> None:
    assert registry_of(ref) == registry
