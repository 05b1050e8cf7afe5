package changeset

import (
	"context"
	"os"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// held runs f on a thread that opens, makes, renames and deletes nothing outside of the
// workspaces: the kernel holds it to that. Where it cannot, nothing is run and the reason is
// SandboxUnavailable. No kernel judges there who owns a file and what its permissions are;
// both are only ever set by descriptor.
func held(ctx context.Context, sets []*Set, f func() error) error {
	rules := landlock.Rules{FilesOnly: true}
	for _, s := range sets {
		rules.Paths = append(rules.Paths, landlock.Rule{Path: s.layers.Path, Rights: landlock.Read | landlock.Write})
	}
	thread, err := landlock.OpenThread(rules)
	if err != nil {
		return err
	}
	defer thread.Close()
	return thread.Do(context.WithoutCancel(ctx), f)
}

// elsewhere runs f on another thread than the caller's, which may be held. An upper
// directory has no path that a rule could name.
func elsewhere[T any](f func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = f()
	}()
	<-done
	return result, err
}

// admit finds out whether the workspace still is where the grant says, and on a file system
// that may be written to. All of it is on that one: no mount in it is entered.
func (s *Set) admit(rules fsroot.Rules) error {
	now, err := fsroot.PhysicalPath(s.layers.Lower)
	if err == nil && now != s.layers.Path {
		err = errChanged
	}
	if err != nil {
		return failed(opApply, s.layers.Path, err)
	}
	dir, err := openUnder(s.layers.Lower, rules)
	if err == nil {
		return dir.Close()
	}
	switch reason := durward.ReasonOf(err); reason {
	case durward.NetworkFS, durward.SpecialFilesystem:
		return refusal(opApply, reason, "filesystem.write", "let the command write to a directory on a disk of this machine", s.layers.Path, "%s", reason.Summary())
	}
	return err
}

// openUnder opens a directory once more, if what it is on meets the rules.
func openUnder(dir *os.File, rules fsroot.Rules) (*os.File, error) {
	root, err := fsroot.Open(behind(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenDir(".", rules)
}
