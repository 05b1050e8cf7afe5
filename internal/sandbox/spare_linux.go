//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The first process of a call can be made before there is a call: a reaper in its own
// process-id space that waits to be told what to do. The descriptors of the call follow
// what it is told.
//
// Below level 2 it holds nothing but the two ends that it was born with, and any call can
// have it. At level 2 it is a cell: it has namespaces of its own and a tree of files that
// nobody has lived in, all that a call of one view needs but for what covers parts of that,
// the working directory and the program. Where nothing is covered the command's process is
// there, too, with all that restrains it put on, and waits for the rest of its list. A call
// that finds one ready pays for little more than its command.

// Spares are reapers that wait. The zero value is ready and has none; it gets one
// whenever a call has ended that could have used one. It may be used from any goroutine.
type Spares struct {
	mu     sync.Mutex
	free   []*spare       // guarded by mu; the oldest first
	begun  map[shape]int  // guarded by mu; those that are being made, by their keys
	shut   bool           // guarded by mu; nothing is made any more
	making sync.WaitGroup // entered under mu, unless shut
}

// mostSpares bounds those that wait at once.
const mostSpares = 2

// A spare is a first process that waits.
type spare struct {
	pid, pidfd int
	key        shape       // of the calls that it is for
	own        *starter    // what it lives in, and our ends
	end        *time.Timer // nil below level 2: a cell takes up room in the kernel
}

// Close ends those that wait.
func (s *Spares) Close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.making.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.free {
		r.close()
	}
	s.free = nil
}

// Settle waits until none is being made.
func (s *Spares) Settle() { s.making.Wait() }

// take gives one for the calls of a key, or nil.
func (s *Spares) take(key shape) *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.free, func(r *spare) bool { return r.key == key })
	if i < 0 {
		return nil
	}
	r := s.free[i]
	s.free = slices.Delete(s.free, i, i+1)
	if r.end != nil {
		r.end.Stop()
	}
	return r
}

// refill makes one in the background when a call is over that could have used one. Where
// that fails, calls start as they would without.
func (s *Spares) refill(p Plan, h Host) {
	if s == nil || p.warm == nil || !s.begin(p.key) {
		return
	}
	s.making.Go(func() {
		runtime.Gosched() // whoever waits for the end of the call goes first
		r, err := makeSpare(p, h)
		if old := s.put(p.key, r, err == nil); old != nil {
			old.close()
		}
	})
}

// begin says whether another one is to be made for a key.
func (s *Spares) begin(key shape) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut || s.waiting(key)+s.begun[key] >= mostSpares {
		return false
	}
	if s.begun == nil {
		s.begun = make(map[shape]int)
	}
	s.begun[key]++
	return true
}

// waiting counts those for a key. The caller holds mu.
func (s *Spares) waiting(key shape) int {
	n := 0
	for _, r := range s.free {
		if r.key == key {
			n++
		}
	}
	return n
}

// put has one wait that was made, and gives the oldest where there are too many.
func (s *Spares) put(key shape, r *spare, made bool) (old *spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun[key]--; s.begun[key] == 0 {
		delete(s.begun, key)
	}
	if !made {
		return nil
	}
	if len(s.free) == mostSpares {
		old = s.free[0]
		s.free = slices.Delete(s.free, 0, 1)
	}
	s.free = append(s.free, r)
	if r.key != (shape{}) {
		r.end = time.AfterFunc(keptTime, func() { s.forget(r) })
	}
	return old
}

// forget gives up one that no call has taken.
func (s *Spares) forget(r *spare) {
	if s.leave(r) {
		r.close()
	}
}

// leave reports whether one still waited, which it does no more.
func (s *Spares) leave(r *spare) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.free, r)
	if i >= 0 {
		s.free = slices.Delete(s.free, i, i+1)
	}
	return i >= 0
}

// makeSpare starts a reaper for calls like that of a plan.
func makeSpare(p Plan, h Host) (*spare, error) {
	program, err := reaperProgram()
	if err != nil {
		return nil, err
	}
	s := newStarter(p)
	defer s.closeLent()
	list, born, err := s.spareList(h, fdOf(program))
	defer func() { h.rooms.give(s.kept) }()
	r := &spare{pidfd: -1, key: p.key, own: s}
	if err == nil {
		r.pid, r.pidfd, err = spawn(context.Background(), s.namespaces(), born, list)
	}
	if err == nil {
		s.holdMounts(r.pid)
	}
	s.closeLent() // or nobody would see the end of it
	if err == nil && p.key.prepared {
		err = r.prepare()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// spareList gives what the first process does while it shares our memory, and the cgroup
// that it is born in.
func (s *starter) spareList(h Host, reaper int) (list []Call, born int, err error) {
	p := s.plan
	place, err := s.spareEnds()
	if err != nil {
		return nil, -1, err
	}
	var memory, tree []Call
	born = -1
	if p.key.prepared {
		if place, memory, born, err = s.equip(place, h); err != nil {
			return nil, -1, err
		}
	}
	if p.apart {
		more, err := s.furnish(h)
		if err != nil {
			return nil, -1, err
		}
		place, tree = append(place, more...), append(s.tree(), p.ahead...)
	}
	return slices.Concat(memory, defaultSignals(), p.Share, placed(place, reaper), tree, p.kept(), []Call{
		shut("let go of the streams", 0, 2), executeReaper([]string{"durward-reaper"}, nil),
	}), born, nil
}

// kept has what hides something stay at hand.
func (p Plan) kept() []Call {
	b := &builder{}
	if p.keepsStore {
		b.keep(roomStoreFD)
	}
	return b.calls
}

// spareEnds makes the pipe for records and, for what the reaper is told, a socket:
// descriptors go through no pipe. Where the command's process waits, it has one of its own.
func (s *starter) spareEnds() ([]placement, error) {
	if err := s.pipe(&s.status, fromChild, 0); err != nil {
		return nil, err
	}
	if err := s.socket(&s.control, unix.SOCK_STREAM); err != nil {
		return nil, err
	}
	place := []placement{{s.lent[0], reaperStatusFD}, {s.lent[1], reaperControlFD}}
	if err := unix.SetNonblock(s.control, true); err != nil || !s.plan.key.prepared {
		return place, err
	}
	if err := s.socket(&s.call, unix.SOCK_SEQPACKET); err != nil {
		return nil, err
	}
	place = append(place, placement{s.lent[2], reaperCallFD})
	if !s.plan.key.waitsForStart() {
		return place, nil
	}
	return s.startPipe(place)
}

// socket makes a pair and keeps our end in ours.
func (s *starter) socket(ours *int, kind int) error {
	ends, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	*ours = ends[0]
	s.lent = append(s.lent, ends[1])
	return nil
}

// close ends a spare that was not used.
func (r *spare) close() {
	if r.end != nil {
		r.end.Stop()
	}
	kill(r.pidfd)
	reapFailed(r.pidfd)
	r.own.closeOwn()
}

// spare takes a spare that can do the call, if there is one.
func (s *starter) spare() *spare {
	if s.request.Spares == nil || s.plan.warm == nil || s.stdio.Stdin == nil || s.stdio.Stdout == nil || s.stdio.Stderr == nil {
		return nil
	}
	if s.plan.key.prepared {
		var err error
		if s.rest, err = s.plan.restOfCall(); err != nil {
			return nil // it does not fit; another call may use what waits
		}
	}
	return s.request.Spares.take(s.plan.key)
}

// instruct has a spare do the call. It reports whether the spare was there to be told.
func (s *starter) instruct(r *spare) bool {
	tell := r.send
	if r.key.prepared {
		tell = r.call
	}
	if tell(s) != nil {
		r.close()
		return false
	}
	s.takeOver(r.own)
	w := s.plan.warm
	s.plan.Before, s.plan.Command, s.plan.After = w.before, w.command, w.after
	return true
}

// takeOver has the call live in what the spare does.
func (s *starter) takeOver(own *starter) {
	s.control, s.status, s.net, s.mounts = own.control, own.status, own.net, own.mounts
	if own.plan.key.prepared {
		s.users, s.memory = own.users, own.memory
		closeFDs(own.call)
		own.root.Close()
	}
}
