//go:build linux || darwin

package file

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/pathguard"
)

func TestInputs(t *testing.T) {
	s := newShelf(t, pathguard.Zone{Path: ".", Recursive: true})
	s.put(t, "a", "a")
	before := snapshot(t, s.dir)
	for _, tt := range []struct {
		does  Work
		input string
		want  durward.Reason
	}{
		{Reads, `{}`, durward.MissingField},
		{Reads, `{"path":1}`, durward.WrongType},
		{Reads, `{"path":null}`, durward.WrongType},
		{Reads, `{"path":["a"]}`, durward.WrongType},
		{Reads, `{"path":""}`, durward.EmptyPath},
		{Reads, `{"path":"a\u0000"}`, durward.NULInPath},
		{Reads, `{"Path":"a"}`, durward.UnknownField},
		{Reads, `{"path":"a","data":"x"}`, durward.UnknownField},
		{Reads, `{"path":"a","limit":1}`, durward.UnknownField},
		{Reads, `{"path":"a","path":"a"}`, durward.BadJSON},
		{Reads, `{"path":"a","p\u0061th":"a"}`, durward.BadJSON},
		{Reads, `{"path":"\ud800"}`, durward.BadJSON},
		{Reads, `{"path":"a"} {}`, durward.BadJSON},
		{Reads, `{"path":"a"`, durward.BadJSON},
		{Reads, ``, durward.WrongType},
		{Reads, `null`, durward.WrongType},
		{Reads, `["a"]`, durward.WrongType},
		{Reads, `"a"`, durward.WrongType},
		{Reads, `{"path":"a","offset":-1}`, durward.BadOffset},
		{Reads, `{"path":"a","offset":0.5}`, durward.BadOffset},
		{Reads, `{"path":"a","offset":-1e300}`, durward.BadOffset},
		{Reads, `{"path":"a","offset":1e-400}`, durward.BadOffset},
		{Reads, `{"path":"a","length":0.99999999999999999999}`, durward.BadLength},
		{Reads, `{"path":"a","offset":"0"}`, durward.WrongType},
		{Reads, `{"path":"a","offset":null}`, durward.WrongType},
		{Reads, `{"path":"a","length":-1}`, durward.BadLength},
		{Reads, `{"path":"a","length":1e-1}`, durward.BadLength},
		{Reads, `{"path":"a","length":true}`, durward.WrongType},
		{Reads, `{"path":"a","encoding":"UTF8"}`, durward.BadEncoding},
		{Reads, `{"path":"a","encoding":""}`, durward.BadEncoding},
		{Reads, `{"path":"a","encoding":8}`, durward.WrongType},
		{Writes, `{"path":"b"}`, durward.MissingField},
		{Writes, `{"data":"b"}`, durward.MissingField},
		{Writes, `{"path":"b","data":1}`, durward.WrongType},
		{Writes, `{"path":"b","data":"","offset":0}`, durward.UnknownField},
		{Writes, `{"path":"b","data":"","create":1}`, durward.WrongType},
		{Writes, `{"path":"b","data":"","overwrite":"true"}`, durward.WrongType},
		{Writes, `{"path":"b","data":"","overwrite":null}`, durward.WrongType},
		{Writes, `{"path":"b","data":"\udc00"}`, durward.BadJSON},
		{Writes, `{"path":"b","data":"","encoding":"hex"}`, durward.BadEncoding},
		{Writes, `{"path":"b","data":"YQ","encoding":"base64"}`, durward.BadBase64},
		{Writes, `{"path":"b","data":"YR==","encoding":"base64"}`, durward.BadBase64},
		{Writes, `{"path":"b","data":"_-8=","encoding":"base64"}`, durward.BadBase64},
		{Writes, `{"path":"b","data":"YQ==\n","encoding":"base64"}`, durward.BadBase64},
		{Writes, `{"path":"b","data":"Y Q==","encoding":"base64"}`, durward.BadBase64},
		{Writes, `{"path":"/outside","data":"@","encoding":"base64"}`, durward.BadBase64}, // before the path is looked at
	} {
		_, err := call(t, s.keeper, Spec{Guard: s.guard, Does: tt.does}, free, tt.input)
		if durward.ReasonOf(err) != tt.want {
			t.Errorf("%s: %v (%s), want %s", tt.input, err, durward.ReasonOf(err), tt.want)
		}
	}
	unchanged(t, s.dir, before)
}

// A caller is told which member it is, and no more of its name than a line holds.
func TestWhatIsToldOfInputs(t *testing.T) {
	s := newShelf(t)
	for _, tt := range []struct{ input, want string }{
		{`{"path":"a","` + strings.Repeat("x", 1<<20) + `":1}`, `there is no member "` + strings.Repeat("x", 64) + `"`},
		{`{"path":"a","a\nb":1}`, `there is no member "a\nb"`},
		{`{}`, `"path" is missing`},
		{`{"path":1}`, `"path" is not a string`},
		{`{"path":"a","length":"1"}`, `"length" is not a whole number from 0`},
		{`{"path":"a","offset":-1}`, `"offset" is not a whole number from 0`},
		{`{"path":"a","encoding":"hex"}`, `"encoding" is not "utf8" or "base64"`},
	} {
		_, err := call(t, s.keeper, Spec{Guard: s.guard}, free, tt.input)
		if e := durward.AsError(err); e == nil || e.Err.Error() != tt.want {
			t.Errorf("%.80s: %.200v, want %s", tt.input, err, tt.want)
		}
	}
}

// Whatever the input, it is refused with a reason or is what it says.
func FuzzInput(f *testing.F) {
	f.Add(`{"path":"a","offset":1,"length":2,"encoding":"base64"}`)
	f.Add(`{"path":"~/../a","offset":1e9}`)
	f.Add(`{"path":"link/../a","offset":-0}`)
	s := newShelf(f)
	s.put(f, "a", "abc")
	must(f, os.Symlink("..", s.dir+"/link"))
	f.Fuzz(func(t *testing.T, input string) {
		result, err := call(t, s.keeper, Spec{Guard: s.guard}, free, input)
		if err != nil {
			if durward.ReasonOf(err) == "" {
				t.Fatalf("%q: %v", input, err)
			}
			return
		}
		var answer readAnswer
		if json.Unmarshal(result.Output, &answer) != nil || answer.BytesRead > 3 {
			t.Fatalf("%q gave %s", input, result.Output)
		}
	})
}
