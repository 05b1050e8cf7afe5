package clientconfig

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// extras draws what may stand between two tokens, and counts its comments.
func extras(newline string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{
			"", "", "", " ", "\t", newline, newline + "  ", newline + "\t\t", " /* c */", " // c, }" + newline + " ", newline + "/* \"c\": {" + newline + "*/",
		}).Draw(t, "extra")
	})
}

// objects draws an object in JSON, laid out in any way; names lead to an object that is in it.
func objects(newline string, names []string, depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		extra := func() string { return extras(newline).Draw(t, "extra") }
		text := "{"
		n := rapid.IntRange(0, 3).Draw(t, "members")
		at := -1
		if len(names) > 0 && rapid.Bool().Draw(t, "leads") {
			at = rapid.IntRange(0, n).Draw(t, "at")
		}
		for i := range n {
			if i == at {
				text += extra() + fmt.Sprintf("%q", names[0]) + extra() + ":" + extra() + objects(newline, names[1:], depth).Draw(t, "below") + extra() + ","
			}
			value := rapid.SampledFrom([]string{"1.0", `"}\"//"`, "null", "[1, /* x */ 2,]", "{}"}).Draw(t, "value")
			if depth > 0 && rapid.Bool().Draw(t, "deeper") {
				value = objects(newline, nil, depth-1).Draw(t, "object")
			}
			text += extra() + fmt.Sprintf("%q", fmt.Sprint("m", i)) + extra() + ":" + extra() + value + extra() + ","
		}
		if rapid.Bool().Draw(t, "no comma too many") {
			text = strings.TrimSuffix(text, ",")
		}
		return text + extra() + "}"
	})
}

func minimal(t *rapid.T, text []byte) []byte {
	text, err := hujson.Minimize(append(bytes.TrimPrefix(text, []byte(byteOrderMark)), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Whatever the layout: an entry that is set and removed leaves the document saying what it said, with all
// comments, and in between all else says what it said.
func TestAnyLayoutKeepsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]Client{Cursor, VSCode, OpenCode}).Draw(t, "client")
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		was := extras(newline).Draw(t, "before") + objects(newline, c.way("file"), 2).Draw(t, "document") + extras(newline).Draw(t, "after") + rapid.SampledFrom([]string{"", "// c"}).Draw(t, "end")
		if rapid.Bool().Draw(t, "marked") {
			was = byteOrderMark + was
		}
		text, err := OpenText(c, "file", []byte(was))
		if err != nil {
			t.Fatalf("%q: %v", was, err)
		}
		held := text.Holds()
		if err := text.Set("durward", started); err != nil {
			t.Fatalf("%q: %v", was, err)
		}
		now := string(text.Bytes())
		if !text.Leads("durward", started) || strings.Count(now, "/* ") != strings.Count(was, "/* ") || strings.Count(now, "// c") != strings.Count(was, "// c") {
			t.Fatalf("%q became %q", was, now)
		}
		if newline == "\r\n" && strings.Count(now, "\n")-strings.Count(now, "\r\n") > 0 && strings.Contains(was, "\n") {
			t.Fatalf("lines end in two ways: %q became %q", was, now)
		}
		if err := text.Remove("durward", !held); err != nil {
			t.Fatalf("%q: %v", now, err)
		}
		if got := string(text.Bytes()); !bytes.Equal(minimal(t, []byte(got)), minimal(t, []byte(was))) || strings.Count(got, "/* ") != strings.Count(was, "/* ") || strings.Count(got, "// c") != strings.Count(was, "// c") {
			t.Fatalf("%q became %q, and then %q", was, now, got)
		}
	})
}

// The same in TOML, to the byte but for a newline at the end.
func TestAnyTOMLKeepsWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		lines := []string{rapid.SampledFrom([]string{"", "# first", "model = \"x\" # m"}).Draw(t, "begin")}
		for i := range rapid.IntRange(0, 4).Draw(t, "tables") {
			header := rapid.SampledFrom([]string{"[t%d]", "[mcp_servers.s%d]", "  [ mcp_servers . 's%d' ] # h", "[[l%d]]"}).Draw(t, "header")
			body := rapid.SliceOf(rapid.SampledFrom([]string{"", "# c", "  "})).Draw(t, "body")
			lines = append(append(lines, fmt.Sprintf(header, i)), body...)
			lines = append(lines, rapid.SampledFrom([]string{"a = '''\n[mcp_servers.durward]\n# '''", "a = [\n # [x]\n]", "a = 1979-05-27T07:32:00Z", "a = nan"}).Draw(t, "value"))
		}
		was := strings.ReplaceAll(strings.Join(lines, "\n"), "\n", newline) + rapid.SampledFrom([]string{"", newline, newline + newline}).Draw(t, "end")
		text, err := OpenText(Codex, "file", []byte(was))
		if err != nil {
			t.Fatalf("%q: %v", was, err)
		}
		if err := text.Set("durward", started); err != nil {
			t.Fatalf("%q: %v", was, err)
		}
		now := string(text.Bytes())
		if !strings.HasPrefix(now, was) || !text.Leads("durward", started) {
			t.Fatalf("%q became %q", was, now)
		}
		if err := text.Remove("durward", true); err != nil {
			t.Fatalf("%q: %v", now, err)
		}
		if got := string(text.Bytes()); strings.TrimRight(got, "\r\n") != strings.TrimRight(was, "\r\n") {
			t.Fatalf("%q became %q, and then %q", was, now, got)
		}
	})
}
