#!/usr/bin/env bash
# Loads the images of a release into a separate containerd, for each architecture, and checks that each has the digest that
# install.yaml has.
#   load-images.sh DIR
set -euo pipefail
dir=$(realpath "$1")
bin=${CNO_TEST_ASSETS:-$(dirname "$0")/../_output/lab/bin}
work=$(mktemp -d)
printf 'version = 3\nroot = "%s/root"\nstate = "%s/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"]\n[grpc]\naddress = "%s/sock"\n' "$work" "$work" "$work" > "$work/config.toml"
"$bin/containerd" --config "$work/config.toml" > "$work/log" 2>&1 &
containerd=$!
trap 'kill $containerd; wait $containerd || true; rm -rf "$work"' EXIT
ctr() { "$bin/ctr" --address "$work/sock" --namespace k8s.io "$@" 2> "$work/error" || { cat "$work/error"; return 1; }; }
for _ in $(seq 300); do ctr version > /dev/null 2>&1 && break; sleep 0.1; done
while read -r reference; do
  name=${reference%@*}
  for arch in amd64 arm64; do
    ctr images import --local --no-unpack --base-name "$name" --digests --platform "linux/$arch" "$dir/images/${name##*/}.tar" > /dev/null
  done
  ctr images ls -q "name==$reference" | grep -qxF "$reference" || { echo "containerd does not have $reference"; ctr images ls -q; exit 1; }
  echo "loaded $reference"
done < "$dir/images.txt"
