// Package core is the one road that every call takes: find, bind, decide, prepare,
// record the intent, admit, run, bound, record the outcome.
//
// A door hands a [durward.Call] to [Runtime.Do], or to [Runtime.Open] when the call
// is to go on as a session. Sources, engines, the policy and the recorder stand
// behind the small interfaces below; package coretest holds the rules of each as
// tests that every implementation passes.
package core

import (
	"context"
	"encoding/json"

	"github.com/durward/durward"
)

// A Source offers tools. Its methods may be called concurrently.
type Source interface {
	// Find gives the tool of that id. An unknown id is an error of kind NotFound with
	// reason ToolNotFound. What it returns is the caller's to keep and not to change.
	Find(ctx context.Context, id durward.ToolID) (durward.Tool, error)
	// Tools lists all tools, sorted by id, without repeats; Find knows each of them.
	Tools(ctx context.Context) ([]durward.Tool, error)
}

// A Binder is a Source that knows more of what its tools take than the form of a call.
type Binder interface {
	// Bind refuses a call whose input is not what the tool, which the source gave, takes; what
	// it refuses is not decided. It gives the input that the tool gets: the call's own, or what
	// that comes to, and then the call's is unchanged and what the record shows. Policy and
	// engine know only what Bind gives. It may be called concurrently.
	Bind(ctx context.Context, t durward.Tool, c durward.Call) (json.RawMessage, error)
}

// A Policy decides whether a call may run and with what rights. Deciding changes nothing,
// is safe for concurrent use, and gives the same answer for the same question as long as
// the machine is as it was.
type Policy interface {
	Decide(c durward.Call, t durward.Tool) durward.Decision
}

// A Locator is a Policy that can say which of its members stands behind something that
// an engine cannot hold.
type Locator interface {
	// Locate takes the rule that an engine names, a [durward.GrantField] or "require",
	// and gives the rule of the policy with its place. Without a place it was not the
	// policy that asked.
	Locate(rule string) (string, durward.Position)
}

// An Engine carries out permitted calls. It never consults policy itself. Prepare may
// be called concurrently.
type Engine interface {
	// Enforces lists the fields of a grant that the engine can hold. A call whose
	// grant asks for another one is refused before Prepare, unless the grant is a
	// built-in default that may step down.
	Enforces() []durward.GrantField
	// Prepare opens and judges what the call needs and changes nothing. Its error is
	// a refusal, with reason and rule; nothing is left open then.
	Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (Prepared, error)
}

// Prepared is a call that is ready to run. Run, or Open where it is offered, is called
// at most once; Close always, also without Run, and then frees everything.
type Prepared interface {
	// Run does the work and returns when it is over and nothing of it is left. When
	// ctx ends first, Run stops the work and returns what it has together with an
	// error of kind Timeout or Cancelled; when ctx has ended before, nothing starts.
	Run(ctx context.Context) (durward.Result, error)
	// Close may be called more than once.
	Close() error
}

// A Planner is a Prepared that can say what Run would do.
type Planner interface {
	// Plan does nothing of it. The end of ctx ends the search for what is told beside.
	Plan(ctx context.Context) Plan
}

// A Queuer is a Prepared that has to wait for its turn at something of its engine's. The wait
// takes no slot from calls that could run.
type Queuer interface {
	// Queue comes back when it is the call's turn, which it keeps until its work is over, or until
	// Close where that has not begun. It is called at most once, before Run and Open; these wait
	// themselves where it was not. When ctx ends first, the error is of kind Busy, Timeout or
	// Cancelled.
	Queue(ctx context.Context) error
}

// Queue waits for a call's turn, if it has to.
func Queue(ctx context.Context, p Prepared) error {
	if q, ok := p.(Queuer); ok {
		return q.Queue(ctx)
	}
	return nil
}

// An Opener is a Prepared that can go on as a session.
type Opener interface {
	// Open starts the work. The end of ctx cancels it. events may be nil; none comes
	// after the session's Wait has returned. The engine sends no Ended event: the core
	// does, once the outcome is on record. The session outlives the Prepared: what it
	// has kept can be read until the session itself is closed.
	Open(ctx context.Context, events durward.Events) (durward.Session, error)
}

// A Beginner is an Opener whose sessions can be followed by the core's own goroutine.
type Beginner interface {
	// Begin is Open, but that nobody follows the session yet. Whoever gets no error calls follow,
	// once, which gives what Wait does from then on.
	Begin(ctx context.Context, events durward.Events) (s durward.Session, follow func() (durward.Result, error), err error)
}

// A Refuser is a Prepared that keeps what it runs from hosts.
type Refuser interface {
	// OnRefused names who is told of each refusal. It is called before Run and Open. tell
	// comes when a host is refused and before the command hears of it, with Times 1, from
	// any goroutine, and no more once Run or the session's Wait has returned. The traffic of
	// the result counts each refusal too.
	OnRefused(tell func(to durward.Contact))
}

// A Recorder keeps the record of every call. A method returns when the record is
// written; an error of kind Unavailable refuses the call. All methods may be called
// concurrently.
type Recorder interface {
	// Deny records a call that will not run.
	Deny(c durward.Call, d durward.Decision) error
	// Intent records a call that is about to have its first effect.
	Intent(c durward.Call, d durward.Decision) error
	// Refused records that a command was kept from a host, or so many times from it, between
	// the intent and the outcome of the call. Without host and rule it counts what was
	// refused beside the targets that are listed.
	Refused(c durward.Call, d durward.Decision, to durward.Contact) error
	// Outcome records how such a call ended, before it is answered.
	Outcome(c durward.Call, d durward.Decision, r durward.Result, err error) error
}
