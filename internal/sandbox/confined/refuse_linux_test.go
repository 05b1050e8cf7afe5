package confined

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/refusetest"
)

// V51: without Landlock nothing is done.
func TestWithoutLandlock(t *testing.T) {
	must(t, again(t, "no-landlock", newWorld(t).work, nil))
}

// withoutLandlock is the part of a process whose kernel has none.
func withoutLandlock(work string) error {
	if err := refusetest.Calls(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET); err != nil {
		return err
	}
	for _, mode := range []durward.Mode{durward.ReadOnly, durward.WorkspaceWrite} {
		for _, down := range []bool{false, true} {
			k := New()
			_, err := k.Under(durward.Grant{Mode: mode, StepDown: down, Files: durward.Files{Read: []string{work}}})
			e := durward.AsError(err)
			if durward.ReasonOf(err) != durward.SandboxUnavailable || e.Hint == "" || !strings.Contains(err.Error(), "ask the kernel") {
				return fmt.Errorf("%s: %w", mode, err)
			}
			if err := k.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestRefusedGrants(t *testing.T) {
	w := newWorld(t)
	deny := durward.Files{Write: []string{w.work}, Deny: []string{w.work + "/.env"}}
	kernel := func(g durward.Guarantee) []durward.Requirement {
		return []durward.Requirement{{Guarantee: g, Kernel: true}}
	}
	tests := []struct {
		name  string
		grant durward.Grant
		want  durward.Reason
	}{
		{"no mode", durward.Grant{}, durward.SandboxUnavailable},
		{"a copy", durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{CopyOnWrite: true}}, durward.SandboxUnavailable},
		{"writing read-only", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Write: []string{w.work}}}, durward.SandboxError},
		{"metadata by the kernel", durward.Grant{Mode: durward.ReadOnly, Require: kernel(durward.FSMeta)}, durward.SandboxUnavailable},
		{"reading by the kernel alone, and a denied path", durward.Grant{Mode: durward.WorkspaceWrite, Files: deny, Require: kernel(durward.FSRead)}, durward.SandboxUnavailable},
		{"a pattern that is none", durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{DenyGlobs: []string{"*"}}}, durward.SandboxError},
		{"full access with sets", durward.Grant{Mode: durward.DangerFullAccess, Files: deny}, durward.SandboxUnavailable},
		{"an outer sandbox with sets", durward.Grant{Mode: durward.External, Files: durward.Files{Deny: []string{"/"}}}, durward.SandboxUnavailable},
		{"full access that holds", durward.Grant{Mode: durward.DangerFullAccess, Require: []durward.Requirement{{Guarantee: durward.FSRead}}}, durward.SandboxUnavailable},
	}
	for _, tt := range tests {
		_, err := newKeeper(t).Under(tt.grant)
		wantReason(t, tt.name, err, tt.want)
	}
}

// A path of a set that is missing, or has become a symlink, refuses each operation.
func TestAPathThatIsGone(t *testing.T) {
	w := newWorld(t)
	a, r := under(t, w.grant()), rootAt(t, w.work)
	must(t, os.Rename(w.readable, w.readable+"2"))
	_, err := read(t.Context(), a, r, "file")
	wantReason(t, "missing", err, durward.SandboxError)
	must(t, os.Symlink("outside", w.readable))
	_, err = read(t.Context(), a, r, "file")
	wantReason(t, "a symlink", err, durward.SandboxError)
	must(t, os.Remove(w.readable))
	must(t, os.Rename(w.readable+"2", w.readable))
	if text, err := read(t.Context(), a, r, "file"); text != harmless {
		t.Errorf("%q, %v", text, err)
	}
}

// A mode that confines nothing says so, and does as the runtime's user may.
func TestUnconfined(t *testing.T) {
	w := newWorld(t)
	for mode, held := range map[durward.Mode]durward.Holder{durward.DangerFullAccess: durward.HeldNone, durward.External: durward.HeldVouched} {
		a := under(t, durward.Grant{Mode: mode})
		r := rootAt(t, w.outside)
		if text, err := read(t.Context(), a, r, "secret"); text != secret {
			t.Errorf("%s: %q, %v", mode, text, err)
		}
		must(t, write(t.Context(), a, r, "new"))
		report := a.Report()
		if report.Level != 0 || report.Guarantees[durward.FSWrite].Held != held || len(report.Weak) == 0 {
			t.Errorf("%s: %+v", mode, report)
		}
		if heldThreads(t) > 0 {
			t.Errorf("%s: a thread is restricted for it", mode)
		}
	}
}

// An error of the kernel under no rules stays what it is.
func TestUnconfinedErrors(t *testing.T) {
	w := newWorld(t)
	_, err := read(t.Context(), under(t, durward.Grant{Mode: durward.External}), rootAt(t, w.work), "none")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
