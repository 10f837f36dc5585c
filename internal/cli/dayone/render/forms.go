package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/coreos/ignition/v2/config/v3_2/types"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/linkfile"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

// checkedHost is a host and the files of its document.
type checkedHost struct {
	metal.Host
	files preboot.Files
}

// without warns of what a form has no place for.
func without(all []checkedHost, form string) nmstate.Problems {
	var problems nmstate.Problems
	for _, h := range all {
		if h.files.Document != nil {
			problems = append(problems, h.Locate(linkfile.Unwritten(h.files.Document, form))...)
		}
	}
	return problems
}

// checkHosts returns the files of all hosts, and all problems of their documents.
func checkHosts(hosts []metal.Host) ([]checkedHost, nmstate.Problems) {
	var out []checkedHost
	var problems nmstate.Problems
	for _, h := range hosts {
		files, wrong := preboot.Render(h.File, h.Document)
		problems = append(problems, h.Locate(wrong)...)
		out = append(out, checkedHost{h, files})
	}
	return out, problems
}

func keyfiles(_ *options, hosts []metal.Host) (output, nmstate.Problems, error) {
	all, problems := checkHosts(hosts)
	out := output{about: "the profiles of one host"}
	for _, h := range all {
		pairs := [][2]string{}
		for _, p := range h.files.Profiles {
			pairs = append(pairs, [2]string{p.Name, p.Content})
			out.files = append(out.files, file{h.Name + "/" + p.Name, []byte(p.Content)})
		}
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]any{"NetworkManager": pairs}); err != nil {
			return output{}, nil, fmt.Errorf("encode profiles: %w", err)
		}
		out.stream = append(out.stream, text.Bytes())
	}
	return out, append(problems, without(all, "a profile of NetworkManager")...), nil
}

func ignitionConfigs(o *options, hosts []metal.Host) (output, nmstate.Problems, error) {
	base, problems, err := readBase(o.base)
	if err != nil {
		return output{}, nil, err
	}
	all, wrong := checkHosts(hosts)
	problems = append(problems, wrong...)
	out := output{about: "the Ignition configuration of one host"}
	for _, h := range all {
		if h.files.Document != nil {
			problems = append(problems, h.Locate(linkfile.Left(h.files.Document))...)
		}
		text, err := ignition.Marshal(preboot.Config(h.files, base))
		if err != nil {
			return output{}, nil, fmt.Errorf("host %s: %w", h.Name, err)
		}
		text = append(text, '\n')
		out.files = append(out.files, file{h.Name + ".ign", text})
		out.stream = append(out.stream, text)
	}
	return out, problems, nil
}

// readBase reads the configuration to merge with; nil without a file. What its validator warns of is a problem.
func readBase(path string) (*types.Config, nmstate.Problems, error) {
	if path == "" {
		return nil, nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read base configuration: %w", err)
	}
	config, warnings, err := ignition.Parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	var problems nmstate.Problems
	for _, w := range warnings {
		problems = append(problems, nmstate.Problem{File: path, Message: w, Warning: true})
	}
	return &config, problems, nil
}

// secretImage is what becomes of a Secret: `nmstatectl gc` writes its profiles only.
const secretImage = "the boot image that the cluster builds of the Secret"

func secrets(o *options, hosts []metal.Host) (output, nmstate.Problems, error) {
	all, problems := checkHosts(hosts)
	problems = append(problems, without(all, secretImage)...)
	out := output{separator: "---\n"}
	for _, h := range hosts {
		if h.Machine != nil && h.Document == nil {
			// A host of an install-config without a document is one that needs none.
			continue
		}
		secret, err := metal.Secret(h, o.namespace)
		if err != nil {
			problems = append(problems, nmstate.Problem{File: h.File, Message: err.Error()})
			continue
		}
		if err := out.object(metal.SecretName(h.Name)+".yaml", secret); err != nil {
			return output{}, nil, err
		}
	}
	return out, problems, nil
}

func bareMetalHosts(o *options, hosts []metal.Host) (output, nmstate.Problems, error) {
	all, problems := checkHosts(hosts)
	problems = append(problems, without(all, secretImage)...)
	out := output{separator: "---\n"}
	for _, h := range hosts {
		object, err := metal.BareMetalHost(h, o.namespace)
		if err != nil {
			problems = append(problems, nmstate.Problem{File: h.File, Message: err.Error()})
			continue
		}
		if secret := metal.BMCSecret(h, o.namespace); secret != nil {
			if err := out.object(secret.Name+".yaml", secret); err != nil {
				return output{}, nil, err
			}
		}
		if err := out.object(h.Name+".yaml", object.Object); err != nil {
			return output{}, nil, err
		}
	}
	return out, problems, nil
}

// object adds an object of Kubernetes.
func (o *output) object(name string, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	o.files = append(o.files, file{name, text})
	o.stream = append(o.stream, text)
	return nil
}
