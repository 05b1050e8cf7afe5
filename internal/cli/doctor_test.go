package cli

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/unproven"
)

// TestDoctorNamesTheSetting gives the doctor machines that forbid something.
func TestDoctorNamesTheSetting(t *testing.T) {
	refused := errors.New("clone: operation not permitted")
	setting := func(name, value string) fs.FS { return fstest.MapFS{name: {Data: []byte(value + "\n")}} }
	for _, test := range []struct {
		name, trial string
		err         error
		system      fs.FS
		want        string
	}{
		{"no user namespaces", "pidns", refused, setting("user/max_user_namespaces", "0"), "sysctl -w user.max_user_namespaces="},
		{"none for users", "pidns", refused, setting("kernel/unprivileged_userns_clone", "0"), "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"AppArmor", "userns", refused, setting("kernel/apparmor_restrict_unprivileged_userns", "1"), "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"a filter around us", "pidns", refused, fstest.MapFS{}, "seccomp"},
		{"a cgroup of others", "cgroup", &fs.PathError{Op: "mkdir", Err: fs.ErrPermission}, fstest.MapFS{}, "Delegate=yes"},
		{"no cgroup", "cgroup", errors.New("read-only file system"), fstest.MapFS{}, "mount cgroup version 2"},
	} {
		c := trial(test.trial, "", test.err, test.system)
		if c.OK || c.Error == "" || !strings.Contains(c.Fix, test.want) {
			t.Errorf("%s: %+v; want %q", test.name, c, test.want)
		}
	}
}

func TestDoctorOfAMachineWithoutContainment(t *testing.T) {
	host := sandbox.Host{
		Trials:           []sandbox.Trial{{Containment: sandbox.PIDNamespace, Err: errors.New("no")}, {Containment: sandbox.Subreaper, Err: errors.New("no")}},
		UserNamespaceErr: errors.New("no"),
	}
	data := doctorData{Levels: levels(host, fstest.MapFS{}), Checks: []checkData{check("state", "", nil)}}
	if data.Levels[0].Available {
		t.Error("level 0 is available without a containment")
	}
	var status exitStatus
	if !errors.As(data.status(), &status) || status != 9 {
		t.Errorf("it exits with %v, want 9", data.status())
	}
	host.Trials[1].Err = nil
	data.Levels = levels(host, fstest.MapFS{})
	if err := data.status(); !data.Levels[0].Available || err != nil {
		t.Errorf("one containment is not enough: %v", err)
	}
}

// The doctor says why starts are slower than they could be, and only then.
func TestDoctorOfAMachineOfSlowStarts(t *testing.T) {
	host := sandbox.Host{Trials: []sandbox.Trial{{Containment: sandbox.Subreaper}}}
	if zero := levels(host, fstest.MapFS{})[0]; !zero.Available || strings.Contains(zero.Detail, "slower") {
		t.Errorf("%+v", zero)
	}
	host.SharedErr = errors.New("clone: operation not permitted")
	if zero := levels(host, fstest.MapFS{})[0]; !zero.Available || !strings.Contains(zero.Detail, "slower") || !strings.Contains(zero.Detail, "(clone: operation not permitted)") {
		t.Errorf("%+v", zero)
	}
}

// Where nothing of the sandbox was ever run, commands are still run, and the doctor says
// what that is worth.
func TestDoctorOfAnUnprovenSystem(t *testing.T) {
	for _, c := range []sandbox.Containment{sandbox.ProcessGroup, sandbox.JobObject} {
		host := sandbox.Host{Trials: []sandbox.Trial{{Containment: c, Err: unproven.Err}}, UserNamespaceErr: unproven.Err}
		data := doctorData{Levels: levels(host, fstest.MapFS{})}
		if err := data.status(); err != nil {
			t.Errorf("%s: it exits with %v", c, err)
		}
		zero := data.Levels[0]
		if len(zero.Trials) != 1 || zero.Trials[0].OK || zero.Trials[0].Fix != unproven.Hint {
			t.Errorf("%s: %+v", c, zero)
		}
		if !strings.Contains(zero.Trials[0].Error, "never proven") || !strings.Contains(zero.Detail, "nothing is reported as held") {
			t.Errorf("%s: it does not say that nothing is held: %+v", c, zero)
		}
		for _, l := range data.Levels[1:] {
			if l.Available {
				t.Errorf("%s: level %d is said to be there", c, l.Level)
			}
		}
	}
}
