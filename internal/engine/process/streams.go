package process

import (
	"errors"
	"io/fs"
	"os"

	"github.com/durward/durward/internal/sandbox"
)

// Streams are the command's ends of its standard streams. They are closed once the
// command has them.
type streams struct {
	stdio sandbox.Stdio
	files []*os.File
}

func (s *streams) close() { closeAll(s.files) }

// openStreams makes the streams of a run and keeps our ends in it.
func (r *run) openStreams() (*streams, error) {
	s := &streams{}
	if err := r.fill(s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (r *run) fill(s *streams) error {
	if r.call.Terminal != nil {
		return r.fillTerminal(s)
	}
	stdin, err := r.openStdin(s)
	if err != nil {
		return err
	}
	s.stdio.Stdin = stdin
	for _, into := range []**os.File{&s.stdio.Stdout, &s.stdio.Stderr} {
		ours, theirs, err := pipe(true)
		if err != nil {
			return err
		}
		r.ends = append(r.ends, ours)
		s.files = append(s.files, theirs)
		if err := r.give(theirs); err != nil {
			return err
		}
		*into = theirs
	}
	return nil
}

// openStdin gives a pipe where input is to come, and else the end of file.
func (r *run) openStdin(s *streams) (*os.File, error) {
	if len(r.call.Stdin) == 0 && !r.interactive {
		null, err := nothing()
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, null)
		return null, nil
	}
	ours, theirs, err := pipe(false)
	if err != nil {
		return nil, err
	}
	r.stdin = ours
	s.files = append(s.files, theirs)
	return theirs, r.give(theirs)
}

// give makes a pipe the command's own where it runs as another user: one that is not cannot
// be opened again by names like /dev/stdout. A runtime that may not give files away leaves
// it at that.
func (r *run) give(pipe *os.File) error {
	uid := int(r.plan.UID)
	if uid == os.Geteuid() {
		return nil
	}
	if err := pipe.Chown(uid, -1); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

func (r *run) fillTerminal(s *streams) error {
	master, slave, err := sandbox.OpenTerminal(*r.call.Terminal, r.plan.UID)
	if err != nil {
		return err
	}
	r.ends = []*os.File{master}
	r.stdin = master
	s.files = []*os.File{slave}
	s.stdio = sandbox.Stdio{Stdin: slave, Stdout: slave, Stderr: slave}
	return nil
}
