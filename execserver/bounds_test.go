package execserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// What is malformed is answered once, under the id of nobody, and the connection lives.
func TestMalformedMessages(t *testing.T) {
	p := greet(t, serve(t).url)
	deep := func(n int) string {
		return `{"id":1,"method":"process/terminate","params":{"processId":"x","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	many := func(n int) string { // with five values around those of the list, and one beside it
		return `{"id":1,"method":"process/terminate","params":{"processId":"x","x":[0` + strings.Repeat(",0", n-7) + `]}}`
	}
	bad := 0
	for _, text := range []string{
		"", " ", "null", "true", "1", `"x"`, "[]", "{", "{}", `{"id":1}`, `{"method":1}`, "{\"a\":\"\x01\"}",
		`{"id":1,"method":"process/terminate","params":{"processId":"x"}} {}`,
		`[{"id":1,"method":"process/terminate","params":{"processId":"x"}}]`,
		`{"id":1,"method":"process/terminate","params":{"processId":"x","processId":"x"}}`,
		`{"id":1,"method":"process/terminate","params":{"processId":"x","y":{"a":1,"b":2,"\u0061":3}}}`,
		`{"id":true,"method":"process/terminate","params":{"processId":"x"}}`,
		`{"id":[],"method":"process/terminate","params":{"processId":"x"}}`,
		`{"id":1e0,"method":"process/terminate","params":{"processId":"x"}}`,
		`{"id":-9223372036854775809,"method":"process/terminate","params":{"processId":"x"}}`,
		deep(200), deep(100000), deep(5000000), many(262145), many(4000000),
		strings.Repeat("[", 8000000), `{"id":1,"method":"` + strings.Repeat("x", 8<<20),
	} {
		p.says(text)
		bad++
		p.until(fmt.Sprintf("%.100q is answered", text), func(heard []message) bool {
			n := 0
			for _, m := range heard {
				if m.id == "-1" && m.Error != nil && m.Error.Code == -32600 && m.Error.Message != "" {
					n++
				}
			}
			return n == bad
		})
		p.lives()
	}
	for i, text := range []string{deep(100), many(262144), `{"id":9223372036854775807,"method":"process/terminate","params":{"processId":"x"},"trace":{"a":1},"x":null}`} {
		p.says(strings.Replace(text, `"id":1,`, fmt.Sprintf(`"id":%d,`, i), 1))
	}
	for _, id := range []string{"0", "1", "9223372036854775807"} {
		p.result(p.answer(id), nil)
	}
	if len(p.of("")) > 0 {
		t.Errorf("nobody asked for %s", p.of("")[0].text)
	}
}

// A message of 8 MiB is taken; one of 16 MiB ends its connection, and no other.
func TestLargeMessages(t *testing.T) {
	s := serve(t)
	other, file := greet(t, s.url), filepath.Join(openDir(t), "file")
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		p := greet(t, s.url)
		message := func(size int) string {
			head, foot := `{"id":1,"method":"fs/writeFile","params":{"path":"file://`+file+`","dataBase64":"`, `"}}`
			padding := strings.Repeat(" ", (size-len(head)-len(foot))%4)
			return head + strings.Repeat("QUFB", (size-len(head)-len(foot))/4) + foot + padding
		}
		p.sends(kind, message(8<<20))
		p.result(p.answer("1"), nil)
		content, err := os.ReadFile(file)
		if err != nil || len(content) < 6290000 || strings.Trim(string(content), "A") != "" {
			t.Errorf("%d bytes are written: %v", len(content), err)
		}
		must(t, os.Remove(file))
		tooLarge(p, kind, message(16<<20))
		if exists(filepath.Dir(file), "file") {
			t.Error("a file is written")
		}
		other.lives()
	}
}

// tooLarge sends a message of which the server will not have all.
func tooLarge(p *peer, kind websocket.MessageType, text string) {
	_ = p.conn.Write(p.t.Context(), kind, []byte(text)) // the connection may end before it is sent
	p.closes()
	p.until("the answer to what was sent before", func(heard []message) bool {
		for _, m := range heard[2:] {
			p.t.Errorf("it is answered: %.300s", m.text)
		}
		return true
	})
}

// Text that is no UTF-8 ends its connection.
func TestTextThatIsNone(t *testing.T) {
	s := serve(t)
	other, p := greet(t, s.url), greet(t, s.url)
	_ = p.conn.Write(t.Context(), websocket.MessageText, []byte("{\"id\":1,\"method\":\"a\xff\"}"))
	p.closes()
	other.lives()
}

// Bad base64 leaves the file that was to be written as it is.
func TestBadBase64WritesNothing(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	kept := filepath.Join(dir, "kept")
	must(t, os.WriteFile(kept, []byte("as it was"), 0o644))
	for _, text := range []string{"!", "Q", "QQ", "QQ=", "Q===", "QQ==QQ==", "QQ==\n", " QQ==", "QR==", "_-8=", "QUFB" + strings.Repeat("QUFB", 1<<20) + "!"} {
		for _, name := range []string{kept, filepath.Join(dir, "new")} {
			p.refused(p.ask("fs/writeFile", map[string]any{"path": "file://" + name, "dataBase64": text}), -32600)
		}
	}
	if content, err := os.ReadFile(kept); err != nil || string(content) != "as it was" {
		t.Errorf("it holds %q: %v", content, err)
	}
	if exists(dir, "new") {
		t.Error("a file is made")
	}
}
