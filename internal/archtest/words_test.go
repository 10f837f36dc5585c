package archtest

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Words that readers stumble over, and what to write instead. Text is what users read: strings of programs, documents, manifests, scripts
// and pages. Comments of Go files are read by developers, and may have those of the second list. Words that mostly have another, standard
// meaning, such as pass and loop, are in neither.
var (
	unwanted = []word{
		{`somebody|someone else|nobody|whoever`, "another client, a third party, no one, or the passive"},
		{`whatever`, "regardless of, or the name of the thing"},
		{`anew|again and again`, "again, repeatedly"},
		{`put(s|ting)? right`, "repair, restore"},
		{`look(s|ed|ing)? after`, "manage"},
		{`in force`, "active, in effect"},
		{`tak(e|es|en|ing) (it |them )?away|rid of`, "remove, delete"},
		{`told|tells|said`, "reports, prints, sets the condition"},
		{`goes by|for want of|bears? on|sees? to it that`, "uses, because … is missing, affects, ensures"},
		{`(is|are|was|has|have) hung|stands? still|stood still`, "stall, make no progress"},
		{`folders?`, "directory"},
		{`(an?|the|its|no|each|new|old) authority|authorities`, "CA"},
		{`definitions? of (a|the|its|some)?( \w+)? ?kinds?`, "CRD"},
		{`kinds? (that )?(is|are|to be) (not )?served`, "available API"},
		{`rights|(a|no|the|any) right to`, "permission"},
		{`couriers?`, "sync agent"},
		{`(left|leaves?|leaving) (it |them |\w+ others )?alone`, "skip, ignore"},
		{`by (itself|themselves)`, "automatically, on its own"},
		{`ever more rarely|a few at a time`, "with back-off, in batches"},
		{`taken back|takes? back`, "rolled back, reverted"},
		{`for ever`, "forever, without a limit"},
		{`begins? again`, "restarts, starts over"},
		{`without a word`, "silently, without a message"},
		{`home-?made|troubles?|heard|foresee[ns]?|(a|the|its|each) verdict`, "decision, problem, preview"},
	}
	unwantedText = []word{
		{`says`, "reports, prints, has, explains"},
		{`what is wrong`, "errors, problems"},
		{`not there`, "does not exist, is missing"},
		{`goes on|go on`, "continue"},
	}
	// exceptions are parts of texts in which a word is right: names, and a sentence of the API of OpenShift.
	exceptions = regexp.MustCompile(`"nobody"|nobody:|user nobody|found-anew|certificate authorities|0040-rights-to-secrets|expect someone else to start OVS`)
)

type word struct{ pattern, instead string }

// vocabulary finds unwanted words.
type vocabulary struct {
	any   *regexp.Regexp
	words []word
}

func newVocabulary(words ...word) vocabulary {
	var all []string
	for _, w := range words {
		all = append(all, w.pattern)
	}
	return vocabulary{matcher(strings.Join(all, "|")), words}
}

func matcher(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// check reports each unwanted word of a text with what surrounds it.
func (v vocabulary) check(t *testing.T, where, text string) {
	if !v.any.MatchString(text) {
		return
	}
	text = exceptions.ReplaceAllString(text, "")
	for _, w := range v.words {
		for _, at := range matcher(w.pattern).FindAllStringIndex(text, -1) {
			from, to := max(at[0]-60, 0), min(at[1]+60, len(text))
			t.Errorf("%s: %q; write: %s\n    %s", where, text[at[0]:at[1]], w.instead, strings.ToValidUTF8(text[from:to], ""))
		}
	}
}

func TestTextsUseStandardTerms(t *testing.T) {
	comments, texts := newVocabulary(unwanted...), newVocabulary(slices.Concat(unwanted, unwantedText)...)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if name == ".git" || name == "_output" || entry.Name() == "testdata" || entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".ts", ".html", ".sh", "Dockerfile", "Makefile"}, filepath.Ext(name)+plainName(name)) || name == "internal/archtest/words_test.go" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(name) != ".go" {
			for _, p := range paragraphs(string(content)) {
				texts.check(t, name, p)
			}
			return nil
		}
		eachText(content, func(tok token.Token, text string) {
			v := texts
			if tok == token.COMMENT {
				v = comments
			}
			for _, p := range paragraphs(text) {
				v.check(t, name, p)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plainName returns the name of a file without an extension, and "" for others.
func plainName(path string) string {
	if filepath.Ext(path) != "" {
		return ""
	}
	return filepath.Base(path)
}

// paragraphs returns the lines of a text without the signs of comments, and those between two empty ones joined: a term may be on two lines.
func paragraphs(text string) []string {
	var out []string
	joined := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(line, " \t/#*"))
		switch {
		case line == "":
			joined = false
		case joined:
			out[len(out)-1] += " " + line
		default:
			out, joined = append(out, line), true
		}
	}
	return out
}

// eachText calls a function for each string of a Go file, and for each comment: adjacent ones of one line each are one.
func eachText(source []byte, call func(tok token.Token, text string)) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var comment strings.Builder
	last := 0
	flush := func() {
		if comment.Len() > 0 {
			call(token.COMMENT, comment.String())
		}
		comment.Reset()
	}
	for {
		pos, tok, text := s.Scan()
		if line := file.Line(pos); tok == token.COMMENT {
			if line > last+1 {
				flush()
			}
			comment.WriteString(text + "\n")
			last = line + strings.Count(text, "\n")
			continue
		}
		switch tok {
		case token.EOF:
			flush()
			return
		case token.STRING:
			call(tok, text)
		}
	}
}

// TestTermsOnTwoLinesAreFound: in a comment, a document and a string, and that exceptions are parts of a text only.
func TestTermsOnTwoLinesAreFound(t *testing.T) {
	v := newVocabulary(unwanted...)
	found := func(text string) bool { return v.any.MatchString(exceptions.ReplaceAllString(text, "")) }
	for _, row := range []struct {
		why, source string
		want        int
	}{
		{"a comment", "package p\n\n// It is left\n// alone.\n", 1},
		{"two comments with an empty line between", "package p\n\n// It is left\n\n// alone.\n", 0},
		{"a string", "package p\n\nconst c = `again\nand again`\n", 1},
		{"a name that contains a word", "package p\n\nconst c = \"user nobody\"\n", 0},
		{"a word besides such a name", "package p\n\nconst c = \"user nobody, for whatever reason\"\n", 1},
	} {
		got := 0
		eachText([]byte(row.source), func(_ token.Token, text string) {
			got += len(slices.DeleteFunc(paragraphs(text), func(p string) bool { return !found(p) }))
		})
		if got != row.want {
			t.Errorf("%s: %d found, not %d", row.why, got, row.want)
		}
	}
}
