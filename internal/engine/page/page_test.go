package page

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A spec carries calls as they are.
type spec struct{ root string }

func (spec) Carry(c durward.Call) (durward.Call, error) { return c, nil }
func (s spec) RootDir() string                          { return s.root }

// programs is an engine that runs nothing. It opens a program as found, once the name
// has been looked at.
type programs struct {
	found  func(argv []string) string // nil: it does not say
	closed int
}

func (*programs) Enforces() []durward.GrantField { return nil }

func (p *programs) Prepare(_ context.Context, _ durward.Tool, c durward.Call, _ durward.Grant) (core.Prepared, error) {
	if p.found == nil {
		return &silent{p}, nil
	}
	return &opened{silent{p}, p.found(c.Argv)}, nil
}

type silent struct{ p *programs }

func (*silent) Run(context.Context) (durward.Result, error) { panic("it is not to be run") }
func (s *silent) Close() error                              { s.p.closed++; return nil }

type opened struct {
	silent
	path string
}

func (o *opened) Program() string { return o.path }

// A program that is named by a path lies in the site, wherever links lead, and whatever
// is put in its place while the call is prepared.
func TestProgramsLieInTheSite(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "site")
	for _, dir := range []string{root, filepath.Join(root, "sub"), filepath.Join(top, "site-old")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"site/run.sh", "site/sub/run.sh", "site-old/run.sh"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.sh": "../site-old/run.sh", "in.sh": "sub/run.sh", "none.sh": "../none"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	whatItSays := func(argv []string) string { return filepath.Join(root, argv[0]) }
	for _, test := range []struct {
		name, program, root string
		found               func([]string) string
		refused             bool
	}{
		{"a bare name", "run.sh", root, nil, false},
		{"in the directory", "./run.sh", root, nil, false},
		{"below it", "sub/run.sh", root, nil, false},
		{"by its absolute path", filepath.Join(root, "run.sh"), root, nil, false},
		{"by a link that stays", "./in.sh", root, nil, false},
		{"by a link that leaves", "./out.sh", root, nil, true},
		{"above", "../site-old/run.sh", root, nil, true},
		{"elsewhere", "/bin/sh", root, nil, true},
		{"a neighbour by its name", filepath.Join(top, "site-old/run.sh"), root, nil, true},
		{"of no site", "./run.sh", "", nil, true},
		{"opened where it says", "./run.sh", root, whatItSays, false},
		{"replaced while it was opened", "./run.sh", root, func([]string) string { return "/bin/sh" }, true},
		{"a link that was made good too late", "./out.sh", root, whatItSays, false},
	} {
		p := &programs{found: test.found}
		e := &Engine{Programs: p}
		prepared, err := e.Prepare(t.Context(), durward.Tool{Spec: spec{test.root}}, durward.Call{Argv: []string{test.program}, Dir: root}, durward.Grant{})
		if refused := durward.ReasonOf(err) == durward.OutsideRoot; refused != test.refused || refused != (prepared == nil) {
			t.Errorf("%s: %v, %v", test.name, prepared, err)
		}
		if prepared != nil {
			prepared.Close()
		} else if p.closed > 1 {
			t.Errorf("%s: closed %d times", test.name, p.closed)
		}
	}
}

// An expanding spec carries calls with a value in them.
type expanding struct{ spec }

func (expanding) Carry(c durward.Call) (durward.Call, error) {
	c.Argv = append(c.Argv, "value")
	return c, nil
}

// A warden keeps what it runs from a host.
type warden struct{ silent }

func (*warden) OnRefused(tell func(durward.Contact)) {
	tell(durward.Contact{Host: "evil.test", Times: 1})
}

type wardens struct{ programs }

func (w *wardens) Prepare(context.Context, durward.Tool, durward.Call, durward.Grant) (core.Prepared, error) {
	return &warden{silent{&w.programs}}, nil
}

// Also of a call that holds values of variables it is told where it is not let.
func TestRefusalsOfExpandedCallsAreTold(t *testing.T) {
	for _, s := range []Spec{spec{"/"}, expanding{spec{"/"}}} {
		e := &Engine{Programs: &wardens{}}
		prepared, err := e.Prepare(t.Context(), durward.Tool{Spec: s}, durward.Call{Argv: []string{"x"}}, durward.Grant{})
		if err != nil {
			t.Fatal(err)
		}
		defer prepared.Close()
		told := 0
		prepared.(core.Refuser).OnRefused(func(durward.Contact) { told++ })
		if told != 1 {
			t.Errorf("%T: told %d times", s, told)
		}
	}
}
