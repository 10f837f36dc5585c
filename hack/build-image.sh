#!/bin/sh
# Builds images from their Dockerfiles, all or the given ones, with podman or with $BUILDCMD
# (BUILDCMD="docker build"). "make images" builds the same without a container engine.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(ls images)
version=${VERSION:-$(sed -n 's/^const Default = "\(.*\)"$/\1/p' internal/version/version.go)}
for image in "$@"; do
  ${BUILDCMD:-podman build} --build-arg "VERSION=$version" -t "localhost/cno/$image:$version" -f "images/$image/Dockerfile" .
done
