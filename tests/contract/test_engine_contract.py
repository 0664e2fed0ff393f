"""What every Engine does, tried alike on the fake and on the real one. A fake that answers otherwise is at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from homellm.adapters.docker_probe import run_probe
from homellm.domain.names import LABEL_ROLE
from homellm.domain.world import NEVER, Container
from homellm.errors import ContainerGone, EngineRefused, HomellmError, NameTaken, NotRemoved
from tests.contract.lab import ENTRYPOINT, RUN_LABEL, Bench
from tests.contract.programs import BUSY, CRASH, DEAF, HOG, MISSING, MISSING_PROGRAM, QUICK, SERVER, STUBBORN

MIB = 2**20


def problem(error: pytest.ExceptionInfo[HomellmError]) -> str:
    """The id of an error, which has to say more than nothing."""
    assert str(error.value)
    return error.value.problems[0].id


def test_the_engine_tells_what_it_is(bench: Bench) -> None:
    info = bench.engine.info()
    assert info.id
    assert info.version[0].isdigit()
    assert info.root_dir.startswith("/")
    assert info.cpus >= 1
    assert info.memory_bytes > 100 * MIB
    assert info.log_driver
    assert info.local
    assert info == bench.engine.info()


class TestAbsent:
    """A container that is not there."""

    @pytest.mark.parametrize(
        ("method", "args"),
        [
            ("inspect", ()),
            ("start", ()),
            ("kill", ("SIGTERM",)),
            ("wait", (1.0,)),
            ("rename", ("homellm-test-other",)),
            ("set_restart_policy", ("no",)),
            ("put_file", ("/f", b"x")),
            ("get_file", ("/f",)),
            ("get_tree", ("/tmp",)),
            ("file_size", ("/f",)),
            ("memory_usage", ()),
        ],
    )
    def test_is_told(self, bench: Bench, method: str, args: tuple[Any, ...]) -> None:
        ref = bench.name("absent")
        with pytest.raises(ContainerGone, match=ref) as error:
            getattr(bench.engine, method)(ref, *args)
        assert problem(error) == "container-gone"

    def test_is_told_by_logs(self, bench: Bench) -> None:
        with pytest.raises(ContainerGone):
            bench.engine.logs(bench.name(), since=None, follow=True)

    def test_cannot_join_a_network(self, bench: Bench) -> None:
        network = bench.name("net")
        bench.engine.create_network(network, bench.labels)
        with pytest.raises(ContainerGone):
            bench.engine.connect_network(network, bench.name("absent"), ())

    def test_is_found_to_be_none_and_removed_without_complaint(self, bench: Bench) -> None:
        assert bench.engine.find_container(bench.name()) is None
        bench.engine.remove(bench.name())

    def test_is_not_taken_for_one_whose_id_begins_alike(self, bench: Bench) -> None:
        made = bench.create(SERVER)
        assert bench.engine.find_container(made.id[:12]) is None
        bench.engine.remove(made.id[:12])
        with pytest.raises(ContainerGone):
            bench.engine.start(made.id[:12])
        assert bench.engine.find_container(made.id) is not None


class TestCreate:
    def test_a_new_container_is_as_it_was_asked_for(self, bench: Bench) -> None:
        name = bench.name()
        made = bench.create(
            SERVER,
            name=name,
            labels={"homellm.stack": "x"},
            ExposedPorts={"8080/tcp": {}},
            HostConfig={
                "Memory": 64 * MIB,
                "RestartPolicy": {"Name": "unless-stopped"},
                "PortBindings": {"8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": "18124"}]},
                "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m"}},
            },
        )
        assert isinstance(made.warnings, tuple)
        container = bench.engine.find_container(name)
        assert container
        assert container == bench.engine.find_container(made.id)
        assert container.id == made.id
        assert container.name == name
        assert container.status == "created"
        assert not container.running
        assert container.image == bench.lab.image
        image = bench.engine.find_image(bench.lab.image)
        assert image
        assert container.image_id == image.id
        assert container.label("homellm.stack") == "x"
        assert container.restart_policy == "unless-stopped"
        assert (container.pid, container.exit_code, container.restart_count) == (0, 0, 0)
        assert (container.started_at, container.finished_at) == (NEVER, NEVER)
        assert container.created_at > "2020"
        assert container.memory_bytes == 64 * MIB
        assert container.log_driver == "json-file"
        assert (container.path, container.args) == (ENTRYPOINT[0], (*ENTRYPOINT[1:], SERVER.script))
        assert container.ports == (("127.0.0.1", 18124, 8080),)
        assert container.health == ""
        assert bench.engine.inspect(name)["Id"] == made.id

    def test_without_a_policy_it_is_not_restarted(self, bench: Bench) -> None:
        container = bench.engine.find_container(bench.create(SERVER).id)
        assert container
        assert container.restart_policy == "no"

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"Image": "homellm-test-no-such-image"}, "no-such-image"),
            ({"HostConfig": {"CpusetCpus": "0-4095"}}, "cpus-unavailable"),
            ({"HostConfig": {"CpusetCpus": "some"}}, "cpuset-invalid"),
            ({"HostConfig": {"Memory": 1024}}, "memory-too-small"),
            (
                {"HostConfig": {"Mounts": [{"Type": "bind", "Source": "/homellm-test-nowhere", "Target": "/m"}]}},
                "mount-missing",
            ),
            (
                {"HostConfig": {"LogConfig": {"Type": "journald", "Config": {"max-size": "1m"}}}},
                "unknown-log-option",
            ),
            ({"HostConfig": {"Runtime": "homellm-test-runtime"}}, "unknown-runtime"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_what_cannot_be_is_refused_and_leaves_nothing(
        self, bench: Bench, fields: dict[str, Any], expected: str
    ) -> None:
        name = bench.name()
        with pytest.raises(EngineRefused) as error:
            bench.create(SERVER, name=name, **fields)
        assert problem(error) == expected
        assert error.value.original
        assert bench.engine.find_container(name) is None

    def test_a_name_that_is_none_is_refused(self, bench: Bench) -> None:
        with pytest.raises(EngineRefused) as error:
            bench.create(SERVER, name="homellm-test a b")
        assert problem(error) == "invalid-name"

    def test_a_name_in_use_is_told_with_its_holder(self, bench: Bench) -> None:
        name = bench.name()
        first = bench.create(SERVER, name=name)
        with pytest.raises(NameTaken, match=name) as error:
            bench.create(SERVER, name=name)
        assert problem(error) == "name-taken"
        assert first.id[:12] in str(error.value)


class TestStart:
    def test_it_runs_until_it_is_told_to_end_and_can_be_started_again(self, bench: Bench) -> None:
        name = bench.name()
        ref = bench.start(SERVER, name=name)
        bench.engine.start(ref)  # one that runs is left alone
        bench.until_logged(ref, b"up\n")
        running = bench.engine.find_container(ref)
        assert running
        assert running.running
        assert running.status == "running"
        assert running.pid > 1
        assert running.created_at < running.started_at
        assert running.finished_at == NEVER
        assert running.addresses["bridge"].count(".") == 3
        assert bench.engine.memory_usage(ref)

        bench.engine.kill(name, "SIGTERM")
        assert bench.engine.wait(ref, 60) == 0
        ended = bench.engine.find_container(ref)
        assert ended
        assert (ended.status, ended.exit_code, ended.pid, ended.oom_killed) == ("exited", 0, 0, False)
        assert ended.started_at == running.started_at
        assert ended.finished_at > ended.started_at
        assert ended.addresses == {"bridge": ""}
        assert bench.engine.memory_usage(ref) is None
        bench.engine.kill(ref, "SIGTERM")  # one that has ended is left alone
        assert bench.engine.wait(ref, 60) == 0

        bench.engine.start(ref)
        again = bench.engine.find_container(ref)
        assert again
        assert again.running
        assert again.started_at > ended.finished_at
        assert again.finished_at == ended.finished_at

    def test_a_program_that_does_not_listen_is_ended_by_sigkill_alone(self, bench: Bench) -> None:
        ref = bench.start(DEAF)
        bench.until_logged(ref, b"loading\n")
        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.wait(ref, 0.3) is None
        bench.engine.kill(ref, "SIGKILL")
        assert bench.engine.wait(ref, 60) == 137

    def test_a_busy_one_leaves_at_the_second_signal(self, bench: Bench) -> None:
        ref = bench.start(BUSY)
        bench.until_logged(ref, b"up\n")
        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.wait(ref, 2) is None  # time to take it: two that wait at once are one to the kernel
        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.wait(ref, 60) == 1

    def test_a_signal_that_is_none_is_refused(self, bench: Bench) -> None:
        ref = bench.start(DEAF)
        with pytest.raises(EngineRefused, match="SIGNOPE"):
            bench.engine.kill(ref, "SIGNOPE")

    def test_a_created_one_is_not_waited_for_and_takes_no_signal(self, bench: Bench) -> None:
        ref = bench.create(SERVER).id
        assert bench.engine.wait(ref, 5) == 0
        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.memory_usage(ref) is None

    def test_an_end_by_itself_keeps_its_code(self, bench: Bench) -> None:
        ref = bench.start(QUICK)
        assert bench.engine.wait(ref, 60) == 3
        container = bench.engine.find_container(ref)
        assert container
        assert (container.status, container.exit_code) == ("exited", 3)

    def test_out_of_memory_is_told(self, bench: Bench) -> None:
        ref = bench.start(HOG, HostConfig={"Memory": 8 * MIB, "MemorySwap": 8 * MIB})
        assert bench.engine.wait(ref, 60) == 137
        container = bench.engine.find_container(ref)
        assert container
        assert container.oom_killed
        assert container.error == ""

    def test_somebody_else_may_remove_it_meanwhile(self, bench: Bench) -> None:
        ref = bench.start(DEAF)
        follow = bench.engine.logs(ref, since=None, follow=True)
        frames = iter(follow)
        assert next(frames) == b"loading\n"
        bench.lab.vanish(ref)
        assert list(frames) == []
        assert bench.engine.find_container(ref) is None


class TestHealth:
    def test_the_engines_own_health_check_is_told(self, bench: Bench) -> None:
        ref = bench.start(SERVER, Healthcheck={"Test": ["CMD", "/bin/busybox", "true"], "Interval": 3600 * 10**9})
        container = bench.engine.find_container(ref)
        assert container
        assert container.health == "starting"
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        container = bench.engine.find_container(ref)
        assert container
        assert container.health == "unhealthy"

    def test_one_that_is_switched_off_is_none(self, bench: Bench) -> None:
        container = bench.engine.find_container(bench.start(QUICK, Healthcheck={"Test": ["NONE"]}))
        assert container
        assert container.health == ""


class TestRestartPolicy:
    def test_a_crash_loop_shows_between_its_runs_and_can_be_ended(self, bench: Bench) -> None:
        ref = bench.start(CRASH, HostConfig={"RestartPolicy": {"Name": "always"}})
        assert bench.engine.wait(ref, 60) == 3  # the first end, though it comes again

        def between() -> Container | None:
            found = bench.engine.find_container(ref)
            # The fifth restart is waited for longer than three seconds: time to look and to refuse.
            return found if found and found.status == "restarting" and found.restart_count >= 5 else None

        container = bench.until(between, "restarting for the fifth time")
        assert not container.running
        assert (container.pid, container.exit_code) == (0, 3)
        assert bench.engine.memory_usage(ref) is None
        with pytest.raises(EngineRefused) as error:
            bench.engine.remove(ref)
        assert problem(error) == "still-running"

        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.wait(ref, 60) == 3
        container = bench.engine.find_container(ref)
        assert container
        assert container.status == "exited"
        assert bench.log(ref).count(b"run\n") >= 2
        bench.engine.set_restart_policy(ref, "no")
        bench.engine.start(ref)
        container = bench.engine.find_container(ref)
        assert container
        assert container.restart_count == 0

    def test_a_policy_set_to_no_ends_the_loop(self, bench: Bench) -> None:
        ref = bench.start(CRASH, HostConfig={"RestartPolicy": {"Name": "always"}})
        bench.engine.wait(ref, 60)
        bench.engine.set_restart_policy(ref, "no")

        def over() -> bool:
            found = bench.engine.find_container(ref)
            return bool(found and found.status == "exited")

        bench.until(over, "not restarted any more")
        container = bench.engine.find_container(ref)
        assert container
        assert container.restart_policy == "no"

    @pytest.mark.parametrize("policy", ["no", "always", "on-failure", "unless-stopped"])
    def test_it_can_be_changed_in_place(self, bench: Bench, policy: Any) -> None:
        ref = bench.create(SERVER).id
        bench.engine.set_restart_policy(ref, policy)
        container = bench.engine.find_container(ref)
        assert container
        assert container.restart_policy == policy

    def test_what_was_told_to_end_does_not_come_again(self, bench: Bench) -> None:
        ref = bench.start(DEAF, HostConfig={"RestartPolicy": {"Name": "always"}})
        bench.engine.kill(ref, "SIGKILL")
        assert bench.engine.wait(ref, 60) == 137
        container = bench.engine.find_container(ref)
        assert container
        assert container.status == "exited"

    def test_nor_does_what_ignored_the_signal_and_crashed_later(self, bench: Bench) -> None:
        ref = bench.start(STUBBORN, HostConfig={"RestartPolicy": {"Name": "always"}})
        bench.until_logged(ref, b"up\n")
        bench.engine.kill(ref, "SIGTERM")
        assert bench.engine.wait(ref, 60) == 5
        container = bench.engine.find_container(ref)
        assert container
        assert (container.status, container.restart_count) == ("exited", 0)


class TestNamesAndRemoval:
    def test_a_running_container_takes_another_name_and_keeps_its_id(self, bench: Bench) -> None:
        old, new = bench.name(), bench.name()
        ref = bench.start(SERVER, name=old)
        bench.engine.rename(old, new)
        assert bench.engine.find_container(old) is None
        renamed = bench.engine.find_container(new)
        assert renamed
        assert renamed.id == ref
        assert renamed.running
        assert bench.create(SERVER, name=old).id != ref  # the old name is free

    def test_a_name_in_use_is_not_taken_away(self, bench: Bench) -> None:
        one, other = bench.name(), bench.name()
        bench.create(SERVER, name=one)
        bench.create(SERVER, name=other)
        with pytest.raises(NameTaken) as error:
            bench.engine.rename(one, other)
        assert problem(error) == "name-taken"
        with pytest.raises(EngineRefused) as refused:
            bench.engine.rename(one, one)
        assert problem(refused) == "same-name"
        with pytest.raises(EngineRefused) as refused:
            bench.engine.rename(one, "homellm-test a b")
        assert problem(refused) == "invalid-name"
        assert bench.engine.find_container(one)

    def test_one_that_runs_is_not_removed(self, bench: Bench) -> None:
        ref = bench.start(DEAF)
        with pytest.raises(EngineRefused) as error:
            bench.engine.remove(ref)
        assert problem(error) == "still-running"
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        bench.engine.remove(ref)
        assert bench.engine.find_container(ref) is None
        bench.engine.remove(ref)

    def test_one_that_never_ran_is_removed(self, bench: Bench) -> None:
        name = bench.name()
        bench.create(SERVER, name=name)
        bench.engine.remove(name)
        assert bench.engine.find_container(name) is None

    def test_a_removal_that_cannot_be_ended_leaves_a_dead_one_which_a_later_one_clears(self, bench: Bench) -> None:
        name = bench.name()
        ref = bench.start(QUICK, name=name, HostConfig={"RestartPolicy": {"Name": "no"}})
        bench.engine.wait(ref, 60)
        with bench.lab.holding_folder(ref):
            with pytest.raises(NotRemoved, match=f"left of {name} is dead") as error:
                bench.engine.remove(ref)
            assert problem(error) == "not-removed"
            assert f"docker rm {name}" in error.value.problems[0].hint
            assert "unable to remove filesystem for" in error.value.original
            dead = bench.engine.find_container(name)
            assert dead
            assert (dead.id, dead.status, dead.being_removed, dead.running) == (ref, "dead", True, False)
            assert [one.status for one in bench.engine.list_containers(bench.labels)] == ["dead"]
            refused: list[Callable[[], object]] = [
                lambda: bench.engine.start(ref),
                lambda: bench.engine.set_restart_policy(ref, "always"),
                lambda: bench.log(ref),
            ]
            for use in refused:
                with pytest.raises(EngineRefused) as error:
                    use()
                assert problem(error) == "being-removed"
            bench.engine.kill(ref, "SIGKILL")  # what does not run is left alone
            assert bench.engine.wait(ref, 60) == 3
            with pytest.raises(NameTaken):
                bench.create(SERVER, name=name)
        bench.engine.remove(name)
        assert bench.engine.find_container(ref) is None
        bench.create(SERVER, name=name)


class TestLists:
    def test_containers_are_found_by_label_whatever_their_state(self, bench: Bench) -> None:
        created = bench.create(SERVER, labels={"homellm.unit": "a"}).id
        running = bench.start(SERVER, labels={"homellm.unit": "b"})
        by_run = bench.engine.list_containers(bench.labels)
        assert [one.id for one in by_run] == [running, created]  # the newest first
        assert by_run[0] == bench.engine.find_container(running)
        both = {**bench.labels, "homellm.unit": "a"}
        assert [one.id for one in bench.engine.list_containers(both)] == [created]
        alone: dict[str, str | None] = {**bench.labels, "homellm.unit": None}
        assert len(bench.engine.list_containers(alone)) == 2
        assert bench.engine.list_containers({RUN_LABEL: "another run"}) == ()
        assert bench.engine.list_containers({**bench.labels, "homellm.absent": None}) == ()

    def test_an_image_is_found_by_name_and_id(self, bench: Bench) -> None:
        image = bench.engine.find_image(bench.lab.image)
        assert image
        assert bench.lab.image in image.tags
        assert image.entrypoint == ENTRYPOINT
        assert image == bench.engine.find_image(image.id)
        assert bench.engine.find_image("homellm-test-no-such-image:1") is None

    def test_images_are_found_by_their_repository(self, bench: Bench) -> None:
        repository = bench.lab.image.rpartition(":")[0]
        assert bench.lab.image in bench.engine.images_named(repository)
        assert bench.engine.images_named("homellm-test-no-such-image") == ()


class TestFiles:
    def test_a_file_is_kept_whether_the_container_runs_or_not(self, bench: Bench) -> None:
        name = bench.name()
        ref = bench.create(SERVER, name=name).id
        bench.engine.put_file(ref, "/.homellm.json", b"one")
        assert bench.engine.get_file(ref, "/.homellm.json") == b"one"
        bench.engine.start(ref)
        assert bench.engine.get_file(ref, "/.homellm.json") == b"one"
        bench.engine.put_file(ref, "/.homellm.json", b"two" * 1000)
        bench.engine.kill(ref, "SIGKILL")
        bench.engine.wait(ref, 60)
        bench.engine.rename(ref, f"{name}.prev-1")
        assert bench.engine.get_file(ref, "/.homellm.json") == b"two" * 1000
        assert bench.engine.get_file(ref, "/.homellm.other") is None
        bench.engine.put_file(ref, "/tmp/empty", b"")
        assert bench.engine.get_file(ref, "/tmp/empty") == b""
        with pytest.raises(EngineRefused) as error:
            bench.engine.put_file(ref, "/no/such/folder/f", b"x")
        assert problem(error) == "path-missing"
        assert bench.engine.get_file(ref, "/no/such/folder/f") is None

    def test_folders_and_sizes_are_read(self, bench: Bench) -> None:
        ref = bench.create(SERVER).id
        assert bench.engine.get_tree(ref, "/tmp") == {}
        bench.engine.put_file(ref, "/tmp/one", b"1")
        bench.engine.put_file(ref, "/tmp/two", b"22")
        assert bench.engine.get_tree(ref, "/tmp") == {"one": b"1", "two": b"22"}
        assert bench.engine.get_tree(ref, "/tmp/") == {"one": b"1", "two": b"22"}
        assert bench.engine.get_tree(ref, "/tmp/none") is None
        assert bench.engine.get_tree(ref, "/tmp/one") is None
        assert bench.engine.file_size(ref, "/tmp/two") == 2
        assert bench.engine.file_size(ref, "/tmp/none") is None
        assert bench.engine.file_size(ref, "/tmp/one/none") is None
        assert bench.engine.file_size(ref, "/tmp") is None

    def test_nothing_is_written_into_a_read_only_root(self, bench: Bench) -> None:
        ref = bench.start(DEAF, HostConfig={"ReadonlyRootfs": True})
        with pytest.raises(EngineRefused) as error:
            bench.engine.put_file(ref, "/.homellm.json", b"x")
        assert problem(error) == "read-only"
        assert bench.engine.get_file(ref, "/.homellm.json") is None


class TestProbe:
    def test_its_output_and_end_are_told_and_nothing_is_left(self, bench: Bench) -> None:
        answer = bench.engine.probe(bench.lab.image, (QUICK.script,), bench.labels)
        assert (answer.exit_code, answer.output) == (3, "one\ntwo\n")
        assert bench.engine.list_containers(bench.labels) == ()

    def test_another_program_of_the_image_is_asked(self, bench: Bench) -> None:
        answer = bench.engine.probe(
            bench.lab.image, ("-c", QUICK.script), bench.labels, entrypoint=("/bin/busybox", "sh")
        )
        assert (answer.exit_code, answer.output) == (3, "one\ntwo\n")
        with pytest.raises(EngineRefused) as error:
            bench.engine.probe(bench.lab.image, (MISSING.script,), bench.labels, entrypoint=(MISSING_PROGRAM,))
        assert problem(error) == "no-such-program"
        assert bench.engine.list_containers(bench.labels) == ()

    def test_one_that_does_not_end_is_given_up_and_removed(self, bench: Bench) -> None:
        with pytest.raises(EngineRefused, match=r"0\.5 s") as error:
            run_probe(bench.engine, bench.lab.image, (DEAF.script,), bench.labels, timeout_s=0.5)
        assert problem(error) == "probe-timeout"
        assert bench.engine.list_containers(bench.labels) == ()

    def test_an_image_that_is_not_here_is_told(self, bench: Bench) -> None:
        with pytest.raises(EngineRefused) as error:
            bench.engine.probe("homellm-test-no-such-image", ("--help",), bench.labels)
        assert problem(error) == "no-such-image"

    def test_it_carries_its_role(self, bench: Bench) -> None:
        seen: list[str] = []

        class Watching:
            """Hands calls on, and looks at the container while it is there."""

            def __getattr__(self, name: str) -> Any:
                if name == "wait":
                    seen.extend(one.label(LABEL_ROLE) for one in bench.engine.list_containers(bench.labels))
                return getattr(bench.engine, name)

        run_probe(Watching(), bench.lab.image, (QUICK.script,), bench.labels)
        assert set(seen) == {"probe"}
