package placement

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Host has the properties that select a host's file.
type Host struct {
	// Name is the host name, short or full. The host may not have one yet, see Unnamed.
	Name string
	// MACs are the MAC addresses of its network cards, in any notation.
	MACs []string
}

// Rule is the reason for a choice.
type Rule string

// The rules, in the order of precedence.
const (
	ByFullName  Rule = "full-name"
	ByShortName Rule = "short-name"
	ByMAC       Rule = "mac-address"
	ByDefault   Rule = "cluster"
	// ByNone means that there is no file; automatic mode creates br-ex.
	ByNone Rule = "none"
)

// Choice is the result of Select.
type Choice struct {
	// File is the file to apply; the zero value if there is none.
	File File
	Rule Rule
	// Reason is a description for users.
	Reason string
	// Warnings are about files that seem to be meant for the host but are not used.
	Warnings []string
}

// Select returns the file of a host: that of its full name, or else of its short name, or else that of one of its MAC addresses in the index, or else
// cluster.yml, or else none. Files are not merged.
//
// An empty selected file is an error, because other implementations then use cluster.yml, so the intent is unclear. An invalid index, and addresses with
// different files, are errors, too.
func Select(files Files, host Host) (Choice, error) {
	choice, err := choose(files, host)
	if err != nil {
		return Choice{}, err
	}
	if choice.Rule != ByNone && len(bytes.TrimSpace(choice.File.Content)) == 0 {
		return Choice{}, fmt.Errorf("%s is empty, and is the file for this host (%s); write the configuration into it, or remove it so that %s counts",
			choice.File.Name, choice.Reason, ClusterFile)
	}
	choice.Warnings = lookalikes(files, host)
	return choice, nil
}

func choose(files Files, host Host) (Choice, error) {
	full := strings.ToLower(strings.TrimSpace(host.Name))
	short := ShortName(full)
	if !Unnamed(full) && short+Extension != ClusterFile {
		if file, ok := files.Get(full + Extension); ok && full != short {
			return Choice{File: file, Rule: ByFullName, Reason: fmt.Sprintf("it has the full name of the host, %s", full)}, nil
		}
		if file, ok := files.Get(short + Extension); ok {
			return Choice{File: file, Rule: ByShortName, Reason: fmt.Sprintf("it has the short name of the host, %s", short)}, nil
		}
	}
	if choice, ok, err := byMAC(files, host.MACs); err != nil || ok {
		return choice, err
	}
	why := fmt.Sprintf("no file is for the host %s", short)
	if Unnamed(full) {
		why = "the host has no name"
	}
	if file, ok := files.Get(ClusterFile); ok {
		return Choice{File: file, Rule: ByDefault, Reason: fmt.Sprintf("%s, and %s is for all others", why, ClusterFile)}, nil
	}
	return Choice{Rule: ByNone, Reason: fmt.Sprintf("%s, and there is no %s", why, ClusterFile)}, nil
}

func byMAC(files Files, addresses []string) (Choice, bool, error) {
	indexFile, ok := files.Get(IndexFile)
	if !ok {
		return Choice{}, false, nil
	}
	index, err := DecodeIndex(indexFile.Content)
	if err != nil {
		return Choice{}, false, err
	}
	var found, by string
	for _, text := range addresses {
		mac, err := ParseMAC(text)
		if err != nil {
			return Choice{}, false, err
		}
		name, ok := index[mac]
		if !ok {
			continue
		}
		if found != "" && found != name {
			return Choice{}, false, fmt.Errorf("%s gives this host two files: %s by %s, and %s by %s; keep one of them", IndexFile, found, by, name, mac)
		}
		found, by = name, mac
	}
	if found == "" {
		return Choice{}, false, nil
	}
	file, ok := files.Get(found)
	if !ok {
		return Choice{}, false, fmt.Errorf("%s gives this host the file %s by %s, and there is no such file", IndexFile, found, by)
	}
	return Choice{File: file, Rule: ByMAC, Reason: fmt.Sprintf("%s gives it to the MAC address %s of the host", IndexFile, by)}, true, nil
}

// lookalikes returns warnings about files that are ignored only because of their extension or case.
func lookalikes(files Files, host Host) []string {
	full := strings.ToLower(strings.TrimSpace(host.Name))
	read := []string{full + Extension, ShortName(full) + Extension, ClusterFile}
	var found []string
	for _, file := range files {
		stem, isYAML := strings.CutSuffix(strings.ToLower(file.Name), ".yaml")
		switch {
		case isYAML && slices.Contains(read, stem+Extension):
			found = append(found, fmt.Sprintf("%s is not read, since only files that end in %s are; rename it to %s", file.Name, Extension, stem+Extension))
		case !slices.Contains(read, file.Name) && slices.Contains(read, strings.ToLower(file.Name)):
			found = append(found, fmt.Sprintf("%s is not read, since names of files are in lower case; rename it to %s", file.Name, strings.ToLower(file.Name)))
		}
	}
	return found
}

// NeedsName reports whether the result can depend on the name of a host.
func NeedsName(files Files) bool {
	return slices.ContainsFunc(files.Documents(), func(f File) bool { return f.Name != ClusterFile })
}
