#!/bin/sh
# Writes all generated files: deep copies and the CRDs that api/crds embeds, from api/, with the rules of
# api/rules and the classes of fields, the admission policies, and the roles for networks.
# CONTROLLER_GEN may name an existing binary; by default it is built from the module of that version.
set -eu
cd "$(dirname "$0")/.."
gen=${CONTROLLER_GEN:-go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0}
$gen object paths=./api/...
operator='./api/network/...;./api/networkoperator/...;./api/operator/...'
$gen crd:crdVersions=v1 paths="$operator" output:crd:dir=api/crds
$gen crd:crdVersions=v1 paths=./api/sdn/... output:crd:dir=api/crds/openshiftsdn
go run ./hack/mkcrds api/crds api/crds/openshiftsdn
go run ./hack/mkadmission > config/admission/policies.yaml
go run ./hack/mkrbac > config/rbac/networks.yaml
go run ./hack/mksafety
