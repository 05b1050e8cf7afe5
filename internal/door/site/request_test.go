package site

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/durward/durward"
)

// Whatever a body holds, what is made of it keeps the limits, says what the body says,
// and a refusal is one of the few.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"command": ["ls", "-l"]}`, `{"command": ["ls"], "env": {"A": "b"}}`, `{"command": []}`, `{"command": null}`, `{"command": "ls"}`,
		`{"command": ["ls"], "command": ["rm"]}`, `{"command": ["ls"], "\u0063ommand": ["rm"]}`, `{"Command": ["ls"]}`, `[]`, ``, `{`, `null`,
		`{"command": ["ls\u0000"]}`, `{"command": ["\ud800"]}`, `{"command": ["\ud83d\ude00"]}`, "{\"command\": [\"\xff\"]}", `{"command": ["ls"], "env": []}`,
		`{"command": ["ls"], "env": {"A": 1}}`, `{"command": ["ls"], "env": {"A-B": ""}}`, `{"command": ["ls"], "env": {"A": "\n"}}`,
		`{"command": ["ls"], "env": {"A": "1", "\u0041": "2"}}`, `{"command": ["ls"], "args": {"x": [1e999, -0.0]}}`, "\ufeff{}",
		`{"command":[` + strings.Repeat(`"x",`, 1024) + `"x"]}`, `{"command": ["ls"], "x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		q, err := decode(r)
		if err != nil {
			switch durward.ReasonOf(err) {
			case durward.BadJSON, durward.BadCall, durward.BadEnvName, durward.BodyTooLarge:
			default:
				t.Errorf("%v", err)
			}
			return
		}
		command, env, err := plainly(body)
		if err != nil || !slices.Equal(command, q.command) || !maps.Equal(env, q.env) {
			t.Errorf("%q and %q, but plainly %q and %q, %v", q.command, q.env, command, env, err)
		}
		if len(q.command) == 0 || len(q.command) > maxTokens || CheckEnv(q.env) != nil {
			t.Errorf("it takes %q, %q", q.command, q.env)
		}
		for _, word := range q.command {
			if strings.ContainsRune(word, 0) || !utf8.ValidString(word) || len(word) > maxTokenBytes {
				t.Errorf("it takes %q", word)
			}
		}
	})
}

// plainly reads a body with members that are called exactly so.
func plainly(body []byte) (command []string, env map[string]string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(members["command"], &command)
	if text, ok := members["env"]; ok {
		err = errors.Join(err, json.Unmarshal(text, &env))
	}
	return command, env, err
}
