#!/usr/bin/env bash
# Prints the path of nmcli, with which tests check whether NetworkManager reads a keyfile: the installed one, or else that of Debian's
# packages, unpacked below DIR (default: the user's cache) without installing them. It starts no daemon.
set -eu
if command -v nmcli; then exit 0; fi
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/cno/networkmanager}
if [ ! -x "$dir/nmcli" ]; then
  root=$("$here/unpack-debian.sh" "$dir" network-manager libnm0)
  exec 9>"$dir/.lock"
  flock 9
  if [ ! -x "$dir/nmcli" ]; then
    lib=$(dirname "$(find "$root/usr/lib" -name 'libnm.so.0' | head -1)")
    new=$(mktemp "$dir/.nmcli.XXXXXX")
    trap 'rm -f "$new"' EXIT
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$lib" "$root/usr/bin/nmcli" > "$new"
    chmod 755 "$new"
    # Libraries of nmcli that a minimal system does not have.
    if ! "$new" --version >/dev/null 2>&1; then
      [ "$(id -u)" -eq 0 ] || { echo "nmcli of $dir does not run; install libglib2.0-0 and libreadline8" >&2; exit 1; }
      apt-get install -qq -y --no-install-recommends libglib2.0-0 libreadline8 >&2
      "$new" --version >&2
    fi
    mv "$new" "$dir/nmcli"
  fi
fi
echo "$dir/nmcli"
