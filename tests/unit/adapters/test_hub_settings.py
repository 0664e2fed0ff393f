"""Where the hub and its cache are, by the variables of Hugging Face's own programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from homellm.adapters.hub_settings import settings_of

HOME = Path("/home/eva")


@pytest.mark.parametrize(
    ("environ", "cache"),
    [
        ({}, "/home/eva/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/c", "HF_HOME": "/hf"}, "/hf/hub"),
        ({"HF_HOME": "~/hf"}, "/home/eva/hf/hub"),
        ({"HF_HOME": "/hf", "HF_HUB_CACHE": "/models"}, "/models"),
        ({"HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
    ],
)
def test_the_cache_is_where_the_library_has_it(environ, cache):
    assert settings_of(environ, HOME).cache == Path(cache)
    code = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    env = {"HOME": str(HOME), **environ}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True, text=True)
    assert said.stdout.strip() == cache


def test_a_relative_cache_is_one_of_this_folder():
    assert settings_of({"HF_HOME": "hf"}, HOME).cache == Path.cwd() / "hf" / "hub"


def test_endpoint_and_offline():
    plain = settings_of({}, HOME)
    assert (plain.endpoint, plain.offline, plain.token) == ("https://huggingface.co", False, None)
    mirror = settings_of({"HF_ENDPOINT": "https://hub.example.org/", "HF_HUB_OFFLINE": "1"}, HOME)
    assert (mirror.endpoint, mirror.offline) == ("https://hub.example.org", True)
    assert not settings_of({"HF_HUB_OFFLINE": "0"}, HOME).offline


def test_the_token_by_variable_or_file(tmp_path):
    (tmp_path / "token").write_text("hf_kept\n")
    by_file = settings_of({"HF_HOME": str(tmp_path)}, HOME).token
    assert by_file is not None
    assert by_file.reveal() == "hf_kept"
    assert "hf_kept" not in repr(settings_of({"HF_HOME": str(tmp_path)}, HOME))
    by_name = settings_of({"HF_HOME": str(tmp_path), "HF_TOKEN": " hf_given "}, HOME).token
    assert by_name is not None
    assert by_name.reveal() == "hf_given"
    assert settings_of({"HF_HOME": str(tmp_path), "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}, HOME).token is None
