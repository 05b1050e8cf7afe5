package pathguard

import (
	"context"
	"io/fs"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// WriteOptions say how a file may be written. The zero value makes a new file and replaces
// nothing.
type WriteOptions struct {
	// Overwrite allows an existing file to be replaced.
	Overwrite bool
	// NoCreate refuses to make a file that does not exist.
	NoCreate bool
	// AllowHardLink allows replacing a file that has more than one link, unless the rules
	// deny hard links.
	AllowHardLink bool
}

// JudgeWrite says whether so many bytes could be written now. It changes nothing.
func (g *Guard) JudgeWrite(ctx context.Context, files Files, path string, size int64, o WriteOptions) error {
	const op = "file.write"
	_, err := settled(op, path, func() (none struct{}, err error) {
		t, err := g.target(ctx, op, path, size, o)
		if err != nil {
			return none, err
		}
		defer t.close()
		dir, err := files.OpenDir(ctx, t.root, t.dir(), g.o.Rules)
		if err != nil {
			return none, came(op, path, err)
		}
		g.passed("file", "can be %s, with %d bytes", written(t.isFile()), size)
		return none, dir.Close()
	})
	return err
}

// WriteFile makes or replaces a file by the promises of [fsroot.Root.WriteFile]. What
// JudgeWrite said before does not count: all is judged again.
func (g *Guard) WriteFile(ctx context.Context, files Files, path string, content []byte, o WriteOptions) error {
	const op = "file.write"
	_, err := settled(op, path, func() (none struct{}, err error) {
		t, err := g.target(ctx, op, path, int64(len(content)), o)
		if err != nil {
			return none, err
		}
		defer t.close()
		how := fsroot.WriteOptions{
			Rules: g.o.Rules, Overwrite: o.Overwrite, NoCreate: o.NoCreate,
			CreateParents: t.zone.CreateIfMissing, AllowHardLink: o.AllowHardLink && !g.o.Rules.DenyHardLinks,
		}
		how.MaxBytes = t.zone.MaxFileBytes
		return none, came(op, path, files.WriteFile(ctx, t.root, t.name, content, how))
	})
	return err
}

// A target is where a file may be written. It is held until it is closed.
type target struct {
	*place
	zone Zone
}

// target finds and judges where a file is to be written: what is there, the zone, the size,
// and then whether what is there and what is asked for go together.
func (g *Guard) target(ctx context.Context, op, path string, size int64, o WriteOptions) (*target, error) {
	p, err := g.findFile(ctx, op, path)
	if err != nil {
		return nil, err
	}
	t := &target{place: p}
	if err := g.judge(t, op, path, size, o); err != nil {
		p.close()
		return nil, err
	}
	return t, nil
}

// findFile finds the place of a file. A path that can only mean a directory is none.
func (g *Guard) findFile(ctx context.Context, op, path string) (*place, error) {
	switch path[strings.LastIndexByte(path, '/')+1:] {
	default:
		return g.find(ctx, op, path, keeping, asked)
	case "", ".", "..":
	}
	p, err := g.find(ctx, op, path, following, asked)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.missing > 0 {
		return nil, notThere(op, path)
	}
	return nil, refused(durward.NotRegularFile, op, path, "name a file")
}

func (g *Guard) judge(t *target, op, path string, size int64, o WriteOptions) (err error) {
	if t.missing == 0 && !t.isFile() {
		return notWritten(t.mode, op, path)
	}
	if g.keeps(t.path) {
		g.denied("writeRules", "none takes in what says who may do what, or tells of it")
		return refused(durward.OutsideZones, op, path, "leave the policy, the log and the state folder to their owner")
	}
	zone := g.zoneOf(t.path)
	g.tellZone(zone)
	if zone < 0 {
		return refused(durward.OutsideZones, op, path, "write within a zone of the policy (writeRules)")
	}
	t.zone = g.o.Zones[zone]
	if size > t.zone.MaxFileBytes {
		e := refused(durward.MaxFileBytes, op, path, "write less, or raise maxFileBytes of the rule")
		e.Err = durward.Detail{Limit: t.zone.MaxFileBytes, Actual: size, Err: e.Err}
		return e
	}
	switch {
	case t.isFile() && !o.Overwrite:
		return refused(durward.FileExists, op, path, "set overwrite, or choose another name")
	case t.isFile() && t.links > 1 && (!o.AllowHardLink || g.o.Rules.DenyHardLinks):
		return refused(durward.HardLink, op, path, "write to a file that has one name")
	case t.missing > 0 && o.NoCreate:
		return refused(durward.FileNotFound, op, path, "check the path, or set create")
	case t.missing > 1 && !t.zone.CreateIfMissing:
		return refused(durward.ParentMissing, op, path, "write to a directory that exists")
	}
	return nil
}

func written(there bool) string {
	if there {
		return "replaced"
	}
	return "made"
}

func notWritten(mode fs.FileMode, op, path string) error {
	if mode == fs.ModeSymlink {
		return refused(durward.SymlinkTarget, op, path, "name the file itself")
	}
	return refused(durward.NotRegularFile, op, path, "name a regular file")
}
