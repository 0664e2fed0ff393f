"""The create body of the Engine API, as its documentation (v1.41) names the fields."""

import json

from homellm.render.body import api_body
from tests.unit.render.specs import BARE, CUDA, SERVER


def test_the_body_of_a_server_in_full():
    assert api_body(SERVER, {"homellm.stack": "nuc"}, restart="no") == {
        "Image": "ghcr.io/ggml-org/llama.cpp:server-vulkan",
        "Cmd": ["--model", "/models/lfm2.5.gguf", "--alias", "lfm2.5", "--ctx-size", "98304", "--jinja"],
        "Env": ["MESA_VK_DEVICE_SELECT=8086:9a49!", "LLAMA_API_KEY=s3cr$t 'key'"],
        "Labels": {"com.example.owner": "me", "homellm.stack": "nuc"},
        "ExposedPorts": {"8080/tcp": {}},
        "StopTimeout": 10,
        "Healthcheck": {"StartPeriod": 600_000_000_000},
        "HostConfig": {
            "Mounts": [
                {
                    "Type": "bind",
                    "Source": "/srv/models",
                    "Target": "/models",
                    "ReadOnly": True,
                    "BindOptions": {"CreateMountpoint": False},
                },
                {
                    "Type": "volume",
                    "Source": "llm-cache",
                    "Target": "/root/.cache",
                    "ReadOnly": False,
                    "VolumeOptions": {"NoCopy": True},
                },
            ],
            "PortBindings": {"8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": "11435"}]},
            "NetworkMode": "homellm-nuc",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "CpusetCpus": "0-3",
            "CpuShares": 2048,
            "Memory": 8589934592,
            "ShmSize": 134217728,
            "CapAdd": ["IPC_LOCK"],
            "Devices": [
                {
                    "PathOnHost": "/dev/dri/renderD128",
                    "PathInContainer": "/dev/dri/renderD128",
                    "CgroupPermissions": "rwm",
                }
            ],
            "GroupAdd": ["993"],
            "DeviceRequests": [],
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "3"}},
        },
        # Engine 20.10 takes one network at creation.
        "NetworkingConfig": {"EndpointsConfig": {"homellm-nuc": {"Aliases": ["lfm2.5"]}}},
    }


def test_gpus_are_asked_for_by_id_and_an_entrypoint_is_one_word():
    body = api_body(CUDA, {}, restart="no")
    assert body["Entrypoint"] == ["/usr/lib/ollama/llama-server"]
    assert body["Cmd"] == ["--offline", "--embedding"]
    assert body["HostConfig"]["DeviceRequests"] == [
        {"Driver": "nvidia", "DeviceIDs": ["GPU-5a3f", "GPU-6b4e"], "Capabilities": [["gpu"]]},
        {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-7c5d"]},
    ]
    assert body["Healthcheck"] == {
        "StartPeriod": 600_000_000_000,
        "Interval": 2_500_000_000,
        "Timeout": 3_000_000_000,
        "Retries": 4,
    }
    assert body["HostConfig"]["PortBindings"]["8080/tcp"] == [
        {"HostIp": "::1", "HostPort": "11436"},
        {"HostIp": "0.0.0.0", "HostPort": "11437"},
    ]


def test_our_labels_win_over_the_users():
    assert api_body(SERVER, {"com.example.owner": "x"}, restart="no")["Labels"] == {"com.example.owner": "x"}


def test_what_is_not_declared_is_left_to_the_engine():
    body = api_body(BARE, {}, restart="unless-stopped")
    for absent in ("Entrypoint", "Healthcheck", "NetworkingConfig"):
        assert absent not in body
    for absent in ("Memory", "CpusetCpus", "CpuShares", "ShmSize", "LogConfig", "NetworkMode", "Init", "Binds"):
        assert absent not in body["HostConfig"]


def test_a_body_is_json():
    assert json.loads(json.dumps(api_body(SERVER, {}, restart="no")))["Image"] == SERVER.image
