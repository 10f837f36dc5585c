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
// status. A request of the operator or its operands that was refused for lack of rights is a failure, too. The lab
// is left as it is when something fails, and with -reuse, which takes the one that is up.
func Main(m *testing.M, lab **Kit, sample string, up ...string) int {
	return MainWith(m, lab, func(k *Kit) []Step { return k.Install(sample, up...) })
}

// MainOpenShift is Main for a lab as OpenShift makes its clusters: their kinds and objects are there before the operator
// is, and the network comes from Network.config.
func MainOpenShift(m *testing.M, lab **Kit, up ...string) int {
	return MainWith(m, lab, func(k *Kit) []Step { return k.OpenShift(up...) })
}

// MainWith is Main for a lab that steps make.
func MainWith(m *testing.M, lab **Kit, steps func(*Kit) []Step) int {
	reuse := flag.Bool("reuse", false, "use the lab that is up, and leave it up")
	flag.Parse()
	begun := time.Now()
	if err := prepare(lab, *reuse, steps); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if *lab != nil {
			fmt.Fprintf(os.Stderr, "the lab is left as it is: look with %s\n", (*lab).Look())
		}
		return 1
	}
	code := m.Run()
	if refused, err := (*lab).Forbidden(begun); err != nil || len(refused) > 0 {
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
