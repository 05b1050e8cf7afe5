package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
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
	// hushTime is how long of that calls wait to be told how it ended, where nothing can answer them.
	hushTime = 100 * time.Millisecond
	// meterTime is the time between two looks at what a server uses, where nothing else bounds it.
	meterTime = 250 * time.Millisecond
)

// A program is a process of a server.
type program struct {
	*spawn
	*sender
	os      *sandbox.Process
	egress  *egress.Proxy // nil where it has no way out of its own
	intake  *intake
	readers sync.WaitGroup // of its output
	silent  chan struct{}  // closed when its output has ended
	lastly  string         // the last line of its errors, redacted; set when the readers have ended
}

// spawn starts the program of a server.
func (r *run) spawn(ctx context.Context) (*program, error) {
	sp, started, err := r.spawnProgram(ctx)
	if err != nil {
		return nil, err
	}
	p := &program{spawn: sp, sender: newSender(sp.stdin), os: started, silent: make(chan struct{})}
	r.conn = newConn(p, r)
	p.intake = newIntake(p.stdout, r.conn)
	p.readers.Go(func() { p.intake.run(); close(p.silent) })
	p.readers.Go(func() { p.lastly = r.stderr.follow(p.stderr, r.server, p.tellError) })
	if err := p.openNetwork(); err != nil {
		r.end(err)
	}
	return p, nil
}

func (p *program) pid() int { return p.os.PID() }

func (p *program) report() *durward.Report {
	if p.config.Sandbox == nil {
		return nil
	}
	report := p.os.Report()
	return &report
}

func (p *program) send(ctx context.Context, m jsonrpc.Message) (sent bool, err error) {
	return p.sender.send(ctx, line(m))
}

// agree has nothing to keep in mind.
func (p *program) agree(greeting) {}

func (p *program) mind() { p.intake.mind() }

func (p *program) hearOut(ctx context.Context, q *question) { p.intake.hearOut(ctx, q) }

func (p *program) tellError(line string) {
	p.log.Debug("an MCP server says", "stderr", line)
}

// await waits until the process has ended, or has to.
func (p *program) await(r *run) {
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
		case <-r.severed:
			return
		case <-r.doomed:
			return
		case <-meter.C:
			switch use := p.os.Usage(); {
			case limits.Memory > 0 && use.Resident > limits.Memory:
				r.end(errors.New("it used more memory than its sandbox lets it"))
			case limits.CPU > 0 && use.CPU > limits.CPU:
				r.end(errors.New("it used more processor time than its sandbox lets it"))
			}
		}
	}
}

// bury ends what is left of the tree.
func (p *program) bury(r *run) (clean bool, err error) {
	byItself := p.endedByItself(r)
	p.os.Kill()
	<-p.os.Gone()
	p.sender.close()
	end := time.Now().Add(drainTime) // somebody who got away may hold them open
	p.intake.close(end)
	_ = p.stderr.SetReadDeadline(end)
	p.readers.Wait()
	p.stdout.Close()
	p.stderr.Close()
	if p.egress != nil {
		p.egress.Close()
	}
	return p.cause(r, byItself)
}

func (p *program) free() error {
	return errors.Join(p.os.Close(), p.request.Program.Close(), p.removeScratch())
}

// endedByItself reports whether the process has ended without us. It waits a while for one
// whose streams are closed.
func (p *program) endedByItself(r *run) bool {
	timer, stop := p.engine.options.clock.timer(exitTime)
	defer stop()
	hush := time.NewTimer(hushTime)
	defer hush.Stop()
	for {
		select {
		case <-p.os.Exited():
			return !isClosed(r.doomed)
		case <-hush.C:
			if isClosed(p.silent) {
				r.finish(disconnected(r.config.Name, errOutput))
			}
			continue
		case <-r.doomed:
		case <-timer:
		}
		return false
	}
}

var errOutput = errors.New("it closed its output")

// cause says how the process ended, and whether it did so by itself and said that all was well.
func (p *program) cause(r *run, byItself bool) (clean bool, err error) {
	exit := p.os.Exit()
	err = p.os.Breach()
	switch {
	case err != nil:
	case p.os.Shortage() != sandbox.NoShortage:
		err = errors.New("it ran out of memory")
	case !byItself && isClosed(r.doomed):
		err = r.why
	case !byItself && isClosed(r.severed):
		err = errors.New("it closed its input")
	case !byItself:
		err = errOutput
	case exit.Err != nil:
		err = exit.Err
	case exit.Status.Signaled():
		err = fmt.Errorf("it was ended by signal %d (%s)", int(exit.Status.Signal()), exit.Status.Signal())
	default:
		clean = exit.Status.ExitStatus() == 0
		err = fmt.Errorf("it exited with code %d", exit.Status.ExitStatus())
	}
	if p.lastly == "" {
		return clean, err
	}
	return clean, fmt.Errorf("%w; its last words: %s", err, p.lastly)
}

// depart ends a process in order: the end of its input, and TERM to its group. What is there still
// some seconds later gets KILL.
func (p *program) depart(r *run) {
	_ = p.stdin.Close() // who writes hears of it
	_ = p.os.Signal(syscall.SIGTERM)
	timer, stop := p.engine.options.clock.timer(termTime)
	defer stop()
	select {
	case <-r.ended:
	case <-timer:
	case <-p.engine.hurry:
	}
}

// openNetwork answers at the ways out that the server has, if its sandbox names hosts.
func (p *program) openNetwork() error {
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
		p.egress.ServePair(w, w.Target)
	}
	return nil
}

func (p *program) tellRefused(e egress.Event) {
	if !e.Allowed {
		p.log.Warn("an MCP server was kept from a host", "host", string(e.Host), "port", e.Port, "rule", string(e.Rule))
	}
}
