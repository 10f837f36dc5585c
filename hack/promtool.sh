#!/usr/bin/env bash
# Prints the path of promtool, with which tests evaluate the alerts: the installed one, or else that of Debian's package
# prometheus, unpacked in the user's cache without installing it.
set -eu
if command -v promtool; then exit 0; fi
here=$(cd "$(dirname "$0")" && pwd)
root=$("$here/unpack-debian.sh" "${XDG_CACHE_HOME:-$HOME/.cache}/cno/prometheus" prometheus)
echo "$root/usr/bin/promtool"
