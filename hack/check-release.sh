#!/usr/bin/env bash
# Builds a release a second time, from a checkout of the same commit in another directory, and compares all files byte for byte;
# then loads the images of the release with containerd, as a node without a registry does.
#   check-release.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
first=$PWD/_output/release/$version
work=$(mktemp -d)
trap 'rm -rf "$work"; git worktree prune' EXIT
git worktree add --quiet --detach "$work/checkout" HEAD
(cd "$work/checkout" && make --no-print-directory release "VERSION=$version")
(cd "$work/checkout/_output/release/$version" && sha256sum --quiet --check SHA256SUMS)
diff -r "$first" "$work/checkout/_output/release/$version"
echo "two builds of $version are the same: $(wc -l < "$first/SHA256SUMS") files"
hack/load-images.sh "$first"
