#!/usr/bin/env bash
# Prints the path of an nmcli, which tests ask whether NetworkManager reads a keyfile: the one installed, or else that of Debian's
# packages, unpacked below DIR (default: the user's cache) without installing them. Nothing of it starts a daemon.
set -eu
if command -v nmcli; then exit 0; fi
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/cno/networkmanager}
if [ ! -x "$dir/nmcli" ]; then
  mkdir -p "$dir"
  exec 9>"$dir/.lock"
  flock 9
  if [ ! -x "$dir/nmcli" ]; then
    work=$(mktemp -d "$dir/.new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    # Lists of packages may be missing or old.
    apt-get download -qq network-manager libnm0 >&2 || { apt-get update -qq >&2 && apt-get download -qq network-manager libnm0 >&2; }
    for p in *.deb; do dpkg -x "$p" root; done
    rm -rf "$dir/root"
    mv root "$dir/root"
    lib=$(dirname "$(find "$dir/root/usr/lib" -name 'libnm.so.0' | head -1)")
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$lib" "$dir/root/usr/bin/nmcli" > nmcli
    chmod +x nmcli
    # What nmcli needs beside, where a smaller system does not have it.
    if ! ./nmcli --version >/dev/null 2>&1; then
      [ "$(id -u)" -eq 0 ] || { echo "nmcli of $dir does not run; install libglib2.0-0 and libreadline8" >&2; exit 1; }
      apt-get install -qq -y --no-install-recommends libglib2.0-0 libreadline8 >&2
      ./nmcli --version >&2
    fi
    mv nmcli "$dir/nmcli"
  fi
fi
echo "$dir/nmcli"
