package confined

import (
	"fmt"
	"os"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// aboutFiles are the guarantees that are about files.
var aboutFiles = [...]durward.Guarantee{durward.FSRead, durward.FSWrite, durward.FSMeta}

// newReport is a report that has no guarantees yet.
func newReport(m durward.Mode, at durward.Level) durward.Report {
	uid := uint32(os.Geteuid())
	r := durward.Report{
		Mode: m, Level: at.Number(), Guarantees: make(durward.Holding),
		Identity: durward.ReportIdentity{Inner: uid, Host: sandbox.HostUID(uid)},
		End:      durward.ReportEnd{Cause: durward.CauseExit},
	}
	if r.Identity.Host == 0 {
		r.Weak = append(r.Weak, "identity: file operations run as host root")
	}
	return r
}

// require refuses a grant whose requirements of files the report does not meet. A built-in
// default names them as weak instead.
func require(g durward.Grant, r *durward.Report) error {
	for _, q := range g.Require {
		held, about := r.Guarantees[q.Guarantee]
		if !about || held.Held != durward.HeldNone && (!q.Kernel || held.Held == durward.HeldKernel) {
			continue
		}
		if !g.StepDown || q.Firm {
			return unavailable("require", fmt.Sprintf("take %s out of require, or take out what the kernel cannot hold: deny, protect and read inside of what is given", q),
				"%s is required, and of file operations it is held by %s", q, held.Held)
		}
		r.Weak = append(r.Weak, fmt.Sprintf("%s: %s", q, held.Held))
	}
	return nil
}
