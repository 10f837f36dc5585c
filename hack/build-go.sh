#!/bin/sh
# Builds the binaries of cmd/, all or the given ones, to _output/<os>/<arch>/ (or to $OUT). $GOOS and $GOARCH
# choose the platform, $VERSION the version that is linked in, and $LDFLAGS are further flags of the linker.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-_output/$(go env GOOS)/$(go env GOARCH)}
[ $# -gt 0 ] || set -- $(ls cmd)
ldflags="-s -w"
[ -z "${VERSION:-}" ] || ldflags="$ldflags -X github.com/cluster-network-operator/cno/internal/version.linked=$VERSION"
ldflags="$ldflags ${LDFLAGS:-}"
mkdir -p "$out"
echo "building $* to $out"
# Without the tag, gRPC contains pages with templates that call methods by name, so that the linker would keep all exported methods of all types:
# the operator's binary would be a quarter larger.
CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "$ldflags" -o "$out/" $(printf './cmd/%s ' "$@")
# The names under which kubectl finds cno and its completion.
if [ -f "$out/cno" ]; then
	ln -sf cno "$out/kubectl-cno"
	ln -sf cno "$out/kubectl_complete-cno"
fi
