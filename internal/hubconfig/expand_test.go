package hubconfig_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/hubconfig"
)

func TestVariables(t *testing.T) {
	for written, want := range map[string]string{
		"plain $HOME $$ } {": "plain $HOME $$ } {",
		"${TOKEN}":           "s3cr3t-value",
		"<${env:TOKEN}>":     "<s3cr3t-value>",
		"${TOKEN}${TOKEN}":   "s3cr3t-values3cr3t-value",
		"${EMPTY}|":          "|",
		"${EMPTY:-d}":        "d",
		"${NONE:-d:-e}":      "d:-e",
		"${NONE:-}|":         "|",
		"${env:NONE:-d}":     "d",
		"${NONE:-${TOKEN}}":  "${TOKEN}",
		"${NESTED}":          "${TOKEN}",
		"${workspaceFolder}": "/work",
		"${userHome}/.x":     "/home/a/.x",
	} {
		text, _ := json.Marshal(written)
		s := parsed(t, one(`"args": [`+string(text)+`]`)).Servers[0]
		if s.Broken != "" || s.Args[0] != want {
			t.Errorf("%s is %q, not %q (%s)", written, s.Args, want, s.Broken)
		}
		if taken := strings.Contains(want, "s3cr3t") || written == "${NESTED}"; taken != (strings.Join(s.Taken, "") != "") {
			t.Errorf("of %s %q is taken from variables", written, s.Taken)
		}
	}
}

func TestWhatCannotBeHadBreaksOneServer(t *testing.T) {
	for written, want := range map[string]string{
		"a ${NONE} ${TOKEN}":    "args[0]: the variable NONE is not set",
		"${env:NONE}":           "args[0]: the variable NONE is not set",
		"${input:key}":          "args[0]: ${input:key} would have to be asked for, and here is nobody to ask",
		"${input:key:-default}": "args[0]: ${input:key:-default} would have to be asked for, and here is nobody to ask",
		"${config:x}":           "args[0]: ${config:x} is no variable that durward knows",
		"${}":                   "args[0]: ${} is no variable that durward knows",
		"${ TOKEN }":            "args[0]: ${ TOKEN } is no variable that durward knows",
		"${TOKEN":               "args[0]: a ${ has no }",
		"${NUL}":                "args[0]: a variable of it holds a NUL",
	} {
		text, _ := json.Marshal(written)
		c := parsed(t, `{"servers": [{"name": "a", "command": "c", "env": {"A": "${TOKEN}"}, "args": [`+string(text)+`]}, {"name": "b", "command": "c"}]}`)
		s := c.Servers[0]
		if s.Broken != want || s.Command != "" || s.Env != nil || c.Servers[1].Broken != "" {
			t.Errorf("%s: %+v; want %q", written, s, want)
		}
		if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "hub.json:1: servers[0]."+want) || strings.Contains(c.Warnings[0], "s3cr3t") {
			t.Errorf("%s: warned of as %q", written, c.Warnings)
		}
	}
}

func TestEveryPlaceOfAVariable(t *testing.T) {
	for members, want := range map[string]string{
		`"command": "${NONE}"`:                                       "command: the variable NONE is not set",
		`"command": "${EMPTY}"`:                                      "command: its variables leave nothing of it",
		`"command": "c", "env": {"A": "${NONE}"}`:                    "env.A: the variable NONE is not set",
		`"command": "c", "cwd": "${NONE}"`:                           "cwd: the variable NONE is not set",
		`"command": "c", "envFile": "${NONE}"`:                       "envFile: the variable NONE is not set",
		`"url": "${NONE}"`:                                           "url: the variable NONE is not set",
		`"url": "${TOKEN}"`:                                          "url: with its variables it is no URL of http or https",
		`"url": "http://h/", "headers": {"A": "${NONE}"}`:            "headers.A: the variable NONE is not set",
		`"url": "http://h/", "headers": {"A": "${LINE}"}`:            "headers.A: with its variables it holds the end of a line",
		`"command": "${NONE}", "args": ["${OTHER}", "${input:key}"]`: "command: the variable NONE is not set; args[0]: the variable OTHER is not set; args[1]: ${input:key} would have to be asked for, and here is nobody to ask",
	} {
		s := parsed(t, `{"mcpServers": {"a.b": {`+members+`}}}`).Servers[0]
		if s.Broken != want || s.Command != "" || s.Remote != nil {
			t.Errorf("%s: %+v; want %q", members, s, want)
		}
	}
}

// What is not started anyway is no reason to warn.
func TestDisabledServersAreNotWarnedOf(t *testing.T) {
	c := parsed(t, one(`"args": ["${NONE}"], "disabled": true`))
	if len(c.Warnings) > 0 || !c.Servers[0].Disabled {
		t.Errorf("%+v", c)
	}
}

func TestEnvFiles(t *testing.T) {
	values, problems := hubconfig.ParseEnvFile("e", []byte("\ufeff# c\r\nA=1\r\n\n export B = two words # c\nC='a #b' # c\nD=\"x\\n\\\"\\\\\\$\"\nE=\nF=a#b\nG='\"'\n"))
	want := map[string]string{"A": "1", "B": "two words", "C": "a #b", "D": "x\n\"\\$", "E": "", "F": "a#b", "G": `"`}
	if diff := cmp.Diff(want, values); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
	_, problems = hubconfig.ParseEnvFile("e", []byte("A=1\nsecret\n1A=secret\nB='secret\nC=\"secret\nD='a' secret\nE=\"\\"))
	if got, want := problems.Error(), "e:2: this is not NAME=value\ne:3: this is not NAME=value\ne:4: this is not NAME=value\ne:5: this is not NAME=value\ne:6: this is not NAME=value\ne:7: this is not NAME=value"; got != want {
		t.Error(got)
	}
	if _, problems = hubconfig.ParseEnvFile("e", []byte("A=\x00")); len(problems) != 1 {
		t.Error(problems)
	}
	s := hubconfig.Server{Env: map[string]string{"A": "mine", "Z": "z"}}
	s.AddEnv(want)
	for name, value := range s.Env {
		if over := map[string]string{"A": "mine", "Z": "z"}[name]; value != want[name] && value != over {
			t.Errorf("%s is %q", name, value)
		}
	}
	if s.Env["A"] != "mine" || len(s.Env) != len(want)+1 || want["A"] != "1" || !maps.Equal(values, want) {
		t.Errorf("%v", s.Env)
	}
}

func FuzzParseEnvFile(f *testing.F) {
	f.Add("A=1\nexport B='x' #\nC=\"\\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		values, _ := hubconfig.ParseEnvFile("e", []byte(text))
		for name := range values {
			if name == "" || strings.ContainsAny(name, "=\x00\n") {
				t.Errorf("%q", name)
			}
		}
	})
}
