# A Docker Engine: the one that answers, else Debian's. Needs common.sh and a made .venv.
# After ensure_engine, ENGINE_PID is the dockerd that this script started itself, and empty otherwise.

ENGINE_LOG="${HOMELLM_DOCKERD_LOG:-/var/log/homellm-dockerd.log}"
ENGINE_PID=""
SYSTEMD_DIR=/run/systemd/system # there while systemd is PID 1
RUN_DIR=/var/run

engine_says() { (cd "$ROOT" && "$VENV/bin/python" -m scripts.provision.engine); }

ensure_engine() {
  local code=0
  engine_says >&2 || code=$?
  [ "$code" != 0 ] || return 0
  # 3: none runs here and none is named elsewhere. For everything else the reason was told, with what to type.
  [ "$code" = 3 ] || exit 1
  need_root "starting a Docker Engine"
  if ! has dockerd; then
    say "There is no Docker Engine on this machine. This installs the package docker.io of your distribution"
    say "from the sources that apt uses already, and nothing else."
    install_packages docker.io ca-certificates $(engine_extras)
  fi
  start_engine
  engine_says >&2 || fail "the engine was started and still does not answer" "less $ENGINE_LOG"
}

# What docker.io only recommends but cannot do without on some machines.
engine_extras() {
  if grep -qs Y /sys/module/apparmor/parameters/enabled; then echo apparmor; fi
  if ! [ -d "$SYSTEMD_DIR" ] && [ -z "$(ls -A /sys/fs/cgroup 2>/dev/null)" ]; then echo cgroupfs-mount; fi
}

start_engine() {
  if [ -d "$SYSTEMD_DIR" ]; then
    say "starts the engine by systemd: systemctl start docker"
    ENGINE_LOG="the journal: journalctl -u docker"
    quietly "systemd could not start Docker" "journalctl -u docker" systemctl start docker
    wait_for_engine systemctl is-active --quiet docker
  else
    forget_stale_pid "$RUN_DIR/docker.pid" dockerd
    forget_stale_pid "$RUN_DIR/docker/containerd/containerd.pid" containerd
    say "starts the engine in the background (there is no systemd): dockerd, log in $ENGINE_LOG"
    setsid dockerd >>"$ENGINE_LOG" 2>&1 </dev/null &
    ENGINE_PID=$!
    wait_for_engine kill -0 "$ENGINE_PID"
  fi
}

# After a machine was stopped hard, a pid file may name a process that is somebody else's by now.
forget_stale_pid() {
  local pid
  pid="$(cat "$1" 2>/dev/null)" || return 0
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || rm -f "$1"
}

# wait_for_engine ALIVE...: until it answers; ends early when the command ALIVE says that it has died.
wait_for_engine() {
  local deadline=$((SECONDS + 90))
  until engine_says >/dev/null 2>&1; do
    if ! "$@" || [ "$SECONDS" -ge "$deadline" ]; then
      [ ! -f "$ENGINE_LOG" ] || grep -E 'level=(error|fatal)|^failed' "$ENGINE_LOG" | tail -n 5 >&2
      fail "the Docker Engine did not come up" "read $ENGINE_LOG, then run $0 again"
    fi
    sleep 0.3
  done
}

# stop_engine: ends the dockerd that ensure_engine started, and waits for its end.
stop_engine() {
  [ -n "$ENGINE_PID" ] || return 0
  kill "$ENGINE_PID" 2>/dev/null || return 0
  wait "$ENGINE_PID" 2>/dev/null || true
  ENGINE_PID=""
}
