package placement

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func filesOf(contents ...string) Files {
	var files Files
	for i := 0; i < len(contents); i += 2 {
		files = append(files, File{Name: contents[i], Content: []byte(contents[i+1])})
	}
	return files
}

func TestSelectTriesNamesThenAddressesThenTheFileForAll(t *testing.T) {
	const index = `{"52:54:00:00:00:01": "master-0.yml", "52-54-00-00-00-02": "odd.yml"}`
	for _, row := range []struct {
		why   string
		files Files
		host  Host
		want  string
		rule  Rule
	}{
		{"a host's file replaces that of all", filesOf("cluster.yml", "c", "master-0.yml", "m"), Host{Name: "master-0"}, "master-0.yml", ByShortName},
		{"a full name is shortened", filesOf("cluster.yml", "c", "master-0.yml", "m"), Host{Name: "master-0.example.com"}, "master-0.yml", ByShortName},
		{"a file may have the full name", filesOf("master-0.example.com.yml", "f", "master-0.yml", "m"), Host{Name: "master-0.example.com"}, "master-0.example.com.yml", ByFullName},
		{"a full name is not for a host with another domain", filesOf("master-0.example.com.yml", "f", "cluster.yml", "c"), Host{Name: "master-0.example.org"}, "cluster.yml", ByDefault},
		{"hosts without a file share one", filesOf("cluster.yml", "c", "master-0.yml", "m"), Host{Name: "master-1"}, "cluster.yml", ByDefault},
		{"a name is not a prefix", filesOf("cluster.yml", "c", "master-1.yml", "m"), Host{Name: "master-10"}, "cluster.yml", ByDefault},
		{"upper case in a name means nothing", filesOf("master-0.yml", "m"), Host{Name: "MASTER-0"}, "master-0.yml", ByShortName},
		{"nothing at all", nil, Host{Name: "master-0"}, "", ByNone},
		{"only other hosts' files", filesOf("master-1.yml", "m"), Host{Name: "master-0"}, "", ByNone},
		{"another ending is not read", filesOf("master-0.yaml", "m"), Host{Name: "master-0"}, "", ByNone},
		{"a host without a name gets what is for all", filesOf("cluster.yml", "c", "localhost.yml", "l"), Host{Name: "localhost.localdomain"}, "cluster.yml", ByDefault},
		{"the file of all is no host's", filesOf("cluster.yml", "c"), Host{Name: "cluster"}, "cluster.yml", ByDefault},
		{"an address works without a name", filesOf("cluster.yml", "c", "master-0.yml", "m", IndexFile, index), Host{MACs: []string{"52:54:00:00:00:01"}}, "master-0.yml", ByMAC},
		{"an address in another notation", filesOf("odd.yml", "o", IndexFile, index), Host{Name: "x", MACs: []string{"5254.0000.0002"}}, "odd.yml", ByMAC},
		{"a name counts more than an address", filesOf("odd.yml", "o", "x.yml", "x", IndexFile, index), Host{Name: "x", MACs: []string{"52:54:00:00:00:02"}}, "x.yml", ByShortName},
		{"an address that is not in the index", filesOf("cluster.yml", "c", "odd.yml", "o", IndexFile, index), Host{MACs: []string{"52:54:00:00:00:09"}}, "cluster.yml", ByDefault},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := Select(row.files, row.host)
			if err != nil {
				t.Fatal(err)
			}
			if got.File.Name != row.want || got.Rule != row.rule || got.Reason == "" {
				t.Errorf("got %q by %q (%s), want %q by %q", got.File.Name, got.Rule, got.Reason, row.want, row.rule)
			}
		})
	}
}

func TestSelectRefusesWhatNobodyCanHaveMeant(t *testing.T) {
	for _, row := range []struct {
		why, says string
		files     Files
		host      Host
	}{
		{"an empty file of a host", "master-0.yml is empty", filesOf("cluster.yml", "c", "master-0.yml", ""), Host{Name: "master-0"}},
		{"blanks are nothing", "cluster.yml is empty", filesOf("cluster.yml", " \n"), Host{Name: "master-0"}},
		{"two addresses, two files", "two files", filesOf("a.yml", "a", "b.yml", "b", IndexFile, `{"52:54:00:00:00:01":"a.yml","52:54:00:00:00:02":"b.yml"}`),
			Host{MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}}},
		{"a missing file", "no such file", filesOf(IndexFile, `{"52:54:00:00:00:01":"a.yml"}`), Host{MACs: []string{"52:54:00:00:00:01"}}},
		{"an index that is none", "decode", filesOf(IndexFile, `[]`), Host{Name: "x"}},
		{"a way out of the directory", "not the name of a file", filesOf(IndexFile, `{"52:54:00:00:00:01":"../a.yml"}`), Host{Name: "x"}},
	} {
		if _, err := Select(row.files, row.host); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.says)
		}
	}
}

func TestFilesThatLookMeantAreNamed(t *testing.T) {
	got, err := Select(filesOf("Master-0.yml", "m", "cluster.yaml", "c", "master-0.yaml", "m", "master-1.yaml", "m"), Host{Name: "master-0"})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got.Warnings, "\n"); len(got.Warnings) != 3 || !strings.Contains(text, "rename it to master-0.yml") {
		t.Errorf("got %q", text)
	}
}

func TestOnlyFilesOfHostsMakeTheNameMatter(t *testing.T) {
	for why, row := range map[string]struct {
		files Files
		want  bool
	}{
		"nothing":             {nil, false},
		"the same for all":    {filesOf("cluster.yml", "c", "README", "r"), false},
		"a file of some host": {filesOf("cluster.yml", "c", "master-0.yml", "m"), true},
	} {
		if got := NeedsName(row.files); got != row.want {
			t.Errorf("%s: got %v", why, got)
		}
	}
}

func TestReadDirReadsFilesAndNothingElse(t *testing.T) {
	got, err := ReadDir(fstest.MapFS{
		"b.yml": {Data: []byte("b")}, "a.yml": {Data: []byte("a")}, ".a.yml.swp": {}, "applied": {Data: []byte("b")}, "sub/c.yml": {Data: []byte("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(filesOf("a.yml", "a", "b.yml", "b"), got); diff != "" {
		t.Error(diff)
	}
}

func TestHostNamesAreLabels(t *testing.T) {
	for name, ok := range map[string]bool{
		"master-0": true, "master-0.example.com": true, "0": true, strings.Repeat("a", 63): true,
		"": false, "Master-0": false, "a_b": false, "-a": false, "a..b": false, "cluster": false, "cluster.example.com": false,
		"localhost": false, strings.Repeat("a", 64): false, "a/b": false,
	} {
		if err := CheckHostName(name); (err == nil) != ok {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// What is chosen is one of the files, is not empty, and does not depend on the order of the files.
func FuzzSelect(f *testing.F) {
	f.Add("master-0", "52:54:00:00:00:01", "master-0.yml", "cluster.yml", `{"52:54:00:00:00:01":"master-0.yml"}`)
	f.Add("", "", "", "", "{}")
	f.Add("a.b", "x", "a.b.yml", "a.yml", "")
	f.Fuzz(func(t *testing.T, name, mac, first, second, index string) {
		files := filesOf(first, "1", second, "2")
		if index != "" {
			files = append(files, File{Name: IndexFile, Content: []byte(index)})
		}
		host := Host{Name: name}
		if mac != "" {
			host.MACs = []string{mac}
		}
		got, err := Select(files, host)
		if err != nil {
			return
		}
		if _, ok := files.Get(got.File.Name); !ok && got.Rule != ByNone || got.Rule == ByNone && got.File.Name != "" {
			t.Fatalf("chose %q by %q", got.File.Name, got.Rule)
		}
		if got.Rule != ByNone && !strings.HasSuffix(got.File.Name, Extension) {
			t.Fatalf("chose %q", got.File.Name)
		}
		if first == second {
			return
		}
		again, err := Select(files.Sort(), host)
		if err != nil || again.File.Name != got.File.Name {
			t.Fatalf("the order matters: %q, then %q (%v)", got.File.Name, again.File.Name, err)
		}
	})
}
