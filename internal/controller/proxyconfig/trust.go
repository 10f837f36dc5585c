package proxyconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

// SystemTrustFiles returns the paths where Linux distributions keep trusted CAs, OpenShift's first.
func SystemTrustFiles() []string {
	return []string{
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Red Hat and relatives
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch, Gentoo
		"/etc/ssl/ca-bundle.pem",                            // SUSE
		"/etc/pki/tls/certs/ca-bundle.crt",                  // older Red Hat
		"/etc/ssl/cert.pem",                                 // Alpine
	}
}

// maxTrustFile is the maximum number of bytes that are read of a file. Those of distributions have about 256 KiB.
const maxTrustFile = 8 << 20

// systemTrust are the CAs that the system trusts.
type systemTrust struct {
	// path is the path of the file; empty if there is none.
	path string
	list []cabundle.Certificate
	// problem is the reason why there is none.
	problem string
}

// readSystemTrust reads the first existing file with certificates. Unparsable parts are ignored.
func readSystemTrust(paths []string) systemTrust {
	var problems []string
	for _, path := range paths {
		content, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		list, err := cabundle.Parse(content)
		if len(list) > 0 {
			return systemTrust{path: path, list: list}
		}
		problems = append(problems, fmt.Sprintf("%s: %v", path, err))
	}
	if len(problems) == 0 {
		problems = []string{"there is none of " + strings.Join(paths, ", ")}
	}
	return systemTrust{problem: strings.Join(problems, "; ")}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxTrustFile))
}

// trust is the merged trust bundle and its problems.
type trust struct {
	merged cabundle.Merged
	// errs are errors of the administrator's CAs; the bundle stays unchanged.
	errs field.ErrorList
	// remarks are warnings about accepted certificates.
	remarks []string
	// tooLarge is the message if the bundle does not fit into a ConfigMap; empty if it does.
	tooLarge string
}

// decideTrust merges the administrator's CAs with those of the system.
func decideTrust(w *input) trust {
	user, errs := userTrust(w)
	if len(errs) > 0 {
		return trust{merged: cabundle.Merge(w.now, w.system.list), errs: errs}
	}
	t := trust{merged: cabundle.Merge(w.now, user, w.system.list)}
	if w.proxy.Spec.TrustedCA.Name != BundleName {
		t.remarks = cabundle.Remarks(w.now, user)
	}
	if size := len(t.merged.PEM) + otherKeysSize(w); size > cabundle.Limit {
		t.tooLarge = fmt.Sprintf("ConfigMap %s/%s would have %d bytes, and a ConfigMap holds %d: %d certificates of ConfigMap %s/%s and %d of the system's %s; "+
			"remove certificates that are not needed from the former", BundleNamespace, BundleName, size, cabundle.Limit,
			len(user), UserNamespace, w.proxy.Spec.TrustedCA.Name, len(w.system.list), w.system.path)
	}
	return t
}

// otherKeysSize returns the size of the other keys of the bundle's ConfigMap, in bytes.
func otherKeysSize(w *input) (size int) {
	if w.bundle == nil {
		return 0
	}
	for key, value := range w.bundle.Data {
		if key != cabundle.Key {
			size += len(value)
		}
	}
	for _, value := range w.bundle.BinaryData {
		size += len(value)
	}
	return size
}

// userTrust reads the administrator's CAs.
func userTrust(w *input) ([]cabundle.Certificate, field.ErrorList) {
	name := w.proxy.Spec.TrustedCA.Name
	if name == "" || name == BundleName && w.user == nil {
		return nil, nil
	}
	at, object := field.NewPath("spec", "trustedCA", "name"), "ConfigMap "+UserNamespace+"/"+name
	if name == BundleName {
		object = "ConfigMap " + BundleNamespace + "/" + BundleName
	}
	if w.user == nil {
		return nil, field.ErrorList{field.Invalid(at, name, fmt.Sprintf("%s not found; create it with key %s", object, cabundle.Key))}
	}
	text, found := content(w.user)
	if !found {
		return nil, field.ErrorList{field.Invalid(at, name, fmt.Sprintf("%s has no key %s; it has %s", object, cabundle.Key, keys(w.user)))}
	}
	list, err := cabundle.Parse(text)
	if err != nil {
		var errs field.ErrorList
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, field.Invalid(at, name, fmt.Sprintf("%s, key %s: %s", object, cabundle.Key, problem)))
		}
		return nil, errs
	}
	if live := cabundle.Merge(w.now, list); live.Count == 0 {
		return nil, field.ErrorList{field.Invalid(at, name, fmt.Sprintf("%s, key %s: every certificate has expired; the first is %s", object, cabundle.Key, list[0]))}
	}
	return list, nil
}
