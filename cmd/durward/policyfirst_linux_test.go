package main

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// TestACommandBeginsAPolicy adds a command where there is no policy. That lets files be
// read in ~/code, and so is made only where there is such a directory.
func TestACommandBeginsAPolicy(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	_, noCode := os.Stat(filepath.Join(me.HomeDir, "code"))
	file := filepath.Join(t.TempDir(), "policy.yaml")
	out, err := exec.Command("durward", "cmd", "add", "today", "--exec", "date", "--policy", file).CombinedOutput()
	text, unmade := os.ReadFile(file)
	if noCode == nil {
		if err != nil || !strings.Contains(string(text), "id: today") {
			t.Errorf("%v: %s\nit holds %s", err, out, text)
		}
		return
	}
	if err == nil || unmade == nil || !strings.Contains(string(out), "durward policy add-root DIR --policy "+file) {
		t.Errorf("%v: %s\nit holds %s", err, out, text)
	}
}
