package template

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// write adds a file.
func (r *renderer) write(at *field.Path, name string, document tree) {
	content, err := encode(document)
	if err != nil {
		r.errs = append(r.errs, field.InternalError(at, err))
		return
	}
	r.places[name] = at
	r.out.Files = append(r.out.Files, placement.File{Name: name, Content: content})
}

// writePreBoot adds the document for PreBoot of a host, if it is valid.
func (r *renderer) writePreBoot(at *field.Path, host *networkv1.Host, document tree) {
	content, err := encode(document)
	if err != nil {
		r.errs = append(r.errs, field.InternalError(at, err))
		return
	}
	short, machine := placement.ShortName(host.Name), host.BareMetalHost
	if machine == "" {
		machine = short
	}
	name := validation.PreBootName(short)
	doc, problems := preboot.Parse(name, content)
	for _, p := range problems.Errors() {
		r.errs = append(r.errs, field.Invalid(at, p.Path, "in the document for PreBoot: "+p.Message))
	}
	if doc != nil {
		r.preBoot[short] = doc
		r.places[name] = at
	}
	r.out.PreBoot = append(r.out.PreBoot, HostDocument{Host: short, BareMetalHost: machine, Content: content, Document: doc, Problems: problems})
}

// finish sorts the documents, adds the index, and validates all documents together.
func (r *renderer) finish() {
	slices.SortFunc(r.out.PreBoot, func(a, b HostDocument) int { return strings.Compare(a.Host, b.Host) })
	var roles []placement.Role
	if r.asked(networkv1.FirstBoot) {
		r.addIndex()
		roles = append(roles, placement.Role{Name: r.spec.Role, Files: r.out.Files})
	}
	withoutLine := func(p nmstate.Problem) nmstate.Problem {
		p.Line = 0 // of no file of the user
		return p
	}
	r.out.Documents = &validation.Documents{}
	// Hosts that are not named are unknown, so a shared file with addresses must be reported.
	for _, p := range validation.Validate(roles, validation.Surroundings{PreBoot: r.preBoot, WithoutBridge: r.spec.WithoutBridge, Documents: r.out.Documents, Locate: withoutLine}) {
		where := r.at
		if at, ok := r.places[p.File]; ok {
			where = at
		}
		if p.Warning {
			r.out.Warnings = append(r.out.Warnings, p.String())
			continue
		}
		r.errs = append(r.errs, field.Invalid(where, valueAt(p), p.Message))
	}
}

// addIndex adds the index of MAC addresses, and sorts the files.
func (r *renderer) addIndex() {
	index := placement.Index{}
	for _, host := range r.spec.Hosts {
		for _, text := range host.MACAddresses {
			mac, err := placement.ParseMAC(string(text))
			if err == nil {
				index[mac] = placement.FileName(host.Name)
			}
		}
	}
	if len(index) > 0 {
		r.out.Files = append(r.out.Files, placement.File{Name: placement.IndexFile, Content: index.Encode()})
	}
	r.out.Files = r.out.Files.Sort()
}

func valueAt(p nmstate.Problem) string {
	if p.Path == "" {
		return p.File
	}
	return fmt.Sprintf("%s: %s", p.File, p.Path)
}
