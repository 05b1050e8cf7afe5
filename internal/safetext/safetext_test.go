package safetext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward/internal/safetext"
)

func TestLine(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain text", "ls -l /tmp", "ls -l /tmp"},
		{"other scripts", "žluťoučký 猫 שלום", "žluťoučký 猫 שלום"},
		{"nothing", "", ""},
		{"colours", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"the title of the window", "\x1b]0;mine\x07", `\x1b]0;mine\x07`},
		{"an 8-bit control", "\u009b31m", `\u009b31m`},
		{"line ends and tabulators", "a\tb\r\nc", `a\tb\r\nc`},
		{"NUL and DEL", "a\x00b\x7f", `a\x00b\x7f`},
		{"text that runs backwards", "a\u202egnp.exe", `a\u202egnp.exe`},
		{"isolates", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width", "pass\u200bword\ufeff", `pass\u200bword\ufeff`},
		{"a soft hyphen", "so\u00adft", `so\u00adft`},
		{"blanks that are not the blank", "a\u00a0b\u3000c", `a\u00a0b\u3000c`},
		{"separators of lines and paragraphs", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"fillers", "\u3164\u115f\u2800", `\u3164\u115f\u2800`},
		{"variation selectors", "a\ufe0f\U000e0100", `a\ufe0f\U000e0100`},
		{"tags", "\U000e0041", `\U000e0041`},
		{"private and unassigned", "\ue000\U000f0000", `\ue000\U000f0000`},
		{"not UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
	} {
		if got := safetext.Line(test.text); got != test.want {
			t.Errorf("%s: %q; want %q", test.name, got, test.want)
		}
	}
}

func TestLinesKeepsLineEnds(t *testing.T) {
	if got, want := safetext.Lines("a\x1b\n\u202eb\n"), "a\\x1b\n\\u202eb\n"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{"plain", "\x1b[2J", "a\u202eb", "\xff\xfe", "a\nb", "\U000e0041"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := safetext.Line(text)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", text, line)
		}
		if again := safetext.Line(line); again != line {
			t.Errorf("%q became %q at the second time", line, again)
		}
		if got, want := strings.Count(safetext.Lines(text), "\n"), strings.Count(text, "\n"); got != want {
			t.Errorf("%q has %d line ends, want %d", text, got, want)
		}
	})
}

func TestOutputKeepsLinesAndColumns(t *testing.T) {
	if got, want := safetext.Output("a\tb\n\x1b[2Jc\r\n\t"), "a\tb\n\\x1b[2Jc\\r\n\t"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// TestJSONOnOneLineStaysOnIt has a terminal go back between two values.
func TestJSONOnOneLineStaysOnIt(t *testing.T) {
	const text = "{\"a\":1,\r\"b\":\t2}\r\n"
	if got, want := safetext.JSON(text), "{\"a\":1, \"b\":\t2} \n"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}
