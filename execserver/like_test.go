package execserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Bound are the names in what is recorded that got their value when first seen.
type bound map[string]string

// unlike says where a value is not like the one that is recorded, or nothing. An object may
// have more members than are recorded, and the message of an error is free.
func (b bound) unlike(where string, recorded, given any) string {
	switch r := recorded.(type) {
	case map[string]any:
		g, ok := given.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v", where, given)
		}
		for name, want := range r {
			value, ok := g[name]
			switch {
			case name == "..." && want == "<extra>":
			case !ok:
				return fmt.Sprintf("%s has no %s", where, name)
			default:
				if difference := b.unlike(where+"."+name, want, value); difference != "" {
					return difference
				}
			}
		}
		return ""
	case []any:
		g, ok := given.([]any)
		if !ok || len(g) != len(r) {
			return fmt.Sprintf("%s is %v", where, given)
		}
		for i := range r {
			if difference := b.unlike(fmt.Sprintf("%s[%d]", where, i), r[i], g[i]); difference != "" {
				return difference
			}
		}
		return ""
	case string:
		if b.stands(where, r, given) {
			return ""
		}
	}
	if recorded != given {
		return fmt.Sprintf("%s is %v, want %v", where, given, recorded)
	}
	return ""
}

var (
	whole   = regexp.MustCompile(`\A-?[0-9]+\z`)
	session = regexp.MustCompile(`\$\{SESSION[0-9]+\}`)
)

// stands reports whether a text that is recorded stands for a value.
func (b bound) stands(where, recorded string, given any) bool {
	text, isText := given.(string)
	number, _ := given.(json.Number)
	switch {
	case strings.HasSuffix(where, ".error.message"):
		return isText && text != ""
	case recorded == "<any>":
		return isText
	case recorded == "<n>", recorded == "<ms>":
		return whole.MatchString(number.String())
	case recorded == "<bool>":
		return given == true || given == false
	case session.MatchString(recorded) && isText && text != "" && b[recorded] == "":
		b[recorded] = text
		return true
	}
	return isText && b.fill(recorded) == text
}

// fill puts the values in the place of their names.
func (b bound) fill(recorded string) string {
	for name, value := range b {
		recorded = strings.ReplaceAll(recorded, name, value)
	}
	return recorded
}

func valueOf(t testing.TB, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// What is not as it is recorded is found.
func TestAnswersAreToldApart(t *testing.T) {
	for _, test := range []struct {
		recorded, given string
		like            bool
	}{
		{`{"a":[1,"x",null,true]}`, `{"b":2,"a":[1,"x",null,true]}`, true},
		{`{"a":{"b":"<any>","...":"<extra>"}}`, `{"a":{"b":"x"}}`, true},
		{`{"error":{"code":-1,"message":"as it was"}}`, `{"error":{"code":-1,"message":"as it is"}}`, true},
		{`{"a":"<n>","b":"<ms>","c":"<bool>"}`, `{"a":1,"b":-2,"c":false}`, true},
		{`{"a":"${SESSION1}","b":["${SESSION1}"]}`, `{"a":"x","b":["x"]}`, true},
		{`["${SESSION1}","${SESSION1}"]`, `["x","y"]`, false},
		{`{"a":"${SESSION1}"}`, `{"a":""}`, false},
		{`{"error":{"code":-1,"message":"as it was"}}`, `{"error":{"code":-1,"message":""}}`, false},
		{`{"error":{"code":-1}}`, `{"error":{"code":-2}}`, false},
		{`{"a":"<n>"}`, `{"a":1.5}`, false},
		{`{"a":"<n>"}`, `{"a":"1"}`, false},
		{`{"a":"<bool>"}`, `{"a":null}`, false},
		{`{"a":"<any>"}`, `{"a":null}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{"a":false}`, false},
		{`[1]`, `[1,2]`, false},
		{`[{"a":1}]`, `[[1]]`, false},
		{`"x"`, `["x"]`, false},
	} {
		difference := bound{}.unlike("it", valueOf(t, test.recorded), valueOf(t, test.given))
		if (difference == "") != test.like {
			t.Errorf("%s and %s: %q", test.recorded, test.given, difference)
		}
	}
}
