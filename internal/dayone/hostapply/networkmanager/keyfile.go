package networkmanager

import (
	"slices"
	"strings"
)

// keyfile is a profile's text by sections, in the order they have in the file.
type keyfile []section

type section struct {
	name  string
	lines []pair
}

type pair struct{ key, value string }

// parseKeyfile reads a keyfile of package nmconn. Comments, which such files do not have, are lost.
func parseKeyfile(text string) keyfile {
	var k keyfile
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch key, value, ok := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			k = append(k, section{name: line[1 : len(line)-1]})
		case ok && len(k) > 0 && !strings.HasPrefix(line, "#"):
			last := &k[len(k)-1]
			last.lines = append(last.lines, pair{key: strings.TrimSpace(key), value: strings.TrimSpace(value)})
		}
	}
	return k
}

// String returns the text, with an empty line between sections.
func (k keyfile) String() string {
	var b strings.Builder
	for i, s := range k {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[" + s.name + "]\n")
		for _, l := range s.lines {
			b.WriteString(l.key + "=" + l.value + "\n")
		}
	}
	return b.String()
}

// get returns a value; empty if it is missing.
func (k keyfile) get(name, key string) string {
	for _, s := range k {
		if s.name != name {
			continue
		}
		for _, l := range s.lines {
			if l.key == key {
				return l.value
			}
		}
	}
	return ""
}

// set sets a value in the alphabetical order of keys, and adds the section if it is missing.
func (k *keyfile) set(name, key, value string) {
	i := slices.IndexFunc(*k, func(s section) bool { return s.name == name })
	if i < 0 {
		*k = append(*k, section{name: name})
		i = len(*k) - 1
	}
	s := &(*k)[i]
	at, found := slices.BinarySearchFunc(s.lines, key, func(l pair, key string) int { return strings.Compare(l.key, key) })
	if found {
		s.lines[at].value = value
		return
	}
	s.lines = slices.Insert(s.lines, at, pair{key: key, value: value})
}

// remove removes a key.
func (k keyfile) remove(name, key string) {
	for i := range k {
		if k[i].name == name {
			k[i].lines = slices.DeleteFunc(k[i].lines, func(l pair) bool { return l.key == key })
		}
	}
}

// drop removes sections.
func (k *keyfile) drop(names ...string) {
	*k = slices.DeleteFunc(*k, func(s section) bool { return slices.Contains(names, s.name) })
}
