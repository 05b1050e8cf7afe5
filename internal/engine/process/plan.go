package process

import (
	"context"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
)

// Plan says what Run would do: the calls that were compiled, and what they would hold.
func (p *prepared) Plan(ctx context.Context) core.Plan {
	plan := core.Plan{
		Program: p.Program(), Dir: p.physicalDir(), Report: p.plan.Report,
		Calls: strings.Split(strings.TrimSuffix(p.plan.String(), "\n"), "\n"),
	}
	for _, passed := range p.plan.PassedLevels(ctx, p.request, p.host) {
		plan.Passed = append(plan.Passed, core.PassedLevel{Level: passed.Level, Why: cause(passed.Why)})
	}
	return plan
}

// physicalDir is where the command would begin, by its physical path as far as that can
// be told.
func (p *prepared) physicalDir() string {
	path, err := fsroot.PhysicalPath(p.dir)
	if err != nil {
		return p.dir.Name()
	}
	return path
}

// cause gives why something was refused, without what was being done then.
func cause(err error) string {
	if e := durward.AsError(err); e != nil && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}
