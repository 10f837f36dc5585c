#!/bin/sh
# Writes everything that is generated: deep copies and the CRDs that api/crds embeds, from api/, with the rules of
# api/rules and the classes of fields, the admission policies, and the roles for networks.
# CONTROLLER_GEN may name a ready program; by default it is built from the module of that version.
set -eu
cd "$(dirname "$0")/.."
gen=${CONTROLLER_GEN:-go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0}
$gen object paths=./api/...
$gen crd:crdVersions=v1 paths=./api/... output:crd:dir=api/crds
go run ./hack/mkcrds
go run ./hack/mkadmission > config/admission/policies.yaml
go run ./hack/mkrbac > config/rbac/networks.yaml
go run ./hack/mksafety
