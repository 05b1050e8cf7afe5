//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"slices"

	"github.com/durward/durward"
)

// report says what holds once every call of the plan has succeeded, or refuses when
// the grant requires something that would not.
func (s shape) report() (durward.Report, error) {
	r := durward.Report{
		Mode: s.mode, Level: s.at.Number(), Guarantees: make(map[durward.Guarantee]durward.Held),
		Identity: durward.ReportIdentity{Inner: s.id.uid, Host: s.hostUID},
	}
	for _, guarantee := range durward.Guarantees() {
		r.Guarantees[guarantee] = s.held(guarantee)
	}
	r.Guarantees[durward.Kill] = killHeld(s.containment, s.id)
	r.Guarantees[durward.Pids] = pidsHeld(s.limits, s.ownUsers)
	r.Guarantees[durward.Mem] = memHeld(s.limits, s.memory, s.id)
	if s.hostUID == 0 {
		r.Weak = append(r.Weak, s.asRoot())
	}
	for _, guarantee := range []durward.Guarantee{durward.Kill, durward.Pids, durward.Mem} {
		if held := r.Guarantees[guarantee]; held.Held != durward.HeldKernel {
			r.Weak = append(r.Weak, fmt.Sprintf("%s: %s", guarantee, held.Held))
		}
	}
	if !s.victim {
		r.Weak = append(r.Weak, "mem: when the machine runs out, durward may be killed before the command")
	}
	if s.copied {
		r.Weak = append(r.Weak, "start: slower, each makes a copy of durward's process")
	}
	if s.confines() && s.abi == 0 {
		r.Weak = append(r.Weak, "landlock: this kernel has none; mounts alone hold the files")
	}
	if s.confines() && !s.isolates() && s.mode == durward.WorkspaceWrite {
		r.Weak = append(r.Weak, "protect: nothing in what can be written is protected at level 1")
	}
	r.Weak = append(r.Weak, s.gaps.weak()...)
	err := s.require(&r)
	return r, err
}

func (s shape) asRoot() string {
	if s.isolates() {
		return "identity: the command runs as host root, without privilege"
	}
	return "identity: the command runs as host root"
}

// held says by what a guarantee is held that the level makes.
func (s shape) held(g durward.Guarantee) durward.Held {
	if !s.confines() {
		return unheld(s.mode, g)
	}
	held := durward.Held{Held: durward.HeldKernel}
	switch g {
	case durward.FSRead, durward.FSWrite:
		held.By = s.byMounts(s.byLandlock()...)
		if g == durward.FSWrite && s.copies {
			held.By = append(held.By, "overlayfs")
		}
	case durward.FSMeta:
		held.By = s.byMounts()
	case durward.Net:
		held.Mode, held.By = string(s.network), []string{"seccomp"}
		if s.isolates() && s.network != durward.NetFull {
			held.By = []string{"netns", "seccomp"}
		}
	case durward.Unix:
		held.By = s.bySockets()
	case durward.Proc:
		held.By = s.byNamespace("pidns")
	case durward.IPC:
		held.By = s.byNamespace("ipcns")
	case durward.Priv:
		held.By = []string{"nnp", "nocaps"}
		if s.ownUsers || s.isolates() && s.own.uid != 0 {
			held.By = append(held.By, "userns")
		}
	case durward.Syscalls:
		held.By, held.Filter = []string{"seccomp"}, s.filter().Name()
	}
	if len(held.By) == 0 || s.gaps.breaks(g) {
		return durward.Held{Held: durward.HeldNone, Mode: held.Mode}
	}
	return held
}

func (s shape) byLandlock() []string {
	if s.abi == 0 {
		return nil
	}
	return []string{s.abi.String()}
}

// byMounts names what only a room holds, and what else does.
func (s shape) byMounts(others ...string) []string {
	if s.isolates() {
		return append([]string{"mountns"}, others...)
	}
	return others
}

func (s shape) byNamespace(name string) []string {
	if s.isolates() {
		return []string{name}
	}
	return nil
}

// bySockets: without a socket there is nothing to connect.
func (s shape) bySockets() []string {
	by := "seccomp"
	if s.unix {
		by = s.abi.String()
	}
	return s.byMounts(by)
}

// unheld is a guarantee that level 0 does not give by itself.
func unheld(m durward.Mode, g durward.Guarantee) durward.Held {
	if m == durward.External {
		return durward.Held{Held: durward.HeldVouched}
	}
	return durward.Held{Held: durward.HeldNone}
}

// killHeld: a command that runs as the user to whom the cgroups belong can move its
// processes to another one.
func killHeld(c Containment, id identity) durward.Held {
	held := durward.Held{Held: durward.HeldKernel, By: []string{string(c)}}
	if c == Subreaper || (c == Cgroup && !id.change) {
		held.Held = durward.HeldBestEffort
	}
	return held
}

func pidsHeld(l durward.Limits, ownUsers bool) durward.Held {
	if ownUsers && l.Pids > 0 {
		return durward.Held{Held: durward.HeldKernel, By: []string{"rlimit+userns"}}
	}
	return durward.Held{Held: durward.HeldNone}
}

// memHeld: as killHeld. What a command may get away from, the runtime watches, too.
func memHeld(l durward.Limits, by memoryKind, id identity) durward.Held {
	switch {
	case by != memoryUnheld && id.change:
		return durward.Held{Held: durward.HeldKernel, By: []string{string(by)}}
	case by != memoryUnheld:
		return durward.Held{Held: durward.HeldBestEffort, By: []string{string(by), "poll"}}
	case l.Memory > 0:
		return durward.Held{Held: durward.HeldRuntime, By: []string{"poll"}}
	case l.AddressSpace > 0:
		return durward.Held{Held: durward.HeldPerProcess, By: []string{"rlimit"}}
	}
	return durward.Held{Held: durward.HeldNone}
}

// require refuses a grant whose requirements the report does not meet. A built-in
// default names them as weak instead.
func (s shape) require(r *durward.Report) error {
	for _, q := range s.needs.list() {
		held := r.Guarantees[q.Guarantee]
		if held.Held != durward.HeldNone && (!q.Kernel || held.Held == durward.HeldKernel) {
			continue
		}
		if !s.stepDown || q.Firm {
			return unavailable("require", requireHint(s.mode, q)+", or use a host that holds it (durward doctor)",
				"%s is required and level %d holds it by %s%s", q, s.at.Number(), held.Held, s.gaps.because())
		}
		if told := fmt.Sprintf("%s: %s", q.Guarantee, held.Held); !slices.Contains(r.Weak, told) {
			r.Weak = append(r.Weak, fmt.Sprintf("%s at level %d", told, s.at.Number()))
		}
	}
	return nil
}

// requireHint says how not to require something. What no mode requires by itself was
// written where the policy says require.
func requireHint(m durward.Mode, q durward.Requirement) string {
	if q.Kernel || m == durward.DangerFullAccess || m == durward.External {
		return fmt.Sprintf("take %s out of require", q)
	}
	return "use a mode that does not require it (danger-full-access)"
}

func unavailable(rule, hint, format string, args ...any) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "sandbox", Rule: rule, Hint: hint, Err: fmt.Errorf(format, args...),
	}
}
