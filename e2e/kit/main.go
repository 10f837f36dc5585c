package kit

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Main brings up a lab with a settled network, runs the tests of a suite in it, takes it down, and returns the exit
// status. It also fails if the API server has refused a request of the operator or its operands because permissions are missing. The
// lab keeps running after a failure, and with -reuse, which uses the running lab.
func Main(m *testing.M, lab **Kit, sample string, up ...string) int {
	return MainWith(m, lab, func(k *Kit) []Step { return k.Install(sample, up...) })
}

// MainOpenShift is Main for a lab that resembles an OpenShift cluster: OpenShift's CRDs and objects exist before the operator is
// installed, and the operator takes its configuration from Network.config.
func MainOpenShift(m *testing.M, lab **Kit, up ...string) int {
	return MainWith(m, lab, func(k *Kit) []Step { return k.OpenShift(up...) })
}

// MainWith is Main for a lab that the steps create.
func MainWith(m *testing.M, lab **Kit, steps func(*Kit) []Step) int {
	reuse := flag.Bool("reuse", false, "use the running lab and do not take it down")
	flag.Parse()
	start := time.Now()
	if err := prepare(lab, *reuse, steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if *lab != nil {
			fmt.Fprintf(os.Stderr, "the lab is kept for inspection: %s\n", (*lab).StatusCommand())
		}
		return 1
	}
	code := m.Run()
	if refused, err := (*lab).Forbidden(start); err != nil || len(refused) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the API server has refused requests because permissions are missing (%v):\n%s\n", err, strings.Join(refused, "\n"))
		code = 1
	}
	if code != 0 || *reuse {
		return code
	}
	if _, err := (*lab).Lab(context.Background(), "down"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func prepare(lab **Kit, reuse bool, steps func(*Kit) []Step) error {
	k, err := Exclusive()
	if err != nil {
		return err
	}
	*lab = k
	if reuse {
		return k.Connect()
	}
	return Run(context.Background(), os.Stdout, steps(k))
}
