#!/usr/bin/env bash
# Unpacks Debian packages below DIR, once and without installing them, and prints the directory that contains their files.
#   unpack-debian.sh DIR PACKAGE...
set -eu
dir=$1
shift
if [ ! -d "$dir/root" ]; then
  mkdir -p "$dir"
  exec 9>"$dir/.unpack"
  flock 9
  if [ ! -d "$dir/root" ]; then
    work=$(mktemp -d "$dir/.new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    # Lists of packages may be missing or old.
    apt-get download -qq "$@" >&2 || { apt-get update -qq >&2 && apt-get download -qq "$@" >&2; }
    for p in *.deb; do dpkg -x "$p" root; done
    mv root "$dir/root"
  fi
fi
echo "$dir/root"
