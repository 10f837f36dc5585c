package render

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/kargs"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

func kernelArguments(_ *options, hosts []metal.Host) (output, nmstate.Problems, error) {
	// The document must be one that NetworkManager takes: it reads the arguments.
	all, problems := checkHosts(hosts)
	problems = append(problems, without(all, "the kernel's command line")...)
	out := output{about: "the kernel arguments of one host"}
	for _, h := range hosts {
		doc, _ := preboot.Parse(h.File, h.Document)
		if doc == nil {
			continue // checkHosts reports why
		}
		args, wrong := kargs.Arguments(h.Name, doc)
		problems = append(problems, h.Locate(wrong)...)
		line := []byte(strings.Join(args, " ") + "\n")
		out.files = append(out.files, file{h.Name + ".kargs", line})
		out.stream = append(out.stream, line)
	}
	return out, problems, nil
}
