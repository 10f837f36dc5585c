#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME each; new failing inputs stay in testdata/fuzz. The minimization of new inputs is
# limited, since its default of a minute for each input would leave no time for fuzzing.
set -eu
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | grep -v '^./e2e' | while read -r pkg; do
  for f in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$pkg"/*_test.go | awk '{print $2}'); do
    go test "$pkg" -run '^$' -fuzz "^$f\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime 20x
  done
done
