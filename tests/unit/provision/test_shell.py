"""The shell steps before Python, with every program that they call replaced by one that only writes down its call."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[3] / "scripts" / "lib"
REAL = ("bash", "cat", "dirname", "grep", "ln", "ls", "mktemp", "rm", "setsid", "sleep", "tail", "touch")


class Machine:
    """A PATH of its own; each stub appends its call to `calls`, then runs `body`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name))
        self.stub("id", "echo 0", silent=True)
        self.stub("dpkg-query", "exit 1", silent=True)
        self.engine = folder / "venv" / "bin" / "python"
        self.engine.parent.mkdir(parents=True)

    def stub(self, name, body="", *, silent=False, path=None):
        place = path or self.bin / name
        call = "" if silent else f'echo "{name} $*" >>{self.folder}/calls\n'
        place.write_text(f"#!/bin/bash\n{call}{body}\n")
        place.chmod(0o755)

    def engine_says(self, body):
        """What `python -m scripts.provision.engine` does on this machine."""
        self.stub("python", body, silent=True, path=self.engine)

    def run(self, script, **env):
        lines = [
            "set -euo pipefail",
            *(f"source {LIB}/{name}.sh" for name in ("common", "venv", "engine")),
            f"VENV={self.folder}/venv RUN_DIR={self.folder}/run SYSTEMD_DIR={self.folder}/systemd",
            f"ENGINE_LOG={self.folder}/dockerd.log",
            script,
        ]
        environment = {"PATH": str(self.bin), "HOME": str(self.folder), **env}
        return subprocess.run(
            ["/bin/bash", "-c", "\n".join(lines), "quickstart"],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def calls(self):
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


UP = '[ -e up ] && echo "Docker Engine 1 answers" && exit 0; echo "No Docker Engine is running here." >&2; exit 3'


def up_in(folder):
    return UP.replace("-e up", f"-e {folder}/up")


@pytest.mark.parametrize(
    ("script", "arguments", "code"),
    [("quickstart", ["--help"], 0), ("quickstart", ["-h"], 0), ("quickstart", ["now"], 2), ("test", ["--help"], 0)],
)
def test_a_script_that_is_asked_for_help_does_nothing_else(machine, script, arguments, code):
    done = subprocess.run(
        ["/bin/bash", str(LIB.parent / script), *arguments],
        env={"PATH": str(machine.bin), "HOME": str(machine.folder)},
        cwd=machine.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code
    assert (done.stdout or done.stderr).startswith(f"Usage: sudo scripts/{script}")
    assert "== " not in done.stdout + done.stderr  # the first step of either
    assert machine.calls == []


def test_an_engine_that_answers_is_used_and_nothing_is_installed(machine):
    machine.engine_says('echo "Docker Engine 1 answers"')
    machine.stub("apt-get")
    done = machine.run("ensure_engine; echo started=$ENGINE_PID")
    assert (done.returncode, done.stdout) == (0, "started=\n")
    assert "Docker Engine 1 answers" in done.stderr
    assert machine.calls == []


def test_a_reason_that_starting_one_would_not_cure_ends_it(machine):
    machine.engine_says('echo "You are not allowed to use the Docker Engine" >&2; exit 1')
    machine.stub("apt-get")
    done = machine.run("ensure_engine")
    assert done.returncode == 1
    assert "not allowed" in done.stderr
    assert machine.calls == []


def test_without_one_it_is_said_before_it_is_installed_and_started(machine):
    machine.engine_says(up_in(machine.folder))
    later = machine.folder / "dockerd"
    machine.stub("dockerd", f"touch {machine.folder}/up; exec sleep 60", silent=True, path=later)
    machine.stub("apt-get", f'[ "$1" != install ] || ln -s {later} {machine.bin}/dockerd')
    done = machine.run('ensure_engine; kill -0 "$ENGINE_PID" && echo runs; stop_engine; echo "left=$ENGINE_PID"')
    assert done.stdout == "runs\nleft=\n", done.stderr
    assert done.stderr.index("installs the package docker.io") < done.stderr.index("installs with apt-get")
    assert f"log in {machine.folder}/dockerd.log" in done.stderr
    assert machine.calls == [
        "apt-get update -q",
        "apt-get install -q -y --no-install-recommends docker.io ca-certificates",
    ]


def test_where_systemd_runs_it_starts_the_engine(machine):
    (machine.folder / "systemd").mkdir()
    machine.engine_says(up_in(machine.folder))
    machine.stub("dockerd")
    machine.stub("systemctl", f"touch {machine.folder}/up")
    done = machine.run("ensure_engine; echo started=$ENGINE_PID")
    assert (done.returncode, done.stdout) == (0, "started=\n"), done.stderr
    assert machine.calls == ["systemctl start docker"]


def test_an_engine_that_dies_while_starting_is_told_with_its_last_errors(machine):
    machine.engine_says("exit 3")
    machine.stub("dockerd", 'echo "level=info msg=hello"; echo "level=fatal msg=\\"no space left\\""; exit 1')
    done = machine.run("ensure_engine")
    assert done.returncode == 1
    assert "no space left" in done.stderr
    assert "hello" not in done.stderr
    assert f"next: read {machine.folder}/dockerd.log" in done.stderr


def test_without_root_the_next_command_is_named(machine):
    machine.stub("id", "echo 1000", silent=True)
    machine.engine_says("exit 3")
    machine.stub("apt-get")
    done = machine.run("ensure_engine")
    assert done.returncode == 1
    assert "next: sudo quickstart" in done.stderr
    assert machine.calls == []


def test_a_pid_file_is_forgotten_only_when_its_process_is_another(machine):
    (machine.folder / "run").mkdir()
    pid_file = machine.folder / "run" / "docker.pid"
    check = f"forget_stale_pid {pid_file} bash; forget_stale_pid {machine.folder}/none bash"
    pid_file.write_text(str(os.getpid()))
    machine.run(check)
    assert not pid_file.exists()
    done = machine.run(f"echo $$ >{pid_file}; {check}; ls run")
    assert done.stdout == "docker.pid\n"


def test_only_missing_packages_are_installed_and_a_failure_shows_apts_words(machine):
    machine.stub("dpkg-query", 'case "$*" in *here*) echo -n "ii ";; *) exit 1;; esac', silent=True)
    machine.stub("apt-get", 'if [ "$1" = install ]; then echo "E: Unable to locate package nope" >&2; exit 100; fi')
    done = machine.run("install_packages here-a nope here-b")
    assert done.returncode == 1
    assert "E: Unable to locate package nope" in done.stderr
    assert "failed: apt-get could not install nope" in done.stderr
    assert machine.calls[-1].endswith("--no-install-recommends nope")


def test_a_python_that_is_too_old_is_passed_over(machine):
    machine.stub("python3", "exit 1", silent=True)
    machine.stub("python3.12", "exit 0", silent=True)
    done = machine.run("find_python")
    assert done.stdout.strip() in ("/usr/bin/python3", f"{machine.bin}/python3.12")
