package schema

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A suiteGroup is one schema of the suite with texts that fit it and texts that do not.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// unsupported lists what of the suite is refused at load, on purpose.
var unsupported = map[string]string{
	"schema that uses custom metaschema with with no validation vocabulary": "the schema of schemas is not one of the two",
}

func TestSuite(t *testing.T) {
	ran := 0
	for folder, dialect := range map[string]draft{"draft2020-12": draft2020, "draft7": draft07} {
		files, err := filepath.Glob("testdata/suite/" + folder + "/*.json")
		if err != nil || len(files) < 30 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			t.Run(folder+"/"+filepath.Base(file), func(t *testing.T) { ran += runSuite(t, file, dialect) })
		}
	}
	if ran < 2000 {
		t.Errorf("only %d texts were checked", ran)
	}
}

func runSuite(t *testing.T, file string, dialect draft) (ran int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []suiteGroup
	if err := json.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	format := strings.HasSuffix(file, "/format.json")
	for _, g := range groups {
		s, problems := suiteSchema(t, g.Schema, dialect)
		if why := unsupported[g.Description]; why != "" || problems != "" {
			if why == "" || problems == "" {
				t.Errorf("%s: problems %q; expected because %q", g.Description, problems, why)
			}
			continue
		}
		for _, test := range g.Tests {
			if format && strings.HasPrefix(test.Description, "invalid ") && strings.HasSuffix(test.Description, "is only an annotation by default") {
				continue // not here
			}
			ran++
			found := s.Check(test.Data)
			if (found == nil) != test.Valid {
				t.Errorf("%s: %s: %s: %v", g.Description, test.Description, test.Data, found)
			}
		}
	}
	return ran
}

func suiteSchema(t *testing.T, text []byte, dialect draft) (s *Schema, problems string) {
	t.Helper()
	f := NewFolder("", func(string) ([]byte, error) { return inDialect(text, dialect), nil })
	f.builtin = func(uri string) ([]byte, bool) {
		name, remote := strings.CutPrefix(uri, "http://localhost:1234/")
		if !remote {
			return metaschema(uri)
		}
		data, err := os.ReadFile(path.Join("testdata/suite/remotes", name))
		return inDialect(data, dialect), err == nil
	}
	s, err := f.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if found := f.Problems(); found != nil {
		problems = found.Error()
	}
	return s, problems
}

// inDialect gives a schema that names no draft the one of its part of the suite.
func inDialect(text []byte, dialect draft) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members["$schema"] != nil || dialect == draft2020 {
		return text
	}
	if len(members) == 0 {
		return []byte(`{"$schema": "` + dialect.uri() + `#"}`)
	}
	return append([]byte(`{"$schema": "`+dialect.uri()+`#", `), strings.TrimSpace(string(text))[1:]...)
}
