"""`pull: never` and `pull: always` where the registry, or the image, is not to be had."""

from dataclasses import replace

from homellm.deploy.pull import BUILT_HERE, pull
from homellm.deploy.scope import Scope
from homellm.domain.stack import OllamaServer, Source, Volume
from homellm.domain.verdicts import State
from homellm.errors import ExitCode
from homellm.report.tables import pull_table
from tests.unit.deploy.lab import IMAGE, NAME, Lab, model
from tests.unit.deploy.ollama_lab import OLLAMA, OllamaLab, hybrid

AWAY = 'Get "https://registry.invalid/v2/": dial tcp: lookup registry.invalid: no such host'
USED = "The image is here: with pull: missing homellm up uses it and asks nobody."


def pulled(lab, *models):
    return pull(lab.stack(*models), (), lab.ports(), lab.options, Scope(), lab.events.append)


def asked(lab):
    return [call.args[0] for call in lab.engine.calls if call.method == "pull"]


def away(lab, image=IMAGE):
    lab.state.pull_errors[image] = [AWAY] * 9


def test_a_pull_leaves_images_alone_that_are_never_to_be_pulled_and_says_so():
    lab = Lab()
    report = pulled(lab, model(pull="never"), model(name="gone", image="built/here:1", port=None, pull="never"))
    assert (report.exit_code, asked(lab)) == (ExitCode.OK, [])
    assert [one.notes for one in report.models] == [
        (f"the image {IMAGE} was not asked for, as its pull is never; it is here",),
        ("the image built/here:1 was not asked for, as its pull is never; it is not here",),
    ]
    assert "The image is here" not in pull_table(report)


def test_another_model_may_want_the_same_image():
    lab = Lab()
    lab.state.registry[IMAGE] = lab.state.find_image(IMAGE)
    report = pulled(lab, model(pull="never"), model(name="other", port=None))
    assert (report.exit_code, asked(lab), report.models[0].notes) == (ExitCode.OK, [IMAGE], ())


def test_the_image_of_an_ollama_server_alike():
    lab = OllamaLab()
    lab.server = OllamaServer("main", OLLAMA, port=11434, store=Volume("/srv/ollama", "/root/.ollama"), pull="never")
    report = pulled(lab, hybrid())
    assert (report.exit_code, asked(lab)) == (ExitCode.OK, [])
    assert report.models[0].notes == (f"the image {OLLAMA} was not asked for, as its pull is never; it is here",)


def test_an_up_is_refused_before_anything_is_made_where_nobody_may_bring_the_image():
    lab = Lab()
    report = lab.up(model(image="built/here:1", pull="never"))
    ((problem,),) = [one.problems for one in report.models]
    assert (report.exit_code, problem.id) == (ExitCode.REFUSED, "no-such-image")
    assert problem.hint == "Make it or bring it here (docker pull built/here:1), or set pull: missing."
    assert (lab.state.names(), lab.state.networks.get("homellm-nuc"), asked(lab)) == ({}, None, [])


def test_always_with_the_registry_away_fails_and_says_that_the_image_is_here():
    lab = Lab()
    lab.up()
    away(lab)
    report = lab.up(model(pull="always"))
    ((problem,),) = [one.problems for one in report.models]
    assert (report.models[0].state, problem.id) == (State.FAILED, "registry-unreachable")
    assert problem.hint.endswith(f"docker pull {IMAGE} must work there. {USED}")
    assert lab.state.names() == {NAME: "running"}
    away(lab)
    assert USED in pulled(lab).models[0].problems[0].hint


def test_nobody_is_told_of_an_image_that_is_not_here():
    lab = Lab()
    away(lab, "far/away:1")
    report = lab.up(model(image="far/away:1", pull="always"))
    assert "The image is here" not in report.models[0].problems[0].hint


def test_an_image_that_the_quickstart_built_is_named_where_another_cannot_be_had():
    lab = Lab()
    lab.state.add_image(f"{BUILT_HERE}:0123456789ab")
    away(lab, "ghcr.io/ggml-org/llama.cpp:server")
    report = lab.up(model(image="ghcr.io/ggml-org/llama.cpp:server"))
    said = f"Here is a llama-server that scripts/quickstart built: image: {BUILT_HERE}:0123456789ab with pull: never"
    assert report.models[0].problems[0].hint.endswith(f"{said} uses it.")
    # Of itself it is not the way out, and no Ollama is served by it.
    away(lab, f"{BUILT_HERE}:other")
    lab.state.images.clear()
    assert (
        BUILT_HERE not in lab.up(model(image=f"{BUILT_HERE}:other")).models[0].problems[0].hint.split("work there")[-1]
    )


def test_a_model_that_ollama_has_not_and_that_nobody_is_to_pull():
    """`homellm pull` brings no models of Ollama's: nobody is sent there."""
    report = OllamaLab().up(hybrid(source=Source("ollama", "gone"), pull="never"))
    ((problem,),) = [one.problems for one in report.models]
    assert (problem.id, problem.hint) == ("model-absent", "Set pull: missing: then homellm up brings it.")


def test_what_ran_before_is_told_when_an_image_cannot_be_brought():
    lab = Lab()
    lab.up()
    away(lab, "example/newer:tag")
    (report,) = lab.up(model(image="example/newer:tag")).models
    assert report.state is State.FAILED
    assert report.notes == (f"What ran before still serves: {NAME}.",)
    assert (report.container, report.endpoint) == (NAME, "http://127.0.0.1:8081/v1")
    (first,) = Lab().up(model(image="example/newer:tag")).models
    assert (first.notes, first.endpoint) == ((), None)


def test_the_ollama_server_that_ran_before_is_told_when_its_image_cannot_be_brought():
    lab = OllamaLab()
    asked = hybrid(parallel=1, fallback="none")
    lab.up(asked)
    lab.server = replace(lab.server, image="example/ollama:newer")
    away(lab, "example/ollama:newer")
    (report,) = lab.up(asked).models
    assert report.notes == ("What ran before still serves: nuc-main.",)
    assert report.endpoint == "http://127.0.0.1:11434/v1"
