package archtest

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Words that readers stumble over, and what to write instead. Text is what users read: strings of programs, documents and manifests.
// Comments are read by developers, and may have those of the second list.
var (
	unwanted = []struct{ word, instead string }{
		{`somebody|nobody|whoever`, "another client, a third party, no one, or the passive"},
		{`anew|again and again`, "again, repeatedly"},
		{`put(s|ting)? right`, "repair, restore"},
		{`look(s|ed|ing)? after`, "manage"},
		{`in force`, "active, in effect"},
		{`tak(e|es|en|ing) away|rid of`, "remove, delete"},
		{`for want of|bears? on|sees? to it that`, "because … is missing, affects, ensures"},
		{`stands? still|stood still`, "stall, make no progress"},
		{`folders?`, "directory"},
		{`ever more rarely`, "with back-off"},
		{`taken back|takes? back`, "rolled back, reverted"},
		{`for ever`, "forever, without a limit"},
		{`begins? again`, "restarts, starts over"},
		{`couriers?`, "sync agent"},
	}
	unwantedText = []struct{ word, instead string }{
		{`(is|are) told|tells`, "reports, prints, sets the condition"},
		{`what is wrong`, "errors, problems"},
		{`not there`, "does not exist, is missing"},
		{`goes on|go on`, "continue"},
	}
	// exceptions are texts in which a word is right.
	exceptions = regexp.MustCompile(`"nobody"|nobody:x:|user nobody|found-anew|internal/archtest/`)
)

func TestTextsUseStandardTerms(t *testing.T) {
	pattern := func(words []struct{ word, instead string }) map[*regexp.Regexp]string {
		out := map[*regexp.Regexp]string{}
		for _, w := range words {
			out[regexp.MustCompile(`(?i)\b(`+w.word+`)\b`)] = w.instead
		}
		return out
	}
	everywhere, text := pattern(unwanted), pattern(unwantedText)
	check := func(where, content string, lists ...map[*regexp.Regexp]string) {
		for _, list := range lists {
			for re, instead := range list {
				if found := re.FindString(content); found != "" && !exceptions.MatchString(where+content) {
					t.Errorf("%s: %q; write: %s\n    %s", where, found, instead, strings.TrimSpace(content))
				}
			}
		}
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if name == ".git" || name == "_output" || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		switch ext := filepath.Ext(name); {
		case ext != ".go" && ext != ".md" && ext != ".yaml":
			return nil
		case ext == ".go":
			return eachText(path, func(tok token.Token, line string) {
				if tok == token.COMMENT {
					check(name, line, everywhere)
				} else {
					check(name, line, everywhere, text)
				}
			})
		}
		content, err := os.ReadFile(path)
		for line := range strings.Lines(string(content)) {
			check(name, line, everywhere, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachText calls a function for each line of each comment and string of a source file.
func eachText(path string, line func(tok token.Token, text string)) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(path, -1, len(source)), source, nil, scanner.ScanComments)
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return nil
		case token.COMMENT, token.STRING:
			for l := range strings.Lines(text) {
				line(tok, l)
			}
		}
	}
}
