# homellm in a virtual environment, .venv in the checkout. Needs common.sh.

VENV="$ROOT/.venv"

usable_python() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# find_python: prints a Python 3.11 or newer that can make virtual environments, or nothing.
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do
    if has "$candidate" && usable_python "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
}

# ensure_venv [EXTRA]: made once, and again when pyproject.toml, the checkout's place or the extra changes.
ensure_venv() {
  local extra="${1:-}" python wanted stamp="$VENV/homellm-stamp"
  wanted="$ROOT [$extra] $(sha256sum <"$ROOT/pyproject.toml")"
  if [ -f "$stamp" ] && grep -qxF "$wanted" "$stamp" && "$VENV/bin/python" -c 'import homellm' 2>/dev/null; then
    return 0
  fi
  python="$(find_python)"
  if [ -z "$python" ]; then
    install_packages python3 python3-venv
    python="$(find_python)"
  fi
  [ -n "$python" ] || fail "no Python 3.11 or newer with the venv module was found" \
    "use Debian 12, Ubuntu 24.04 or newer, or put a python3 of 3.11 first in PATH, then run $0 again"
  # pip proves by these whom it speaks to; a minimal system has none.
  [ -s /etc/ssl/certs/ca-certificates.crt ] || install_packages ca-certificates
  say "makes $VENV with $("$python" --version), and installs homellm${extra:+ with its extra [$extra]} into it from PyPI"
  if ! "$VENV/bin/python" -c '' 2>/dev/null; then
    quietly "no virtual environment could be made at $VENV" "rm -r $VENV, then run $0 again" \
      "$python" -m venv --clear "$VENV"
  fi
  quietly "pip could not install homellm" "$VENV/bin/python -m pip install -e '$ROOT${extra:+[$extra]}'" \
    "$VENV/bin/python" -m pip install --disable-pip-version-check --quiet -e "$ROOT${extra:+[$extra]}"
  # The test extra holds everything, so what was installed with it serves the plain installation too.
  printf '%s\n' "$wanted" "$ROOT [] $(sha256sum <"$ROOT/pyproject.toml")" >"$stamp"
  give_to_caller "$VENV"
}
