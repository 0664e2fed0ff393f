"""What a declared model becomes as a container."""

from pathlib import Path

import pytest

from homellm.domain.dialect import Dialect, FlagHelp
from homellm.domain.secret import Secret
from homellm.domain.spec import EnvVar, HealthCheck, LogConfig, NetworkAttachment, PublishedPort
from homellm.domain.stack import LogSettings, Source, Volume
from homellm.domain.world import Image, ModelFile
from homellm.runners.arguments import cpus
from tests.unit.runners.build import IMAGE, argv, built, model, places, value_of


def test_the_whole_argv_in_its_order():
    wanted = model(parallel=3, ctx=2048, batch=1024, ubatch=256, cpuset="0-2,5", jinja=True, mlock=True)
    assert argv(wanted) == [
        *("--model", "/models/smol.gguf", "--alias", "smol", "--parallel", "3", "--ctx-size", "6144"),
        *("--host", "0.0.0.0", "--port", "8080", "--threads", "4", "--metrics", "--log-verbosity", "4"),
        *("--batch-size", "1024", "--ubatch-size", "256", "--jinja", "--load-mode", "mlock"),
    ]


def test_every_argument_has_a_reason():
    wanted = model(
        parallel=2, batch=1, ubatch=1, gpu_layers="all", flash_attention="on", cache_reuse=1, kv_unified=True,
        swa_full=True, reasoning_preserve=True, jinja=True, mlock=True, sleep_idle_s=9, embedding=True,
        mmproj=Path("/srv/p.gguf"), chat_template_file=Path("/srv/t.jinja"), cpuset="0", extra_args=("--temp", "1"),
    )  # fmt: skip
    spec = built(wanted).spec
    assert [arg.flag for arg in spec.args if not arg.because] == []
    assert all(mount.because for mount in spec.mounts)


def test_the_slots_are_always_said_outright():
    assert value_of(argv(model()), "--parallel") == "1"
    assert value_of(argv(model()), "--ctx-size") == "4096"


def test_a_unified_pool_holds_the_context_of_all_slots():
    spec = built(model(parallel=3, ctx=1000, kv_unified=True)).spec
    ctx = next(arg for arg in spec.args if arg.flag == "--ctx-size")
    assert ctx.value == "3000"
    assert "one pool" in ctx.because


def test_without_a_cpuset_the_threads_are_the_servers_own():
    assert "--threads" not in argv(model())


def test_a_cpuset_is_counted_once_for_each_cpu():
    assert cpus("0-3,2,8") == (0, 1, 2, 3, 8)


def test_names_network_and_path():
    made = built(model(name="LFM2.5:2.6b", networks=("open-webui",)))
    assert made.expected_path == "/models/smol.gguf"
    assert made.spec.name == "nuc-LFM2.5-2.6b"
    assert value_of(list(made.spec.argv), "--alias") == "LFM2.5:2.6b"
    assert made.spec.networks == (
        NetworkAttachment("homellm-nuc", ("lfm2.5-2.6b",)),
        NetworkAttachment("open-webui", ("lfm2.5-2.6b",), external=True),
    )


@pytest.mark.parametrize("name", ["host", "none", "bridge", "default"])
def test_networks_of_the_engine_itself_are_refused(name):
    made = built(model(networks=(name,), places=places("networks")))
    assert [(problem.id, problem.line) for problem in made.problems] == [("network-built-in", 1)]


def test_nothing_is_published_without_a_port():
    assert built(model()).spec.ports == ()
    assert built(model(port=11435, bind="[::1]")).spec.ports == (PublishedPort("::1", 11435, 8080),)


def test_folders_are_mounted_read_only_each_at_a_target_of_its_own():
    wanted = model(
        mmproj=Path("/srv/models/mm proj.gguf"),
        chat_template_file=Path("/etc/llm/chat.jinja"),
        volumes=(Volume("cache", "/root/.cache", named=True), Volume("/srv/lora", "/lora", read_only=True)),
    )
    spec = built(wanted).spec
    assert [(m.kind, m.source, m.target, m.read_only) for m in spec.mounts] == [
        ("bind", "/srv/models", "/models", True),
        ("bind", "/srv/models", "/mmproj", True),
        ("bind", "/etc/llm", "/templates", True),
        ("bind", "/srv/lora", "/lora", True),
        ("volume", "cache", "/root/.cache", False),
    ]
    assert value_of(list(spec.argv), "--mmproj") == "/mmproj/mm proj.gguf"
    assert value_of(list(spec.argv), "--chat-template-file") == "/templates/chat.jinja"


def test_weights_that_are_links_are_mounted_where_the_links_lead():
    cache = "/home/me/.cache/huggingface/hub/models--org--m"
    weights = Path(f"{cache}/snapshots/abc/m.gguf")
    folders = (f"{cache}/snapshots/abc", f"{cache}/blobs", f"{cache}/blobs/deeper")
    file = ModelFile(str(weights), "ok", link_folders=folders)
    wanted = model(source=Source("gguf", "", weights))
    made = built(wanted, files={str(weights): file})
    assert made.expected_path == str(weights)
    assert value_of(list(made.spec.argv), "--model") == str(weights)
    assert [(m.source, m.target, m.read_only) for m in made.spec.mounts] == [(f, f, True) for f in folders[:2]]


def test_other_files_that_are_links_are_mounted_as_the_weights_are():
    """A projector beside its weights in the hub's cache, whose folders are mounted once; a template elsewhere."""
    cache = "/home/me/.cache/huggingface/hub/models--org--m"
    weights, projector = Path(f"{cache}/snapshots/abc/m.gguf"), Path(f"{cache}/snapshots/abc/mmproj.gguf")
    template, folders = Path("/srv/chat.jinja"), (f"{cache}/snapshots/abc", f"{cache}/blobs")
    found = {str(path): ModelFile(str(path), "ok", link_folders=folders) for path in (weights, projector)}
    found[str(template)] = ModelFile(str(template), "not-gguf", link_folders=("/srv", "/opt/templates"))
    wanted = model(source=Source("gguf", "", weights), mmproj=projector, chat_template_file=template)
    made = built(wanted, files=found)
    said = list(made.spec.argv)
    assert (value_of(said, "--mmproj"), value_of(said, "--chat-template-file")) == (str(projector), str(template))
    assert [(m.source, m.target) for m in made.spec.mounts] == [(f, f) for f in (*folders, "/srv", "/opt/templates")]
    assert [m.because for m in made.spec.mounts][::2] == [
        "the weights are symbolic links, which lead to the same place here and there",
        "the chat template is a symbolic link, which leads to the same place here and there",
    ]
    assert made.problems == ()


def test_a_template_of_ones_own_comes_after_jinja():
    said = argv(model(jinja=True, chat_template_file=Path("/etc/llm/chat.jinja")), "early-2025")
    assert said.index("--jinja") < said.index("--chat-template-file")


def test_two_mounts_at_one_target_are_refused():
    made = built(model(volumes=(Volume("/srv/other", "/models/"),)))
    assert [problem.id for problem in made.problems] == ["mount-target-taken"]


def test_the_api_key_goes_by_environment_and_never_by_argv():
    spec = built(model(api_key=Secret("s3cret"), env={"A": "1"})).spec
    assert spec.env[0].name == "LLAMA_API_KEY"
    assert spec.env[0].value == Secret("s3cret")
    assert spec.env[1] == EnvVar("A", "1", "a variable of your own")
    assert "s3cret" not in repr(spec)
    assert "s3cret" not in " ".join(spec.argv)


@pytest.mark.parametrize(
    ("driver", "declared", "config"),
    [
        ("json-file", LogSettings(), LogConfig("json-file", {"max-size": "10m", "max-file": "3"})),
        ("local", LogSettings(), LogConfig("local", {"max-size": "10m", "max-file": "3"})),
        ("journald", LogSettings(), None),
        ("none", LogSettings(), None),
        ("journald", LogSettings(driver="local"), LogConfig("local", {"max-size": "10m", "max-file": "3"})),
        ("json-file", LogSettings(driver="journald"), LogConfig("journald", {})),
        # max-file alone is refused by the engine.
        ("json-file", LogSettings(max_size=None), None),
        ("json-file", LogSettings(max_files=None), LogConfig("json-file", {"max-size": "10m"})),
    ],
)
def test_the_log_is_rotated_where_the_driver_can(driver, declared, config):
    made = built(model(log=declared), log_driver=driver)
    assert made.spec.log == config
    effective = declared.driver or driver
    assert bool([note for note in made.notes if f"`{effective}`" in note]) == (effective in ("journald", "none"))


def image(check):
    return Image("sha256:1", (IMAGE,), health_check=check)


@pytest.mark.parametrize(
    ("own", "given"),
    [
        (None, None),
        (HealthCheck(("NONE",), 0), None),
        (HealthCheck(("CMD-SHELL", "curl x"), 900), None),
        (HealthCheck(("CMD-SHELL", "curl x"), 0, interval_s=30), HealthCheck(("CMD-SHELL", "curl x"), 600)),
    ],
)
def test_the_images_own_health_check_gets_time_and_none_is_invented(own, given):
    assert built(model(), image=image(own)).spec.health_check == given


@pytest.mark.parametrize(
    ("user", "word"),
    [("", None), ("0:0", None), ("root", None), ("1000", "user 1000"), ("ubuntu:ubuntu", "user ubuntu")],
)
def test_where_the_capability_has_no_effect_a_note_says_so(user, word):
    known = Image("sha256:1", (IMAGE,), user=user)
    notes = [note for note in built(model(mlock=True), image=known).notes if "mlock" in note]
    assert ([word in note for note in notes] == [True]) if word else (notes == [])
    assert not [note for note in built(model(), image=known).notes if "mlock" in note]


def test_limits_policies_and_labels_are_passed_on():
    spec = built(
        model(
            cpuset="0-1", cpu_shares=512, memory_bytes=1 << 30, shm_size_bytes=1 << 26, restart="always",
            stop_grace_s=30, container_name="mine", labels={"a": "b"},
        )
    ).spec  # fmt: skip
    assert (spec.cpuset, spec.cpu_shares, spec.memory_bytes, spec.shm_size_bytes) == ("0-1", 512, 1 << 30, 1 << 26)
    assert (spec.restart, spec.stop_grace_s, spec.name, dict(spec.labels)) == ("always", 30, "mine", {"a": "b"})


@pytest.mark.parametrize(("kind", "id"), [("ollama", "source-without-file"), ("hf", "model-absent")])
def test_a_source_that_is_no_file_is_refused(kind, id):
    made = built(model(source=Source(kind, "org/repo:Q4_K_M"), places=places("source")))
    assert made.spec is None
    assert made.problems[0].id == id
    assert made.problems[0].line == 1


def test_an_image_that_is_no_llama_server_is_told_by_its_help():
    other = Dialect({"--config": FlagHelp(("--config",), (), "FILE")})
    made = built(model(), other)
    assert [problem.id for problem in made.problems] == ["image-not-llama-server"]
    assert "--model" in made.problems[0].message


def test_an_image_that_is_not_here_has_an_assumed_dialect_and_a_note():
    made = built(model(mlock=True), None)
    assert "mlock" in made.spec.argv
    assert any("not here yet" in note and "11669" in note for note in made.notes)
