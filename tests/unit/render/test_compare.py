"""What equal means, on inspects cut down to what matters; the engine's own are compared in tests/engine."""

from copy import deepcopy

import pytest

from homellm.render.compare import differences

ONE = {
    "Id": "1886608fa8faf9c05b4ff0608a55b84ccc1310ec",
    "Name": "/nuc-smol",
    "Image": "sha256:1",
    "Path": "/app/llama-server",
    "Args": ["--jinja"],
    "Config": {
        "Hostname": "a",
        "AttachStdout": False,
        "Env": ["A=1", "B=2"],
        "Labels": {"homellm.stack": "nuc", "x": "y"},
    },
    "HostConfig": {
        "CapAdd": ["IPC_LOCK"],
        "NetworkMode": "bridge",
        "Dns": None,
        "Mounts": [{"Type": "bind", "BindOptions": {}}],
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
    },
    "Mounts": [{"Destination": "/a"}, {"Destination": "/b"}],
    "NetworkSettings": {
        "IPAddress": "172.17.0.2",
        "Ports": {},
        "Networks": {"homellm-nuc": {"Aliases": ["smol", "1886608fa8fa"], "DriverOpts": None, "MacAddress": "02:42"}},
    },
}

OTHER = {
    **ONE,
    "Id": "b02bfbab3b1c5cd0b72b7190a6a35b1e926522f3",
    "Config": {
        "Hostname": "b",
        "AttachStdout": True,
        "Env": ["B=2", "A=1"],
        "Labels": {"com.docker.compose.service": "svc", "x": "y"},
    },
    "HostConfig": {
        "CapAdd": ["CAP_IPC_LOCK"],
        "NetworkMode": "default",
        "Dns": [],
        "Mounts": [{"Type": "bind"}],
        "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
    },
    "Mounts": [{"Destination": "/b"}, {"Destination": "/a"}],
    "NetworkSettings": {
        "IPAddress": "",
        "Ports": {},
        "Networks": {"homellm-nuc": {"Aliases": ["svc", "nuc-smol", "smol", "b02bfbab3b1c"], "DriverOpts": {}}},
    },
}


def test_what_differs_by_the_way_of_making_is_equal():
    assert differences(ONE, OTHER) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("Image", "sha256:2"),
        ("Path", "/bin/sh"),
        ("Args", []),
        ("Args", ["--no-jinja"]),
        ("Config.Env", ["A=1"]),
        ("Config.Labels.x", "z"),
        ("Config.StopTimeout", 3),
        ("HostConfig.CapAdd", []),
        ("HostConfig.NetworkMode", "host"),
        ("HostConfig.Privileged", True),
        ("HostConfig.Memory", 1),
        ("HostConfig.RestartPolicy.Name", "no"),
        ("HostConfig.Mounts", [{"Type": "volume"}]),
        ("Mounts", [{"Destination": "/a"}]),
        ("NetworkSettings.Networks.homellm-nuc.Aliases", ["1886608fa8fa"]),
        ("NetworkSettings.Networks.other", {"Aliases": ["x"]}),
        ("NetworkSettings.Ports", {"8080/tcp": [{"HostPort": "1"}]}),
    ],
)
def test_what_decides_a_container_is_a_difference(path, value):
    changed = deepcopy(ONE)
    *parents, last = path.split(".")
    place = changed
    for name in parents:
        place = place[name]
    place[last] = value
    assert [found.path for found in differences(ONE, changed)]
    assert [found.path for found in differences(changed, ONE)]


def test_order_counts_where_the_engine_keeps_it():
    assert differences({"Args": ["a", "b"]}, {"Args": ["b", "a"]})


def test_a_difference_says_where_and_what():
    (found,) = differences({"Path": "/a"}, {"Path": "/b"})
    assert str(found) == 'Path: "/a" is not "/b"'


def test_the_order_of_mounts_means_nothing_and_their_content_does() -> None:
    models, cache = {"Target": "/models", "ReadOnly": True}, {"Target": "/cache", "VolumeOptions": {}}
    one = {"HostConfig": {"Mounts": [models, cache]}}
    assert differences(one, {"HostConfig": {"Mounts": [{"Target": "/cache"}, models]}}) == []
    (found,) = differences(one, {"HostConfig": {"Mounts": [{"Target": "/models"}, cache]}})
    assert found.path == "HostConfig.Mounts[1].ReadOnly"
