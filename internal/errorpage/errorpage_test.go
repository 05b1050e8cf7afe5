package errorpage

import (
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestEveryReasonHasItsWords(t *testing.T) {
	for _, reason := range durward.Reasons() {
		w := WordsOf(reason)
		for _, text := range []string{w.Happened, w.Causes, w.Fix, w.Prevent} {
			if text == "" || strings.Contains(text, "\n") || strings.Contains(text, "DWD-") || strings.HasPrefix(text, "*") {
				t.Errorf("%s: %+v", reason, w)
				break
			}
		}
	}
	if w := WordsOf("made_up"); w != (Words{}) {
		t.Errorf("there are words on a reason that is none: %+v", w)
	}
}

func TestFind(t *testing.T) {
	for _, reason := range durward.Reasons() {
		for _, word := range []string{reason.Code(), strings.ToLower(reason.Code()), string(reason), strings.ToUpper(string(reason))} {
			if found, ok := Find(word); !ok || found != reason {
				t.Errorf("%s finds %q", word, found)
			}
		}
	}
	if found, ok := Find("DWD-POLICY"); ok {
		t.Errorf("half a code finds %s", found)
	}
}

func TestTextFitsATerminal(t *testing.T) {
	for _, reason := range durward.Reasons() {
		text := Of(reason).Text()
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 97 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: %s", reason, line)
			}
		}
		if strings.Contains(text, "](") || strings.Contains(text, ".md") {
			t.Errorf("%s sends its reader to a file of docs", reason)
		}
	}
}
