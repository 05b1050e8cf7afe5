package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPolicyWithAMistakeIsOpenedAgain has an editor make a mistake first, and somebody at
// the terminal answer what becomes of it.
func TestAPolicyWithAMistakeIsOpenedAgain(t *testing.T) {
	const was, mistaken, mended = "version: 1\nallowedRoots: [/tmp]\n", "version: 2\nallowedRoots: [/tmp]\n", "version: 1\nallowedRoots: [/usr]\n"
	for _, test := range []struct {
		answer, holds, told string
		status, left        int
	}{
		{"\n", mended, "the former text is in ", 0, 0},
		{"y\n", mended, "the former text is in ", 0, 0},
		{"n\n", was, "is left as it is; the text that was edited is kept in ", 3, 1},
		{"\x04", was, "is left as it is; the text that was edited is kept in ", 3, 1},
	} {
		dir, drafts := t.TempDir(), t.TempDir()
		for name, text := range map[string]string{"policy.yaml": was, "1": mistaken, "2": mended} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		editor := `f() { cp "$DIR/1" "$1" && cp "$DIR/2" "$DIR/1"; }; f`
		d := sitWith(t, func(c *exec.Cmd) {
			c.Env = append(c.Env, "VISUAL="+editor, "DIR="+dir, "TMPDIR="+drafts, "CI=", "DURWARD_NO_INPUT=")
		}, "policy", "edit", "--policy", filepath.Join(dir, "policy.yaml"))
		if said := d.reads("open it again? [Y/n] "); !strings.Contains(said, "policy.yaml:1:10: ") {
			t.Errorf("the terminal got %q", said)
		}
		d.types(test.answer)
		d.reads(test.told)
		d.ends(test.status)
		text, err := os.ReadFile(filepath.Join(dir, "policy.yaml"))
		if err != nil || string(text) != test.holds {
			t.Errorf("%q: the policy is %q: %v", test.answer, text, err)
		}
		if kept, err := os.ReadDir(drafts); err != nil || len(kept) != test.left {
			t.Errorf("%q: %d drafts are left: %v", test.answer, len(kept), err)
		}
	}
}
