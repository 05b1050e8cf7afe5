package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/safetext"
)

// checkState finds out whether a record could be written.
func (p *program) checkState() checkData {
	dir, err := p.auditDir()
	if err == nil {
		err = audit.Private(filepath.Dir(dir))
	}
	if err == nil {
		err = writable(dir)
	}
	return check("state", safetext.Line(dir), unwritable(err))
}

// writable makes a file in dir, or in the nearest folder above it that exists, and
// removes it.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(dir) != dir {
		return writable(filepath.Dir(dir))
	}
	fix := "make it a folder that you can write, or name another one with " + varStateDir
	if err == nil && filepath.Base(dir) == "audit" && info.Mode().Perm()&0o077 != 0 {
		err, fix = fmt.Errorf("%s is open to others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(dir, ".durward-doctor-")
	}
	if err == nil {
		_, full := f.Write([]byte{'\n'})
		err = errors.Join(full, f.Close(), os.Remove(f.Name()))
	}
	if err == nil {
		return nil
	}
	return &durward.Error{Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Hint: fix, Err: err}
}

// checkLog proves what has been recorded so far.
func (p *program) checkLog(ctx context.Context) checkData {
	dir, err := p.auditDir()
	if err != nil {
		return check("audit", "", err)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return check("audit", "nothing recorded yet", nil)
	}
	summary, err := audit.Verify(ctx, dir)
	var records uint64
	for _, c := range summary.Chains {
		records += c.Records
	}
	gives := fmt.Sprintf("%s proved in %s", plural(int(records), "record"), plural(len(summary.Chains), "chain"))
	return check("audit", gives, withHint(err, "see all of it with durward audit verify"))
}

// checkCall takes a call that does nothing down the road of exec, but for the record. Where
// commands can be run but not in the working directory, that is no fault of the machine.
func (p *program) checkCall(ctx context.Context) checkData {
	const name, harmless, elsewhere = "exec", "true", "/usr"
	dir, err := p.dir()
	if err != nil {
		return check(name, "", noDir(err))
	}
	err = p.try(ctx, harmless, dir)
	switch durward.ReasonOf(err) {
	case durward.ProgramNotFound:
		return check(name, "a command would be run; there is no "+harmless+" here to try", nil)
	case durward.DirUnreadable:
		if p.try(ctx, harmless, elsewhere) == nil {
			return warned(name, "a command was run in "+elsewhere+", and cannot be in "+dir+": "+durward.DirUnreadable.Summary(), failureOf(err, "").Fix)
		}
	}
	return check(name, "a command was run", err)
}

func (p *program) try(ctx context.Context, program, dir string) error {
	builtIn, err := policy.Default(p.host(dir), policy.Flags{})
	if err != nil {
		return p.blameHome(err)
	}
	h, err := p.build(builtIn, noRecord{trial: true})
	if err != nil {
		return err
	}
	_, err = h.Do(ctx, durward.Call{
		Door: "doctor", Caller: p.caller(), Tool: commandTool, Argv: []string{program}, Path: program, Dir: dir,
	})
	return errors.Join(err, h.close())
}
