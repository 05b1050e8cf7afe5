package confined

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// placeAt opens something so that it can be shown.
func placeAt(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func holdOf(t *testing.T, a *Access, changes bool) *Hold {
	t.Helper()
	h, err := a.Hold(t.Context(), "test", changes)
	must(t, err)
	return h
}

func TestAHoldRefusesWhatIsNotGiven(t *testing.T) {
	w := newWorld(t)
	w.file(t, "work/.git/config", harmless)
	w.file(t, "work/.env", secret)
	w.file(t, "work/deep/keys/key", secret)
	must(t, os.Symlink("../outside", w.work+"/link"))
	g := w.grant()
	g.Files.Protect, g.Files.Deny = []string{w.work + "/.git", w.work + "/.codex"}, []string{w.work + "/.env", w.work + "/deep/keys"}
	h := holdOf(t, under(t, g), true)
	at := func(path string) int { return placeAt(t, w.top+"/"+path) }
	for what, tt := range map[string]struct {
		err    error
		reason durward.Reason
	}{
		"read inside":               {h.Reads(at("work/file")), ""},
		"read what is readable":     {h.Reads(at("readable/file")), ""},
		"read outside":              {h.Reads(at("outside/secret")), durward.FileNotFound},
		"read by a link":            {h.Reads(at("work/link/secret")), durward.FileNotFound},
		"read what is denied":       {h.Reads(at("work/.env")), durward.FileNotFound},
		"read in what is denied":    {h.Reads(at("work/deep/keys/key")), durward.FileNotFound},
		"read above what is given":  {h.Reads(at(".")), durward.FileNotFound},
		"write inside":              {h.Writes(at("work/file")), ""},
		"write what is readable":    {h.Writes(at("readable/file")), durward.FilePermission},
		"write outside":             {h.Writes(at("outside/victim")), durward.OutsideRoot},
		"write what is protected":   {h.Writes(at("work/.git/config")), durward.FilePermission},
		"write what is denied":      {h.Writes(at("work/.env")), durward.OutsideRoot},
		"make inside":               {h.Makes(at("work"), "new", "deep"), ""},
		"make by a link":            {h.Makes(at("work/link"), "new"), durward.OutsideRoot},
		"make where is readable":    {h.Makes(at("readable"), "new"), durward.FilePermission},
		"make what is protected":    {h.Makes(at("work"), ".codex", "x"), durward.FilePermission},
		"make in what is protected": {h.Makes(at("work/.git"), "new"), durward.FilePermission},
		"make the workspace":        {h.Makes(at("."), "work"), durward.OutsideRoot},
		"remove inside":             {h.Removes(at("work"), "sub"), ""},
		"remove what is protected":  {h.Removes(at("work"), ".git"), durward.FilePermission},
		"remove what is around it":  {h.Removes(at("work"), "deep"), durward.FilePermission},
		"remove outside":            {h.Removes(at("outside"), "victim"), durward.OutsideRoot},
	} {
		if tt.reason == "" {
			must(t, tt.err)
			continue
		}
		wantReason(t, what, tt.err, tt.reason)
		if durward.KindOf(tt.err) != durward.Denied || durward.AsError(tt.err).Rule == "" {
			t.Errorf("%s: the record would not say by what it was refused: %v", what, tt.err)
		}
	}
}

// What was moved is known again, and so is what a name leads to now.
func TestAHoldKnowsWhatWasMoved(t *testing.T) {
	w := newWorld(t)
	w.file(t, "work/.git/config", harmless)
	g := w.grant()
	g.Files.Protect = []string{w.work + "/.git"}
	h := holdOf(t, under(t, g), true)
	must(t, os.Rename(w.work+"/.git", w.work+"/moved"))
	wantReason(t, "write what was moved", h.Writes(placeAt(t, w.work+"/moved/config")), durward.FilePermission)
	wantReason(t, "remove what was moved", h.Removes(placeAt(t, w.work), "moved"), durward.FilePermission)
	sub := placeAt(t, w.work+"/sub")
	must(t, h.Makes(sub, "new"))
	must(t, os.Rename(w.work+"/sub", w.outside+"/sub"))
	wantReason(t, "make in what was moved", h.Makes(sub, "new"), durward.OutsideRoot)
}

func TestTheKernelHoldsWhatAHoldDoes(t *testing.T) {
	w := newWorld(t)
	h := holdOf(t, under(t, w.grant()), true)
	before := snapshot(t, w.outside)
	for name, run := range map[string]func(func() error) error{
		"do": func(f func() error) error { return h.Do(t.Context(), f) },
		"start": func(f func() error) error {
			done, err := h.Start(t.Context(), f)
			must(t, err)
			return <-done
		},
	} {
		must(t, run(func() error { return os.WriteFile(w.work+"/"+name, nil, 0o600) }))
		if err := run(func() error { return os.WriteFile(w.outside+"/"+name, nil, 0o600) }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: outside it is %v", name, err)
		}
		wantReason(t, name+" of what panics", run(func() error { panic("x") }), durward.Defect)
		must(t, run(func() error { return nil })) // the thread is as good as before
	}
	unchanged(t, w.outside, before)
}

func TestAFreeHoldRefusesNothing(t *testing.T) {
	w := newWorld(t)
	h := holdOf(t, under(t, durward.Grant{Mode: durward.DangerFullAccess}), true)
	outside := placeAt(t, w.outside)
	for _, err := range []error{h.Reads(outside), h.Writes(outside), h.Makes(outside, "x"), h.Removes(outside, "secret")} {
		must(t, err)
	}
	must(t, h.Do(t.Context(), func() error { return os.WriteFile(w.outside+"/new", nil, 0o600) }))
	if h.Confines() || h.Judges() {
		t.Error("it says that it confines")
	}
}

// Whoever waits for a thread stops waiting, and what has not begun never does.
func TestAHoldEndsWithItsCaller(t *testing.T) {
	w := newWorld(t)
	for mode, g := range map[durward.Mode]durward.Grant{durward.WorkspaceWrite: w.grant(), durward.DangerFullAccess: {Mode: durward.DangerFullAccess}} {
		k := New()
		a, err := k.Under(g)
		must(t, err)
		h := holdOf(t, a, true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ran := func() error { t.Errorf("%s: it ran", mode); return nil }
		if err := h.Do(ctx, ran); durward.KindOf(err) != durward.Cancelled {
			t.Errorf("%s: %v", mode, err)
		}
		if _, err := h.Start(ctx, ran); durward.KindOf(err) != durward.Cancelled {
			t.Errorf("%s: %v", mode, err)
		}
		must(t, k.Close())
		wantReason(t, string(mode), h.Do(t.Context(), ran), durward.ShuttingDown)
	}
}
