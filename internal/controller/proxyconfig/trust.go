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

// SystemTrustFiles returns where Linux distributions keep the authorities that they trust, OpenShift's first.
func SystemTrustFiles() []string {
	return []string{
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Red Hat and relatives
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch, Gentoo
		"/etc/ssl/ca-bundle.pem",                            // SUSE
		"/etc/pki/tls/certs/ca-bundle.crt",                  // older Red Hat
		"/etc/ssl/cert.pem",                                 // Alpine
	}
}

// largestTrustFile is how much of a file is read, in bytes. Those of distributions have a quarter of a megabyte.
const largestTrustFile = 8 << 20

// systemTrust is what the system trusts.
type systemTrust struct {
	// path is where it was found; empty is nowhere.
	path string
	list []cabundle.Certificate
	// problem says why there is none.
	problem string
}

// readSystemTrust reads the first of some files that is there and has certificates. What else is in it is not its reader's
// business.
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
	return io.ReadAll(io.LimitReader(f, largestTrustFile))
}

// trust is what is to be trusted, and what is wrong with it.
type trust struct {
	merged cabundle.Merged
	// errs are mistakes of the administrator: the bundle stays as it is.
	errs field.ErrorList
	// remarks are what an administrator should know although it was taken.
	remarks []string
	// tooLarge says that it does not fit in a ConfigMap, and by how much.
	tooLarge string
}

// decideTrust merges what the administrator trusts with what the system trusts.
func decideTrust(w *world) trust {
	user, errs := userTrust(w)
	if len(errs) > 0 {
		return trust{merged: cabundle.Merge(w.now, w.system.list), errs: errs}
	}
	t := trust{merged: cabundle.Merge(w.now, user, w.system.list)}
	if w.proxy.Spec.TrustedCA.Name != BundleName {
		t.remarks = cabundle.Remarks(w.now, user)
	}
	if size := len(t.merged.PEM) + others(w); size > cabundle.Limit {
		t.tooLarge = fmt.Sprintf("ConfigMap %s/%s would have %d bytes, and a ConfigMap holds %d: %d certificates of ConfigMap %s/%s and %d of the system's %s; "+
			"take certificates out of the former that are not needed", BundleNamespace, BundleName, size, cabundle.Limit,
			len(user), UserNamespace, w.proxy.Spec.TrustedCA.Name, len(w.system.list), w.system.path)
	}
	return t
}

// others is how many bytes other keys of the bundle's ConfigMap have.
func others(w *world) (size int) {
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

// userTrust reads what the administrator trusts.
func userTrust(w *world) ([]cabundle.Certificate, field.ErrorList) {
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
