# Words and small steps that scripts/quickstart, scripts/test and .ci/run share. To be sourced by bash.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }

# fail WHAT NEXT: what happened, and what to type next.
fail() {
  printf '\nfailed: %s\n  next: %s\n' "$1" "$2" >&2
  exit 1
}

# quietly WHAT NEXT COMMAND...: shows a command's output only when it fails.
quietly() {
  local what="$1" next="$2" log
  shift 2
  log="$(mktemp)"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "$what" "$next"
  fi
  rm -f "$log"
}

need_root() {
  [ "$(id -u)" = 0 ] || fail "$1 needs root" "sudo $0"
}

has() { command -v "$1" >/dev/null 2>&1; }

package_here() {
  [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

# install_packages NAME...: Debian packages, those that are missing only. The list is fetched once a run.
install_packages() {
  local missing=() name
  for name in "$@"; do
    package_here "$name" || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  has apt-get || fail "these packages are missing and there is no apt-get: ${missing[*]}" "install them, then run $0 again"
  need_root "installing ${missing[*]}"
  say "installs with apt-get: ${missing[*]}"
  if [ -z "${PACKAGE_LISTS_FRESH:-}" ]; then
    # A third-party source that does not answer must not end it: the install below tells whether it mattered.
    apt-get update -q >/dev/null 2>&1 </dev/null || say "apt-get update: not every source answered; going on"
    export PACKAGE_LISTS_FRESH=1
  fi
  quietly "apt-get could not install ${missing[*]}" "apt-get update && apt-get install ${missing[*]}, then run $0 again" \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Files made under sudo belong to the person who typed it.
give_to_caller() {
  [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$@"
}
