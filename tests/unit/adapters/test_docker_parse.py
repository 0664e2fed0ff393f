"""The engine's JSON in our words. The documents are cut-down answers of a Docker Engine 20.10."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homellm.adapters import docker_parse as parse
from homellm.domain.spec import HealthCheck
from homellm.domain.world import NEVER

RUNNING: dict[str, Any] = {
    "Id": "7d6610bd7dc4f62005a980d8337f18750e0646f72c53facd49d9e38d14b0481d",
    "Created": "2026-11-30T17:33:22.123456789Z",
    "Path": "/bin/busybox",
    "Args": ["sh", "-c", "sleep 100"],
    "State": {
        "Status": "running",
        "Running": True,
        "Paused": False,
        "Restarting": False,
        "OOMKilled": False,
        "Dead": False,
        "Pid": 333,
        "ExitCode": 0,
        "Error": "",
        "StartedAt": "2026-11-30T17:33:22.679818832Z",
        "FinishedAt": "0001-01-01T00:00:00Z",
        "Health": {"Status": "starting", "FailingStreak": 0, "Log": []},
    },
    "Image": "sha256:80e405eb4e3d641a4605484de2181625e6d5cd7032a73a11c754095801e9a30e",
    "Name": "/nuc-lfm",
    "RestartCount": 2,
    "HostConfig": {
        "LogConfig": {"Type": "json-file", "Config": {}},
        "PortBindings": {"8080/tcp": [{"HostIp": "", "HostPort": "11435"}]},
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
        "Memory": 8388608,
    },
    "Config": {"Image": "tiny:1", "Labels": {"homellm.stack": "nuc"}, "Tty": False},
    "NetworkSettings": {
        "Ports": {
            "8080/tcp": [{"HostIp": "0.0.0.0", "HostPort": "11435"}, {"HostIp": "::", "HostPort": "11435"}],
            "53/udp": [{"HostIp": "0.0.0.0", "HostPort": "53"}],
            "9090/tcp": None,
        },
        "Networks": {
            "homellm-nuc": {"IPAddress": "172.18.0.2", "GlobalIPv6Address": ""},
            "six": {"IPAddress": "", "GlobalIPv6Address": "fd00::2"},
        },
    },
}


def test_a_running_container() -> None:
    container = parse.container(RUNNING)
    assert container.name == "nuc-lfm"
    assert container.id == RUNNING["Id"]
    assert container.image == "tiny:1"
    assert container.image_id == RUNNING["Image"]
    assert container.running
    assert (container.pid, container.restart_count, container.exit_code) == (333, 2, 0)
    assert not container.has_key
    assert container.restart_policy == "unless-stopped"
    assert container.started_at == "2026-11-30T17:33:22.679818832Z"
    assert container.finished_at == NEVER
    assert container.health == "starting"
    assert container.log_driver == "json-file"
    assert container.memory_bytes == 8 * 2**20
    assert (container.path, container.args) == ("/bin/busybox", ("sh", "-c", "sleep 100"))
    assert container.addresses == {"homellm-nuc": "172.18.0.2", "six": "fd00::2"}
    assert container.ports == (("0.0.0.0", 11435, 8080), ("::", 11435, 8080))
    assert container.label("homellm.stack") == "nuc"


def test_a_stopped_one_keeps_the_ports_that_were_asked_for() -> None:
    state = {**RUNNING["State"], "Status": "exited", "Running": False, "Pid": 0, "ExitCode": 137, "OOMKilled": True}
    container = parse.container({**RUNNING, "State": state})
    assert container.ports == (("0.0.0.0", 11435, 8080),)
    assert (container.status, container.exit_code, container.oom_killed) == ("exited", 137, True)
    assert not container.running


def test_one_between_two_crashes_is_not_running_though_the_engine_says_so() -> None:
    state = {**RUNNING["State"], "Status": "restarting", "Restarting": True, "Pid": 0, "ExitCode": 3}
    container = parse.container({**RUNNING, "State": state})
    assert not container.running
    assert container.exit_code == 3


def test_what_the_engine_leaves_out_is_nothing() -> None:
    host = {"RestartPolicy": {"Name": ""}, "PortBindings": None}
    container = parse.container({"Id": "a", "Name": "/b", "HostConfig": host, "Config": {"Labels": None}})
    assert container.restart_policy == "no"
    assert container.labels == {}
    assert container.ports == ()
    assert container.health == ""


def test_a_terminal_is_told() -> None:
    assert not parse.has_terminal(RUNNING)
    assert parse.has_terminal({"Config": {"Tty": True}})


def test_an_image_with_its_health_check() -> None:
    image = parse.image(
        {
            "Id": "sha256:1",
            "RepoTags": ["a:1"],
            "RepoDigests": ["a@sha256:2"],
            "Config": {
                "Entrypoint": ["/app/llama-server"],
                "Cmd": None,
                "Env": ["LLAMA_ARG_HOST=0.0.0.0"],
                "User": "1000",
                "Healthcheck": {
                    "Test": ["CMD", "curl", "-f", "http://localhost:8080/health"],
                    "Interval": 1_500_000_000,
                    "Retries": 5,
                    "StartPeriod": 2_000_000_000,
                },
            },
        }
    )
    assert (image.id, image.tags, image.digests) == ("sha256:1", ("a:1",), ("a@sha256:2",))
    assert (image.entrypoint, image.command, image.user) == (("/app/llama-server",), (), "1000")
    assert image.env == ("LLAMA_ARG_HOST=0.0.0.0",)
    assert image.health_check == HealthCheck(
        test=("CMD", "curl", "-f", "http://localhost:8080/health"), start_period_s=2, interval_s=1.5, retries=5
    )


@pytest.mark.parametrize("check", [None, {}, {"Test": ["NONE"]}, {"Test": []}])
def test_an_image_without_one(check: Any) -> None:
    assert parse.image({"Id": "sha256:1", "Config": {"Healthcheck": check}}).health_check is None


@pytest.mark.parametrize(
    ("version", "folders", "cdi"),
    [
        ("20.10.24+dfsg1", None, False),
        ("24.0.7", ["/etc/cdi"], False),
        ("25.0.0", ["/etc/cdi", "/var/run/cdi"], True),
        ("28.2.2", None, False),
        ("28.2.2", [], False),
    ],
)
def test_cdi_needs_engine_25_and_its_folders(version: str, folders: Any, cdi: bool) -> None:
    info = parse.engine_info(
        {"ID": "AAAA", "ServerVersion": version, "CDISpecDirs": folders}, address="unix:///var/run/docker.sock"
    )
    assert info.cdi is cdi


def test_the_engine() -> None:
    doc = {
        "ID": "NLZV:KV2R",
        "ServerVersion": "20.10.24+dfsg1",
        "DockerRootDir": "/var/lib/docker",
        "NCPU": 2,
        "MemTotal": 25276059648,
        "LoggingDriver": "json-file",
        "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
        "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"],
        "Runtimes": {"runc": {"path": "runc"}, "io.containerd.runc.v2": {"path": "runc"}},
    }
    info = parse.engine_info(doc, address="tcp://10.0.0.9:2375")
    assert (info.id, info.version, info.root_dir) == ("NLZV:KV2R", "20.10.24+dfsg1", "/var/lib/docker")
    assert (info.cpus, info.memory_bytes, info.log_driver) == (2, 25276059648, "json-file")
    assert info.runtimes == ("io.containerd.runc.v2", "runc")
    assert info.rootless
    assert not info.local
    assert parse.engine_info(doc, address="unix:///run/user/1000/docker.sock").local


def test_published_ports_of_a_list_entry() -> None:
    entry = {
        "Names": ["/other/alias", "/nuc-lfm"],
        "Ports": [
            {"IP": "0.0.0.0", "PrivatePort": 8080, "PublicPort": 11435, "Type": "tcp"},
            {"IP": "::", "PrivatePort": 8080, "PublicPort": 11435, "Type": "tcp"},
            {"IP": "0.0.0.0", "PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
            {"PrivatePort": 9090, "Type": "tcp"},
        ],
    }
    assert parse.published(entry) == (("0.0.0.0", 11435, "nuc-lfm"), ("::", 11435, "nuc-lfm"))


class TestWorkingSet:
    """As `docker stats`: usage without the cache that can be dropped."""

    def test_cgroup_v1(self) -> None:
        stats = {"memory_stats": {"usage": 1000, "stats": {"total_inactive_file": 300, "inactive_file": 200}}}
        assert parse.working_set(stats) == 700

    def test_cgroup_v2(self) -> None:
        assert parse.working_set({"memory_stats": {"usage": 1000, "stats": {"inactive_file": 200}}}) == 800

    def test_more_cache_than_usage_is_not_subtracted(self) -> None:
        assert parse.working_set({"memory_stats": {"usage": 100, "stats": {"inactive_file": 200}}}) == 100

    def test_a_container_that_does_not_run_uses_none(self) -> None:
        assert parse.working_set({"memory_stats": {}}) is None


class TestSince:
    @pytest.mark.parametrize(
        ("text", "parameter"),
        [
            ("1970-01-01T00:00:01Z", "1.000000000"),
            ("2026-11-30T17:33:22.679818832Z", "1796060002.679818832"),
            ("2026-11-30T17:33:05.78638619Z", "1796059985.786386190"),
            ("2026-11-30T18:33:22.1+01:00", "1796060002.100000000"),
        ],
    )
    def test_nanoseconds_are_kept(self, text: str, parameter: str) -> None:
        assert parse.since_parameter(text) == parameter

    def test_never_asks_for_the_whole_log(self) -> None:
        assert parse.since_parameter(NEVER) is None

    @pytest.mark.parametrize("text", ["", "yesterday", "2026-11-30", "1796060002"])
    def test_another_text_is_no_time(self, text: str) -> None:
        with pytest.raises(ValueError, match="RFC 3339"):
            parse.since_parameter(text)

    @given(st.integers(0, 4_000_000_000), st.integers(0, 999_999_999))
    def test_any_moment_comes_back(self, seconds: int, nanoseconds: int) -> None:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        fraction = f".{nanoseconds:09}".rstrip("0").rstrip(".")
        assert parse.since_parameter(f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z") == f"{seconds}.{nanoseconds:09}"


def test_labels_as_a_filter() -> None:
    assert parse.label_filters({"homellm.stack": "nuc", "homellm.role": None}) == {
        "label": ["homellm.stack=nuc", "homellm.role"]
    }


def test_versions_compare_as_numbers() -> None:
    assert parse.version_numbers("1.9") < parse.version_numbers("1.41") == (1, 41)


@pytest.mark.parametrize(
    ("env", "has_key"),
    [
        (["PATH=/bin", "LLAMA_API_KEY=s3cret"], True),
        (["LLAMA_ARG_API_KEY_FILE=/keys"], True),
        (["LLAMA_API_KEY="], False),
        (["LLAMA_ARG_PORT=8080"], False),
        (None, False),
    ],
)
def test_that_there_is_a_key_is_known_and_the_key_is_not_kept(env: list[str] | None, has_key: bool) -> None:
    container = parse.container({"Config": {"Env": env}})
    assert container.has_key is has_key
    assert "s3cret" not in repr(container)


@pytest.mark.parametrize(
    ("host", "cpus"),
    [
        ({"NanoCpus": 1_500_000_000}, 1.5),
        ({"CpuQuota": 50_000, "CpuPeriod": 25_000}, 2),
        ({"CpuQuota": 50_000, "CpuPeriod": 0}, 0.5),
        ({"CpuQuota": -1, "CpuPeriod": 100_000}, 0),
        ({"CpuPeriod": 100_000}, 0),
        ({}, 0),
    ],
)
def test_the_time_of_cpus_by_either_way_of_saying_it(host: dict[str, int], cpus: float) -> None:
    assert parse.container({"HostConfig": host | {"CpusetCpus": "0,1"}}).cpus == cpus
    assert parse.container({"HostConfig": {"CpusetCpus": "0,1"}}).cpuset == "0,1"


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"Name": "on-failure", "MaximumRetryCount": 3}, "on-failure:3"),
        ({"Name": "on-failure", "MaximumRetryCount": 0}, "on-failure"),
        ({"Name": "", "MaximumRetryCount": 0}, "no"),
    ],
)
def test_a_policy_that_gives_up_is_another_one(policy: dict[str, object], told: str) -> None:
    assert parse.container({"HostConfig": {"RestartPolicy": policy}}).restart_policy == told


def test_of_variables_the_fingerprints_are_kept() -> None:
    """As sha256sum has them."""
    container = parse.container({"Config": {"Env": ["A=one=two", "EMPTY="]}})
    assert container.variables == {
        "A": "197855b5d6a49977e774f3796131d64af4c76b2f1ee320a3181efd168a8ff901",
        "EMPTY": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    assert "one=two" not in repr(container)
