package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
	"github.com/durward/durward/internal/sandbox"
)

const (
	// termTime is what a server gets between TERM and KILL.
	termTime = 5 * time.Second
	// drainTime bounds the wait for streams that somebody holds open although the tree should
	// be dead.
	drainTime = 200 * time.Millisecond
	// exitTime is what a server that closed a stream gets to exit: one that ends closes them a
	// moment before it has ended, and how it did is what tells most.
	exitTime = time.Second
	// meterTime is the time between two looks at what a server uses, where nothing else bounds it.
	meterTime = 250 * time.Millisecond
)

// A process is one run of a server, from its start until nothing of it is left.
type process struct {
	*spawn
	*conn
	os     *sandbox.Process
	pid    int
	egress *egress.Proxy // nil where it has no way out of its own

	greeting greeting
	offer    offer         // that of the start
	stale    atomic.Uint32 // the kinds of which it says that they are others, a bit each
	changed  chan struct{} // has an element when there are any

	level   atomic.Pointer[string] // that it was told to log at
	asks    asks
	hearing sync.Mutex // held while a modern server is asked to tell of changes
	heard   *question  // guarded by hearing; that was asked last

	// talk ends when nothing is to be asked any more.
	talk   context.Context
	silent chan struct{} // closed when its output has ended
	lastly string        // the last line of its errors; set before ended is closed
	tasks  sync.WaitGroup

	sever   sync.Once
	severed chan struct{} // closed when its input has been found closed

	doom   sync.Once
	doomed chan struct{} // closed when it is to end at once, once why is set
	why    error

	ended chan struct{} // closed when nothing is left of it
	clean bool          // it ended by itself and said that all was well
	err   error         // how it ended; with clean set before ended is closed
}

// run starts the program of a server.
func (s *server) run(ctx context.Context) (*process, error) {
	r, started, err := s.spawnProgram(ctx)
	if err != nil {
		return nil, err
	}
	talk, quiet := context.WithCancel(context.Background())
	p := &process{
		spawn: r, os: started, pid: started.PID(), changed: make(chan struct{}, 1), talk: talk,
		silent: make(chan struct{}), severed: make(chan struct{}), doomed: make(chan struct{}), ended: make(chan struct{}),
	}
	p.conn = newConn(newSender(r.stdin), s, p.hear)
	p.forwards = p.forward
	failed := p.openNetwork()
	var readers sync.WaitGroup
	readers.Go(func() { p.conn.read(r.stdout); close(p.silent) })
	readers.Go(func() { p.lastly = s.stderr.follow(r.stderr, p.tellError) })
	p.tasks.Go(func() { p.respond(talk) })
	go func() {
		defer close(p.ended)
		p.await()
		s.leave(p)
		p.bury(&readers)
		quiet() // now that questions have their answers
		p.tasks.Wait()
	}()
	if failed != nil {
		p.end(failed)
		<-p.ended
		return nil, failed
	}
	return p, nil
}

// later does something in the background, of which nothing is left when the process has ended.
// It must end when talk does and no question is open.
func (p *process) later(f func()) {
	p.mu.Lock()
	over := p.over != nil
	if !over {
		p.tasks.Add(1)
	}
	p.mu.Unlock()
	if over {
		f()
		return
	}
	go func() {
		defer p.tasks.Done()
		f()
	}()
}

func (p *process) tellError(line string) { p.log.Debug("an MCP server says", "stderr", line) }

// end has the process end at once, for a reason.
func (p *process) end(why error) {
	p.doom.Do(func() {
		p.why = why
		close(p.doomed)
	})
}

// breakOff gives up a process that does not take what it is sent any more. If it is about to
// exit it may, so that it is known how.
func (p *process) breakOff() { p.sever.Do(func() { close(p.severed) }) }

// await waits until the process has ended, or has to.
func (p *process) await() {
	limits := p.grant.Limits
	metered := limits.CPU > 0 || limits.Memory > 0 && p.plan.Report.Guarantees[durward.Mem].Held != durward.HeldKernel
	meter := time.NewTicker(meterTime)
	defer meter.Stop()
	if !metered {
		meter.Stop()
	}
	for {
		select {
		case <-p.os.Exited():
			return
		case <-p.silent:
			return
		case <-p.severed:
			return
		case <-p.doomed:
			return
		case <-meter.C:
			switch use := p.os.Usage(); {
			case limits.Memory > 0 && use.Resident > limits.Memory:
				p.end(errors.New("it used more memory than its sandbox lets it"))
			case limits.CPU > 0 && use.CPU > limits.CPU:
				p.end(errors.New("it used more processor time than its sandbox lets it"))
			}
		}
	}
}

// bury ends what is left of the tree and frees everything. What the server said before its end
// is read first.
func (p *process) bury(readers *sync.WaitGroup) {
	byItself := p.endedByItself()
	p.os.Kill()
	<-p.os.Gone()
	p.sender.close()
	for _, f := range []interface{ SetReadDeadline(time.Time) error }{p.stdout, p.stderr} {
		_ = f.SetReadDeadline(time.Now().Add(drainTime)) // somebody who got away may hold it open
	}
	readers.Wait()
	p.stdout.Close()
	p.stderr.Close()
	if p.egress != nil {
		p.egress.Close()
	}
	p.err = p.cause(byItself)
	p.finish(disconnected(p.config.Name, p.err))
	if err := errors.Join(p.os.Close(), p.request.Program.Close(), p.removeScratch()); err != nil {
		p.log.Warn("something of an MCP server is left", "error", err)
	}
}

// endedByItself reports whether the process has ended without us. It waits a while for one
// whose streams are closed.
func (p *process) endedByItself() bool {
	timer := time.NewTimer(exitTime)
	defer timer.Stop()
	select {
	case <-p.os.Exited():
		return !isClosed(p.doomed)
	case <-p.doomed:
	case <-timer.C:
	}
	return false
}

// cause says how the process ended.
func (p *process) cause(byItself bool) error {
	exit := p.os.Exit()
	err := p.os.Breach()
	switch {
	case err != nil:
	case p.os.Shortage() != sandbox.NoShortage:
		err = errors.New("it ran out of memory")
	case !byItself && isClosed(p.doomed):
		err = p.why
	case !byItself && isClosed(p.severed):
		err = errors.New("it closed its input")
	case !byItself:
		err = errors.New("it closed its output")
	case exit.Err != nil:
		err = exit.Err
	case exit.Status.Signaled():
		err = fmt.Errorf("it was ended by signal %d (%s)", int(exit.Status.Signal()), exit.Status.Signal())
	default:
		p.clean = exit.Status.ExitStatus() == 0
		err = fmt.Errorf("it exited with code %d", exit.Status.ExitStatus())
	}
	if p.lastly == "" {
		return err
	}
	return fmt.Errorf("%w; its last words: %s", err, p.lastly)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stop ends a process in order: the end of its input, TERM to its group, and KILL. It comes back
// when nothing is left.
func (p *process) stop() {
	_ = p.stdin.Close() // who writes hears of it
	_ = p.os.Signal(syscall.SIGTERM)
	timer, stop := p.engine.options.clock.timer(termTime)
	defer stop()
	select {
	case <-p.ended:
	case <-timer:
	case <-p.engine.hurry:
	}
	p.end(errors.New("it was stopped"))
	<-p.ended
}

// openNetwork answers at the ways out that the server has, if its sandbox names hosts.
func (p *process) openNetwork() error {
	ways := p.os.Ways()
	if len(ways) == 0 {
		return nil
	}
	dialer, err := netguard.DialerOf(p.grant.Network, nil)
	if err != nil {
		return err // which the policy had refused
	}
	p.egress = egress.New(egress.Options{Dialer: dialer, RequireSNI: p.grant.Network.RequireSNI, Event: p.tellRefused, Room: &p.engine.room})
	for _, w := range ways {
		if w.Target == (netguard.Target{}) {
			p.egress.Serve(w)
			continue
		}
		p.egress.ServePair(w, w.Target)
	}
	return nil
}

func (p *process) tellRefused(e egress.Event) {
	if !e.Allowed {
		p.log.Warn("an MCP server was kept from a host", "host", string(e.Host), "port", e.Port, "rule", string(e.Rule))
	}
}
