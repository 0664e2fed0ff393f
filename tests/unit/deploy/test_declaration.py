"""`ps` holds what the file means against what a container was made as, wherever in the file that is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from homellm.deploy.check import check
from homellm.deploy.ps import ps
from homellm.deploy.restart import restart
from homellm.deploy.scope import Scope
from homellm.domain.names import LABEL_DECLARED
from homellm.domain.secret import Secret
from homellm.domain.verdicts import State
from homellm.loading import load
from tests.unit.deploy.lab import IMAGE, NAME, Lab, model
from tests.unit.deploy.ollama_lab import SERVER, OllamaLab, hybrid

HEAD = "stack: nuc\n"
PLAIN = "models:\n  smol: {source: gguf:/models/smol.gguf, image: %s, port: 8081}\n" % IMAGE  # noqa: UP031 - braces
FILE = Path("/home/me/homellm.yaml")


class FileLab(Lab):
    """A lab whose stack is a file's text."""

    text = HEAD + PLAIN
    environ: dict[str, str] = {}  # noqa: RUF012 - set anew by each test

    def stack(self, *models, looking=False):
        return load(FILE, self.text, self.environ, looking=looking)

    def ps(self):
        (report,) = ps(self.stack(looking=True), self.ports()).models
        return report


@pytest.fixture
def lab():
    lab = FileLab()
    assert lab.up().models[0].state is State.VERIFIED
    return lab


def makes(lab):
    """The containers that the last verb made."""
    return [str(call.args[0]) for call in lab.engine.calls if call.method == "create"]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "defaults: {ctx: 2048}\n" + PLAIN,
        HEAD + "defaults: {env: {A: b}}\n" + PLAIN,
        HEAD + "defaults: {extra_args: [--no-warmup]}\n" + PLAIN,
        HEAD + PLAIN.replace("port: 8081", "port: 8081, ctx: '${CTX}'"),
    ],
    ids=["defaults", "env of defaults", "arguments of defaults", "a variable"],
)
def test_a_change_outside_of_the_model_s_own_words_is_seen_until_it_is_applied(lab, text):
    lab.environ = {"CTX": "2048"}
    lab.text = text
    report = lab.ps()
    assert (report.state, report.edited) == (State.UNVERIFIED, True)
    assert lab.up().models[0].state is State.VERIFIED
    assert makes(lab) == [f"{NAME}.next"]
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)


def test_another_value_of_a_variable_is_a_change(lab):
    lab.text = HEAD + PLAIN.replace("port: 8081", "port: 8081, ctx: '${CTX}'")
    lab.environ = {"CTX": "4096"}
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)
    lab.environ = {"CTX": "2048"}
    assert (lab.ps().state, lab.ps().edited) == (State.UNVERIFIED, True)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + f"models:\n  smol:\n    port: '8081'\n    image: {IMAGE}\n    source: gguf:/models/smol.gguf\n",
        HEAD + PLAIN.replace("port: 8081", "port: 8081, ctx: 4096, mlock: false, bind: 127.0.0.1"),
        HEAD + "defaults: {port: 8081}\n" + PLAIN.replace(", port: 8081", ""),
        HEAD + PLAIN.replace("port: 8081", "port: 8081, pull: never"),
    ],
    ids=["other words", "what holds anyway", "moved to defaults", "pull"],
)
def test_another_spelling_is_no_change(lab, text):
    lab.text = text
    assert (lab.ps().state, lab.ps().edited, lab.ps().notes) == (State.VERIFIED, False, ())
    lab.up()
    assert makes(lab) == []


def test_the_order_of_variables_makes_no_other_container(lab):
    for order in ("{A: x, B: y}", "{B: y, A: x}", "[B=y, A=x]"):
        lab.text = HEAD + PLAIN.replace("port: 8081", f"port: 8081, env: {order}")
        assert lab.up().models[0].state is State.VERIFIED
    assert lab.state.names() == {NAME: "running", f"{NAME}.prev-1": "exited"}


def like_it(lab):
    """A declaration that is another one and makes the same container: a line of the old label is not of this time."""
    container = lab.state.by_name(NAME)
    labels = {**container.body["Labels"], LABEL_DECLARED: '{"ctx":1}'}
    container.body = {**container.body, "Labels": labels}


def test_an_up_that_finds_nothing_to_do_makes_it_verified_again(lab):
    like_it(lab)
    assert (lab.ps().state, lab.ps().edited) == (State.UNVERIFIED, True)
    assert lab.up().models[0].state is State.VERIFIED
    assert makes(lab) == []
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)
    lab.up()
    assert [call for call in lab.engine.calls if call.method == "put_file"] == []  # it is known by now
    lab.text = lab.text.replace("8081", "8082")
    assert (lab.ps().state, lab.ps().edited) == (State.UNVERIFIED, True)


@pytest.mark.parametrize("verb", [check, restart])
def test_so_does_a_look_that_finds_it_as_declared(lab, verb):
    like_it(lab)
    (report,) = verb(lab.stack(), (), lab.ports(), lab.options, Scope(), lambda _event: None).models
    assert report.state is State.VERIFIED
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)


def test_what_it_was_made_as_outlives_its_run(lab):
    like_it(lab)
    lab.up()
    lab.engine.kill(NAME, "SIGTERM")
    report = lab.ps()
    assert (report.state, report.edited) == (State.STOPPED, False)


def test_of_an_older_homellm_the_words_count(lab):
    container = lab.state.by_name(NAME)
    labels = {name: text for name, text in container.body["Labels"].items() if name != LABEL_DECLARED}
    container.body = {**container.body, "Labels": labels}
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)
    lab.text = lab.text.replace("8081", "8082")
    assert (lab.ps().state, lab.ps().edited) == (State.UNVERIFIED, True)
    lab.text = HEAD + PLAIN
    assert lab.up().models[0].state is State.VERIFIED
    assert makes(lab) == []  # it is not made anew for its label, and known from now on
    lab.text = HEAD + PLAIN.replace("port: 8081", "port: 8081, ctx: 4096")
    assert (lab.ps().state, lab.ps().edited) == (State.VERIFIED, False)
    lab.text = HEAD + "defaults: {ctx: 2048}\n" + PLAIN
    assert (lab.ps().state, lab.ps().edited) == (State.UNVERIFIED, True)


class TestSecrets:
    TEXT = HEAD + PLAIN.replace("port: 8081", "port: 8081, api_key: '${KEY}', env: {HF_TOKEN: '${TOKEN}'}")

    @pytest.fixture
    def keyed(self):
        lab = FileLab()
        lab.text, lab.environ = self.TEXT, {"KEY": "one", "TOKEN": "two"}
        assert lab.up().models[0].state is State.VERIFIED
        return lab

    def test_another_value_is_a_change(self, keyed):
        assert (keyed.ps().state, keyed.ps().edited) == (State.VERIFIED, False)
        for other in ({"KEY": "three", "TOKEN": "two"}, {"KEY": "one", "TOKEN": "three"}):
            keyed.environ = other
            assert (keyed.ps().state, keyed.ps().edited) == (State.UNVERIFIED, True)

    def test_one_that_is_gone_is_a_change(self, keyed):
        keyed.text = keyed.text.replace("api_key: '${KEY}', ", "")
        assert (keyed.ps().state, keyed.ps().edited) == (State.UNVERIFIED, True)

    def test_one_that_is_not_known_here_is_not_taken_for_the_same(self, keyed):
        keyed.environ = {"TOKEN": "two"}
        report = keyed.ps()
        assert (report.state, report.edited) == (State.UNVERIFIED, None)
        assert report.notes == ("Not compared with the stack file, since a variable in it is not set here: api_key.",)
        keyed.environ = {"TOKEN": "three"}
        assert (keyed.ps().state, keyed.ps().edited) == (State.UNVERIFIED, True)

    def test_none_is_in_a_label(self, keyed):
        labels = keyed.state.by_name(NAME).body["Labels"]
        keyed.environ = {"KEY": "one-long-secret", "TOKEN": "two"}
        assert keyed.up().models[0].state is State.VERIFIED
        labels = keyed.state.by_name(NAME).body["Labels"]
        assert "one-long-secret" not in str(labels)


class TestOnOllama:
    @pytest.fixture
    def served(self):
        lab = OllamaLab()
        assert lab.up(hybrid(parallel=1, fallback="none")).models[0].state is State.VERIFIED
        return lab

    @staticmethod
    def listed(lab, **changes):
        (report,) = ps(lab.stack(hybrid(**{"parallel": 1, "fallback": "none"} | changes)), lab.ports()).models
        return report

    def test_as_it_was_declared(self, served):
        report = self.listed(served, section="hybrid:\n  other: words\n")
        assert (report.state, report.edited) == (State.VERIFIED, False)

    @pytest.mark.parametrize("changes", [{"ctx": 1024}, {"fallback": "llama-server"}, {"mlock": True}])
    def test_a_change_of_the_model(self, served, changes):
        report = self.listed(served, **changes)
        assert (report.state, report.edited) == (State.UNVERIFIED, True)
        served.up(hybrid(**{"parallel": 1, "fallback": "none"} | changes))
        report = self.listed(served, **changes)
        assert (report.state, report.edited) == (State.VERIFIED, False)

    @pytest.mark.parametrize("changes", [{"env": MappingProxyType({"A": "b"})}, {"keep_alive": 60}, {"port": 11999}])
    def test_a_change_of_its_server(self, served, changes):
        served.server = replace(served.server, **changes)
        assert (self.listed(served).state, self.listed(served).edited) == (State.UNVERIFIED, True)
        served.server = OllamaLab.server
        assert (self.listed(served).state, self.listed(served).edited) == (State.VERIFIED, False)

    def test_a_secret_of_its_server(self):
        lab = OllamaLab()
        lab.server = replace(lab.server, env=MappingProxyType({"A_TOKEN": Secret("one")}))
        asked = hybrid(parallel=1, fallback="none")
        lab.up(asked)
        assert self.listed(lab).edited is False
        lab.server = replace(lab.server, env=MappingProxyType({"A_TOKEN": Secret("two")}))
        assert self.listed(lab).edited is True

    def test_another_word_of_the_server_is_settled_by_the_next_up(self, served):
        container = served.state.by_name(SERVER)
        labels = {**container.body["Labels"], LABEL_DECLARED: '{"port":1}'}
        container.body = {**container.body, "Labels": labels}
        assert self.listed(served).edited is True
        served.up(hybrid(parallel=1, fallback="none"))
        assert served.made() == []
        assert (self.listed(served).state, self.listed(served).edited) == (State.VERIFIED, False)

    def test_one_that_has_moved_is_held_against_what_it_is_declared_as(self):
        lab = OllamaLab()
        assert lab.up(hybrid()).models[0].fallback is not None
        (report,) = ps(lab.stack(hybrid(section="other words")), lab.ports()).models
        assert (report.state, report.edited, report.container) == (State.VERIFIED, False, "nuc-hybrid")
        for changes in ({"ctx": 1024}, {"fallback": "none"}, {"batch": 64}):
            (report,) = ps(lab.stack(hybrid(**changes)), lab.ports()).models
            assert (report.state, report.edited) == (State.UNVERIFIED, True)

    def test_a_load_of_an_older_homellm_is_not_taken_for_the_present_file(self, served):
        container = served.state.by_name(SERVER)
        container.files["/.homellm.json"] = container.files["/.homellm.json"].replace(b'"declared"', b'"forgotten"')
        report = self.listed(served)
        assert (report.state, report.edited) == (State.UNVERIFIED, None)
        assert report.notes == (
            "Whether the stack file changed since it was loaded is not known: homellm up hybrid looks.",
        )
        served.up(hybrid(parallel=1, fallback="none"))
        assert (self.listed(served).state, self.listed(served).edited) == (State.VERIFIED, False)


def test_a_key_that_homellm_does_not_know_yet_changes_nothing_for_older_containers():
    lab = Lab()
    lab.up(model())
    (report,) = ps(lab.stack(model(mlock=False, swa_full=None)), lab.ports()).models
    assert report.edited is False
