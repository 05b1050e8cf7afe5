//go:build unix

package policy_test

import (
	"fmt"
	"testing"
)

// A symlink in what commands can write may have been put there by one, also where it is only
// on the way to what is named.
func TestALinkThatWasPerhapsPlanted(t *testing.T) {
	h := hostOf(standard().with(map[string]string{
		"/home/ann/work/out": "/srv", "/home/ann/work/in": "/home/ann/work/src", "/home/ann/work/tool": "/opt/tool",
	}))
	const want = "p.yaml:2:%d: %s leads out of /home/ann/work, which a command can write: name %s itself if that is meant"
	for _, tt := range []struct{ set, path, to string }{
		{"write", "/home/ann/work/out", "/srv"},
		{"write", "/home/ann/work/out/shared", "/srv/shared"},
		{"read", "/home/ann/work/out/shared", "/srv/shared"},
		{"read", "/home/ann/work/tool", "/opt/tool"},
	} {
		doc, at := "mode: workspace-write\n", 29
		if tt.set == "write" {
			doc, at = doc+"filesystem: {write: [/home/ann/work, "+tt.path+"]}\n", 38
		} else {
			doc += "filesystem: {write: [/home/ann/work], read: ['@system', " + tt.path + "]}\n"
			at = 57
		}
		wantProblems(t, load(h, doc), fmt.Sprintf(want, at, tt.path, tt.to))
	}
	for _, path := range []string{"/home/ann/work/in", "/home/ann/link", "/srv/shared"} {
		if err := load(h, "mode: workspace-write\nfilesystem: {write: [/home/ann/work, "+path+"]}\n"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
