package execserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	door "github.com/durward/durward/internal/door/execserver"
	"github.com/durward/durward/internal/wsedge"
)

// RuntimePaths are the programs that the server starts to help it. The zero value means this
// executable, and none is needed on Linux: what is confined is confined by a thread.
type RuntimePaths struct {
	Self, SandboxHelper string
}

// Options say what clients may do. The zero value lets every local client do what this
// process may.
type Options struct {
	Paths RuntimePaths
	// Auth says who may connect. Nil lets everybody who reaches a loopback address.
	Auth *Auth
	// SessionGrace is how long a session waits for its client to come back. Zero gives a
	// minute to clients that sent resumeSessionId, even as null, and nothing to others;
	// negative gives nobody anything.
	SessionGrace time.Duration
	// Sandbox is the widest mode that anything runs in, whatever clients ask for. Empty means
	// [durward.DangerFullAccess].
	Sandbox durward.Mode
	// Root, if set, is the directory that all clients are held to: nothing else is written,
	// and but for what programs need nothing else is read.
	Root string
	// AllowNet lists the "host:port" that http/request may reach; none at all are reached
	// without.
	AllowNet []string
	// Limits bound each process that is started. A zero member means no bound.
	Limits durward.Limits
	// Processes may be alive at once in one session. Zero means 512.
	Processes int
	// Requests are worked on at once for one connection, but for those that only wait. Zero
	// means 64.
	Requests int
	// StateDir is where the audit log is kept, in a folder of its own; Recorder takes its
	// place. One of the two is required.
	StateDir string
	Recorder Recorder
	// Own lists absolute paths that are the embedding program's own, like its configuration:
	// what is confined cannot write them. Hidden lists those that it cannot see at all;
	// StateDir and the files of Auth are among them.
	Own, Hidden []string
	// Version is told to clients.
	Version string
	// Started, if set, is told the URL with the port that was bound, before anybody is
	// served.
	Started func(url string)
	// Stdin and Stdout are what "stdio" talks on. Nil means those of this process.
	Stdin  io.Reader
	Stdout io.Writer
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// A Recorder keeps the record of every call. A method returns when the record is
// written; an error refuses the call. All methods may be called concurrently.
type Recorder = core.Recorder

// Run serves clients at a URL of [ParseListenURL] until ctx ends, or with "stdio" until the
// input does. It comes back when all processes that were started are dead.
func Run(ctx context.Context, listenURL string, o Options) error {
	at, err := ParseListenURL(listenURL)
	if err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return run(ctx, at, o)
}

func run(ctx context.Context, at ListenURL, o Options) (err error) {
	if o.Recorder == nil {
		log, err := openLog(o.StateDir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		o.Recorder = log
	}
	h, err := build(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if at.IsStdio() {
		return serveStdio(ctx, h, o)
	}
	return serve(ctx, h, at, o)
}

func openLog(stateDir string) (*audit.Log, error) {
	if stateDir == "" {
		return nil, &durward.Error{Reason: durward.ConfigInvalid, Op: "execserver", Err: errors.New("StateDir is missing: the audit log is kept below it")}
	}
	return audit.Open(filepath.Join(stateDir, "audit"), audit.Options{})
}

// serve serves connections of a listener.
func serve(ctx context.Context, h *house, at ListenURL, o Options) error {
	l, bound, err := at.listen(ctx, o.Auth)
	if err != nil {
		return err
	}
	server, err := h.door(surfaceWebSocket, o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if o.Started != nil {
		o.Started(bound.String())
	}
	edge := wsedge.Options{Logger: o.Logger}
	if o.Auth != nil {
		edge.Authenticate = o.Auth.Authenticate
	}
	err = wsedge.Serve(ctx, l, edge, func(ctx context.Context, c wsedge.Conn) { server.Serve(ctx, c) })
	server.Close()
	return err
}

// serveStdio serves the one connection of standard input and output.
func serveStdio(ctx context.Context, h *house, o Options) error {
	server, err := h.door(surfaceStdio, o)
	if err != nil {
		return err
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	server.Serve(ctx, wsedge.Stdio(o.Stdin, o.Stdout, wsedge.DefaultMaxMessage, localCaller()))
	server.Close()
	return nil
}

// graceOf gives a grace as the door has it.
func graceOf(d time.Duration) time.Duration {
	switch {
	case d == 0:
		return door.GraceByClient
	case d < 0:
		return 0
	}
	return d
}
