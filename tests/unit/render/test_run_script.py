"""The script means what the spec says, whatever stands in it."""

import shlex
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homellm.domain.secret import Secret
from homellm.domain.spec import Arg, ContainerSpec, EnvVar, Mount
from homellm.render.quoting import shell_word
from homellm.render.run import render_run
from tests.unit.render.specs import BARE, CUDA, SERVER
from tests.unit.render.templates import RUN

ARGUMENT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
FLAG = ARGUMENT.map(lambda text: f"--{text}")


def script(*specs, **options):
    return render_run(specs, RUN, title="title", **options)


def array(text: str, name: str) -> list[str]:
    """The words of a bash array of the script, as a shell reads them."""
    body = text.split(f"\n{name}=(\n", 1)[1].split("\n)\n", 1)[0]
    return shlex.split(body, comments=True)


def options_of(words: list[str]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(FLAG, st.none() | ARGUMENT, ARGUMENT)))
def test_every_argument_comes_out_as_it_went_in(args):
    spec = replace(BARE, args=tuple(Arg(*arg) for arg in args))
    text = script(spec)
    assert (array(text, "command") if args else []) == list(spec.argv)


@given(ARGUMENT)
def test_a_word_survives_the_shell(text):
    assert shlex.split(shell_word(text)) == [text]


def test_a_nul_can_stand_in_no_script():
    with pytest.raises(ValueError, match="NUL"):
        shell_word("a\0b")


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """A `docker` that writes down its words and the key that it finds in its environment."""
    folder = tmp_path_factory.mktemp("bin")
    docker = folder / "docker"
    docker.write_text(
        '#!/bin/bash\nprintf "%s\\0" "$@" "KEY=${LLAMA_API_KEY-}" >> "$CALLS"; printf "\\1" >> "$CALLS"\n'
    )
    docker.chmod(0o755)
    return folder


def calls(stub, text, tmp_path, **environ):
    """What bash makes of the script: the words of each call of docker, the last one being the key."""
    path = tmp_path / "calls"
    path.unlink(missing_ok=True)
    bash = shutil.which("bash")
    environment = {"PATH": f"{stub}:/usr/bin:/bin", "CALLS": str(path), **environ}
    done = subprocess.run([bash, "-c", text], env=environment, capture_output=True, text=True, check=False)
    made = path.read_text().split("\1")[:-1] if path.exists() else []
    return done, [call.split("\0")[:-1] for call in made]


NASTY = ("$HOME `id` \"q\" 'q'", "# no comment", "a\nb", "", "*", "~", "\\", "é→🦙", "!x", ")")


def test_bash_itself_runs_it_and_docker_gets_the_words(stub, tmp_path):
    spec = replace(
        BARE,
        args=tuple(Arg(f"--f{n}", value, value) for n, value in enumerate(NASTY)),
        env=tuple(EnvVar(f"V{n}", value, value) for n, value in enumerate(NASTY)),
        labels={f"l{n}": value for n, value in enumerate(NASTY)},
    )
    done, made = calls(stub, script(spec), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (words,) = made
    assert words[:2] == ["run", "--detach"]
    image = words.index("example/image")
    assert words[image + 1 : -1] == list(spec.argv)
    options = options_of(words[2:image])
    assert [value for flag, value in options if flag == "--env"] == [f"V{n}={v}" for n, v in enumerate(NASTY)]
    assert [value for flag, value in options if flag == "--label"] == [f"l{n}={v}" for n, v in enumerate(NASTY)]


def test_several_networks_are_create_connect_start(stub, tmp_path):
    done, made = calls(stub, script(SERVER), tmp_path, NUC_LFM2_5_LLAMA_API_KEY="k 1")
    assert (done.returncode, done.stderr) == (0, "")
    verbs = [words[:3] for words in made]
    assert verbs[0] == ["network", "inspect", "homellm-nuc"]
    assert verbs[1][0] == "create"
    assert made[1][-1] == "KEY=k 1"
    assert made[2][:-1] == ["network", "connect", "--alias", "lfm2.5", "open-webui", "nuc-lfm2.5"]
    assert made[3][:-1] == ["start", "nuc-lfm2.5"]
    assert not any("k 1" in word for words in made for word in words[:-1])


def test_without_its_secret_the_script_stops_before_it_does_anything(stub, tmp_path):
    done, made = calls(stub, script(SERVER), tmp_path)
    assert done.returncode != 0
    assert "NUC_LFM2_5_LLAMA_API_KEY" in done.stderr
    assert made == []


def test_a_secret_is_written_only_when_asked_for():
    assert "s3cr" not in script(SERVER)
    shown = script(SERVER, show_secrets=True)
    assert ("--env", "LLAMA_API_KEY=s3cr$t 'key'") in options_of(array(shown, "options"))
    assert ":?" not in shown


def test_a_secret_of_a_name_that_no_shell_assigns(stub, tmp_path):
    spec = replace(BARE, env=(EnvVar("my.key", Secret("x")),))
    done, made = calls(stub, script(spec), tmp_path, BARE_MY_KEY="k 2")
    assert done.returncode == 0
    assert made[0][made[0].index("--env") + 1] == "my.key=k 2"


def test_two_secrets_never_share_a_variable():
    one, two = (replace(BARE, name=name, env=(EnvVar("K", Secret("x")),)) for name in ("a.b", "a-b"))
    text = script(one, two)
    assert '"${A_B_K:?}"' in text
    assert '"${A_B_K_2:?}"' in text


def test_a_mount_with_commas_and_quotes_is_one_csv_record():
    spec = replace(BARE, mounts=(Mount("bind", '/srv/a,b "c"', "/models"),))
    assert ("--mount", 'type=bind,"source=/srv/a,b ""c""",target=/models,readonly') in options_of(
        array(script(spec), "options")
    )


def test_gpus_entrypoint_and_ports():
    options = options_of(array(script(CUDA), "options"))
    for option in (
        ("--entrypoint", "/usr/lib/ollama/llama-server"),
        ("--gpus", 'driver=nvidia,"device=GPU-5a3f,GPU-6b4e"'),
        ("--device", "nvidia.com/gpu=GPU-7c5d"),
        ("--publish", "[::1]:11436:8080"),
        ("--health-interval", "2500ms"),
        ("--stop-timeout", "0"),
        ("--restart", "no"),
    ):
        assert option in options


def test_every_argument_of_the_server_has_its_why_above_it():
    lines = script(SERVER).splitlines()
    for arg in SERVER.args:
        at = next(
            n for n, line in enumerate(lines) if line.strip().startswith(arg.flag + " ") or line.strip() == arg.flag
        )
        assert lines[at - 1].strip() == f"# {arg.because}"


def test_no_label_of_ours_is_rendered():
    assert "homellm." not in script(SERVER, CUDA)


def test_a_reason_cannot_leave_its_comment():
    evil = "first\nrm -rf x\r\x0b\u2028second"
    text = script(replace(BARE, args=(Arg("--a", None, evil),)))
    assert "  # first rm -rf x second\n" in text


def test_notes_stand_at_the_head():
    assert "\n# Note: flags are assumed\n" in script(BARE, notes=["flags are\nassumed"])


def test_nothing_in_a_spec_is_taken_for_a_template():
    spec = ContainerSpec(name="n", image="i", args=(Arg("{{ 1 + 1 }}", "{% raw %}"),))
    assert array(script(spec), "command") == ["{{ 1 + 1 }}", "{% raw %}"]
