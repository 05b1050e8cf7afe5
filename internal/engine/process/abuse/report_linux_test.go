//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// What a report says is held keeps a command from trying, and what it says is not does
// not. Each probe tells whether it was kept from what it tried.
func TestV52ReportIsHonest(t *testing.T) {
	row{id: "V52"}.each(t, func(s *scene) {
		s.spoilt = true
		trove := bury(s)
		kept := func(args ...string) bool { return s.attempt(args...).Err != "" }
		limited := func(limit string, args ...string) answer {
			return s.attemptUnder(s.base.with("limits", "{wallMs: 60000, graceMs: 50, "+limit+"}"), args...)
		}
		ids := s.must(s.attempt("ids"))
		probes := map[durward.Guarantee]func() bool{
			durward.FSRead:  func() bool { return kept("read", filepath.Join(s.outside, "secret")) },
			durward.FSWrite: func() bool { return kept("create", filepath.Join(s.outside, "new")) },
			durward.FSMeta: func() bool {
				return kept("chmod", filepath.Join(s.outside, "victim"), "0600") && kept("stat", filepath.Join(s.outside, "secret"))
			},
			durward.Net:  func() bool { return kept("tcp", s.tcp) && kept("udp", s.udp) },
			durward.Unix: func() bool { return kept("unix", filepath.Join(s.outside, "s")) && kept("unix", s.abstract) },
			durward.Proc: func() bool {
				return kept("kill", fmt.Sprint(s.canary.pid), "0") && kept("stat", fmt.Sprint("/proc/", s.canary.pid)) && !strings.Contains(s.attempt("ps").Got, program(s.T)+" wait")
			},
			durward.IPC: func() bool { return kept("shm", fmt.Sprint(trove.shm)) && kept("mq", trove.queue) },
			durward.Kill: func() bool {
				s.must(s.attempt("daemon"))
				return len(processesWith(s.T, s.top)) == 0
			},
			durward.Mem: func() bool {
				return limited("memoryBytes: 33554432", "hog", "134217728", "1", "hold").Err == string(durward.LimitMemory)
			},
			durward.Pids:     func() bool { return limited("pids: 40", "forks", "120").Err == "EAGAIN" },
			durward.Priv:     func() bool { return strings.Contains(ids, "nnp=1") && strings.Contains(ids, "eff=0 prm=0") },
			durward.Syscalls: func() bool { return kept("keyctl") && kept("clone3") && strings.Contains(ids, "seccomp=2") },
		}
		a := s.attempt("mark", filepath.Join(s.workspace, "mine"))
		s.must(a)
		r := a.result.Report
		for _, g := range durward.Guarantees() {
			held, said := r.Guarantees[g]
			if !said {
				s.Errorf("%s: the report is silent", g)
			}
			if was := probes[g](); was != (held.Held != durward.HeldNone) {
				s.Errorf("%s: the report says %s %v, and a probe was kept from it: %v", g, held.Held, held.By, was)
			}
		}
		if r.Level != s.level || string(r.Mode) != s.base["mode"] || r.PolicyHash != "" && r.PolicyHash != s.compile(s.base).Hash() {
			s.Errorf("%+v", r)
		}
		var made unix.Stat_t
		s.check(unix.Lstat(filepath.Join(s.workspace, "mine"), &made))
		if r.Identity.Host != uint32(s.uid) || s.user.owner != 0 && r.Identity.Host != made.Uid {
			s.Errorf("identity %+v; a file of the command is %d's", r.Identity, made.Uid)
		}
		s.mechanisms(r.Guarantees)
	})
}

// mechanisms asks that what a report names was applied, as another run shows to who looks
// at it from outside.
func (s *scene) mechanisms(of durward.Holding) {
	s.Helper()
	pid := s.sibling().pid
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	s.check(err)
	apart := func(kind string) bool {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		s.check(err)
		return link != s.own(kind)
	}
	has := func(line string) bool { return strings.Contains(string(status), line+"\n") }
	cgroups := func(of string) string {
		text, err := os.ReadFile("/proc/" + of + "/cgroup")
		s.check(err)
		return string(text)
	}
	abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	for g, held := range of {
		for _, by := range held.By {
			ok, known := map[string]func() bool{
				"mountns":                       func() bool { return apart("mnt") },
				"pidns":                         func() bool { return apart("pid") },
				"netns":                         func() bool { return apart("net") },
				"ipcns":                         func() bool { return apart("ipc") },
				"utsns":                         func() bool { return apart("uts") },
				"userns":                        func() bool { return apart("user") },
				"rlimit+userns":                 func() bool { return apart("user") },
				"seccomp":                       func() bool { return has("Seccomp:\t2") },
				"nnp":                           func() bool { return has("NoNewPrivs:\t1") },
				"nocaps":                        func() bool { return has("CapEff:\t0000000000000000") && has("CapPrm:\t0000000000000000") },
				fmt.Sprintf("landlock:%d", abi): func() bool { return true }, // its effect is what the probes show
				"cgroup":                        func() bool { return cgroups(fmt.Sprint(pid)) != cgroups("self") },
				"cgroup1":                       func() bool { return cgroups(fmt.Sprint(pid)) != cgroups("self") },
				"cgroup2":                       func() bool { return cgroups(fmt.Sprint(pid)) != cgroups("self") },
				"poll":                          func() bool { return held.Held != durward.HeldKernel },
				"rlimit":                        func() bool { return held.Held == durward.HeldPerProcess },
			}[by]
			if !known || !ok() {
				s.Errorf("%s is said to be held by %s", g, by)
			}
		}
		if len(held.By) == 0 && held.Held != durward.HeldNone {
			s.Errorf("%s is held by %s, and nobody says how", g, held.Held)
		}
	}
}
