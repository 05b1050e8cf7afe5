//go:build linux || darwin

package file

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/pathguard"
)

func TestInputs(t *testing.T) {
	s := newShelf(t, pathguard.Zone{Path: ".", Recursive: true})
	s.put(t, "a", "a")
	before := snapshot(t, s.dir)
	for _, tt := range []struct {
		writes bool
		input  string
		want   durward.Reason
	}{
		{false, `{}`, durward.MissingField},
		{false, `{"path":1}`, durward.WrongType},
		{false, `{"path":null}`, durward.WrongType},
		{false, `{"path":["a"]}`, durward.WrongType},
		{false, `{"path":""}`, durward.EmptyPath},
		{false, `{"path":"a\u0000"}`, durward.NULInPath},
		{false, `{"Path":"a"}`, durward.UnknownField},
		{false, `{"path":"a","data":"x"}`, durward.UnknownField},
		{false, `{"path":"a","limit":1}`, durward.UnknownField},
		{false, `{"path":"a","path":"a"}`, durward.BadJSON},
		{false, `{"path":"a","p\u0061th":"a"}`, durward.BadJSON},
		{false, `{"path":"\ud800"}`, durward.BadJSON},
		{false, `{"path":"a"} {}`, durward.BadJSON},
		{false, `{"path":"a"`, durward.BadJSON},
		{false, ``, durward.WrongType},
		{false, `null`, durward.WrongType},
		{false, `["a"]`, durward.WrongType},
		{false, `"a"`, durward.WrongType},
		{false, `{"path":"a","offset":-1}`, durward.BadOffset},
		{false, `{"path":"a","offset":0.5}`, durward.BadOffset},
		{false, `{"path":"a","offset":-1e300}`, durward.BadOffset},
		{false, `{"path":"a","offset":"0"}`, durward.WrongType},
		{false, `{"path":"a","offset":null}`, durward.WrongType},
		{false, `{"path":"a","length":-1}`, durward.BadLength},
		{false, `{"path":"a","length":1e-1}`, durward.BadLength},
		{false, `{"path":"a","length":true}`, durward.WrongType},
		{false, `{"path":"a","encoding":"UTF8"}`, durward.BadEncoding},
		{false, `{"path":"a","encoding":""}`, durward.BadEncoding},
		{false, `{"path":"a","encoding":8}`, durward.WrongType},
		{true, `{"path":"b"}`, durward.MissingField},
		{true, `{"data":"b"}`, durward.MissingField},
		{true, `{"path":"b","data":1}`, durward.WrongType},
		{true, `{"path":"b","data":"","offset":0}`, durward.UnknownField},
		{true, `{"path":"b","data":"","create":1}`, durward.WrongType},
		{true, `{"path":"b","data":"","overwrite":"true"}`, durward.WrongType},
		{true, `{"path":"b","data":"","overwrite":null}`, durward.WrongType},
		{true, `{"path":"b","data":"\udc00"}`, durward.BadJSON},
		{true, `{"path":"b","data":"","encoding":"hex"}`, durward.BadEncoding},
		{true, `{"path":"b","data":"YQ","encoding":"base64"}`, durward.BadBase64},
		{true, `{"path":"b","data":"YR==","encoding":"base64"}`, durward.BadBase64},
		{true, `{"path":"b","data":"_-8=","encoding":"base64"}`, durward.BadBase64},
		{true, `{"path":"b","data":"YQ==\n","encoding":"base64"}`, durward.BadBase64},
		{true, `{"path":"b","data":"Y Q==","encoding":"base64"}`, durward.BadBase64},
		{true, `{"path":"/outside","data":"@","encoding":"base64"}`, durward.BadBase64}, // before the path is looked at
	} {
		_, err := call(t, s.keeper, Spec{Guard: s.guard, Writes: tt.writes}, free, tt.input)
		if durward.ReasonOf(err) != tt.want {
			t.Errorf("%s: %v (%s), want %s", tt.input, err, durward.ReasonOf(err), tt.want)
		}
	}
	unchanged(t, s.dir, before)
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
