// Package audit keeps the record of every call in a log that proves itself.
//
// A log is a file of JSON objects, one per line. Each holds its number and the SHA-256
// of the line before it, so that no line can be changed, removed, put in or swapped
// without showing:
//
//	{"seq":41,"prev":"9f2c…","ts":"2026-01-31T12:00:00.000Z","phase":"intent","reqId":"0190…","door":"exec",…}
//	{"seq":42,"prev":"77ab…","ts":"2026-01-31T12:00:00.031Z","phase":"outcome","reqId":"0190…","cause":"ok",…}
//
// One process writes one chain of such records. Its newest file is the active one,
// <UTC time>-<process id>.jsonl or the one that was configured; a closed segment has
// the time of its end before the extension. The file heads beside them holds the end
// of each chain, one per line: hash, number, state, file.
//
//	77ab… 42 open 20260131T120000.000Z-4711.jsonl
//
// [Log] writes; [Verify] proves; [Records], [Tail], [Show] and [Export] read.
package audit

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/durward/durward"
)

// Options are the choices of a log; the zero value is the default of each.
type Options struct {
	// File is the log to write, an absolute path. Empty means a file of its own in
	// the audit folder. A file that exists is continued.
	File string
	// MaxBytes is the size at which a segment is closed. Zero means 10 MB.
	MaxBytes int64
	// Keep is how many closed segments of a chain are kept. Zero means 10, a negative
	// number all.
	Keep int
	Sync Sync
	Args Args
	// Leave out what the calls say in these members.
	Leave Leave
	// Now gives the time of records. Nil means the clock.
	Now func() time.Time
	// Logger receives what went wrong aside from the calls. Nil discards it.
	Logger *slog.Logger
}

// What the zero value of an option means.
const (
	DefaultMaxBytes = 10_000_000
	DefaultKeep     = 10
)

// Leave says what is not to be in any record.
type Leave struct{ Args, Path, Cwd bool }

// Sync says when records are made to outlive the machine.
type Sync int

// The ways to sync. A record outlives its process in any case.
const (
	// SyncSoon syncs within a second of a record, and at Close.
	SyncSoon Sync = iota
	// SyncAlways syncs every record before its call goes on.
	SyncAlways
)

// syncAfter is the time from a record to its sync. It leaves the disk the other half
// of the second.
const syncAfter = 500 * time.Millisecond

// A Log is the writing end of one chain. All methods may be called concurrently.
type Log struct {
	options Options
	args    Args
	now     func() time.Time
	logger  *slog.Logger
	rooms   sync.Pool // of *[]byte: memory for bodies, which is used again once they are written

	waiting  sync.Mutex
	requests []*request // guarded by waiting; in the order of their records
	writing  bool       // guarded by waiting; somebody writes, or was told to

	mu     sync.Mutex
	chain  *chain // guarded by mu; nil after Close
	failed error  // guarded by mu; set once the disk cannot be trusted
	// inFlight counts intents without outcome; guarded by mu.
	inFlight int

	// beside is set for a log in a folder that somebody else chose.
	beside bool
	heads  ledger // used by one goroutine at a time: Open, then the syncer, then Close
	key    string
	dirty  chan struct{} // has room for one
	stop   chan struct{}
	synced chan struct{} // closed when the syncer has ended
}

// Open begins a log in the audit folder dir, which is made where it is missing. The
// calls that were in flight in another log when its process died are closed as
// unknown; the log of a process that lives is not touched.
//
// An empty dir stands for the folder of options.File. That is as somebody chose it: others
// may look into it, and where they may write to it that is a warning. A process that finds
// the file in use there writes one of its own beside it, with its process id before the
// extension.
//
// When the folder or a file in it belongs to or is open to others, or another process
// writes options.File, or that file does not prove itself, the error is of kind
// Unavailable and its Hint says what to type. The caller ends the log with Close.
func Open(dir string, options Options) (*Log, error) {
	l := newLog(options)
	if err := l.open(dir); err != nil {
		return nil, unavailable("audit.open", err)
	}
	go l.keepSynced()
	return l, nil
}

func newLog(o Options) *Log {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.File != "" {
		o.File = filepath.Clean(o.File)
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{
		options: o, args: o.Args, now: o.Now, logger: o.Logger, rooms: sync.Pool{New: newRoom},
		dirty: make(chan struct{}, 1), stop: make(chan struct{}), synced: make(chan struct{}),
	}
}

func (l *Log) open(dir string) error {
	if file := l.options.File; file != "" && !filepath.IsAbs(file) {
		return errors.New(file + ": not an absolute path")
	} else if l.beside = dir == "" && file != ""; l.beside {
		dir = filepath.Dir(file)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if hasControl(dir) || hasControl(l.options.File) {
		return errors.New("the name of the log holds control characters")
	}
	made := absent(dir)
	if l.options.File != "" {
		made = append(made, absent(filepath.Dir(l.options.File))...)
	}
	if err := l.openIn(dir); err != nil {
		for _, folder := range made {
			os.Remove(folder) // one that is in use by now stays
		}
		return err
	}
	return nil
}

// absent lists those of a folder and its parents that do not exist, the deepest first.
func absent(dir string) []string {
	var folders []string
	for {
		if _, err := os.Lstat(dir); !missing(err) || filepath.Dir(dir) == dir {
			return folders
		}
		folders = append(folders, dir)
		dir = filepath.Dir(dir)
	}
}

func (l *Log) openIn(dir string) error {
	l.heads = ledger{dir: dir}
	if err := l.openFolder(dir); err != nil {
		return err
	}
	heads, err := l.heads.unfinished(l.heads.key(l.options.File), l.now())
	if err != nil {
		return err
	}
	l.adoptAll(heads, l.options.File)
	if l.options.File != "" {
		err = l.openFile(l.options.File)
	} else {
		err = l.openOwn(dir)
	}
	if err != nil {
		return err
	}
	l.key = l.heads.key(l.chain.path)
	if err := l.begin(); err != nil {
		return errors.Join(err, l.abandon())
	}
	return nil
}

// openFolder makes the audit folder, or judges the one there is.
func (l *Log) openFolder(dir string) error {
	if !l.beside {
		return privateFolder(dir)
	}
	err := safeParent(dir)
	if loose := (*permissionError)(nil); errors.As(err, &loose) {
		l.logger.Warn("others may put another audit log in the place of this one", "folder", dir, "why", loose.what, "fix", loose.fix)
		err = nil
	}
	if err != nil {
		return err
	}
	return l.heads.own()
}

// begin writes the head of the chain, before its first record: whoever sees a record
// finds a head that allows it. A chain that was closed is not to look so after a power
// cut, either.
func (l *Log) begin() error {
	if err := l.heads.add(l.head(StateOpen)); err != nil {
		return err
	}
	if l.options.Sync == SyncAlways || l.chain.seq > 0 {
		return l.heads.last()
	}
	return nil
}

// abandon ends a log that could not be opened and leaves no new file behind.
func (l *Log) abandon() error {
	var err error
	if l.chain.seq == 0 {
		err = os.Remove(l.chain.path)
	}
	return errors.Join(err, l.chain.file.Close())
}

// openOwn begins the chain of this process.
func (l *Log) openOwn(dir string) error {
	for at := l.now(); ; at = at.Add(time.Millisecond) { // another container may have our process id
		path := filepath.Join(dir, startName(at, os.Getpid()))
		f, err := create(path)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		l.chain, err = newChain(path, f, 0, digest{}, 0)
		return err
	}
}

// openFile begins or continues a configured log.
func (l *Log) openFile(path string) error {
	if !l.beside {
		if err := safeParent(filepath.Dir(path)); err != nil {
			return err
		}
	}
	c, err := l.takeUp(path)
	if errors.Is(err, errHeld) && l.beside {
		spare := spareName(path, os.Getpid())
		l.logger.Info("another process writes the audit log; this one writes a log beside it", "file", spare)
		c, err = l.takeUp(spare)
	}
	l.chain = c
	return err
}

// takeUp begins a file, or continues it. Another process may begin or end it at this
// moment; what that leaves is looked at again.
func (l *Log) takeUp(path string) (*chain, error) {
	key := l.heads.key(path)
	for {
		heads, err := l.heads.read()
		if err != nil {
			return nil, err
		}
		head := heads[key]
		c, err := adopt(path, head, l.now())
		if missing(err) && head.Seq > 0 {
			err = broken(&Problem{File: path, Seq: head.Seq, Why: "the log is missing; heads holds its last record"})
		} else if missing(err) {
			c, err = fresh(path)
		}
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if durward.ReasonOf(err) != durward.AuditBroken {
			return c, err
		}
		if heads, _ := l.heads.read(); heads[key] == head {
			return nil, withHint(err, "durward audit verify "+quote(path)+"; then move the log away and delete its lines from "+quote(l.heads.path()))
		}
	}
}

func fresh(path string) (*chain, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	return newChain(path, f, 0, digest{}, 0)
}

// File is the path of the active file.
func (l *Log) File() string { return l.heads.active(l.key) }

func (l *Log) head(state State) Head {
	return Head{File: l.key, Seq: l.chain.seq, Hash: l.chain.head.String(), State: state}
}

// Close syncs the log and ends it. Calls that are recorded later are refused. Close
// waits for the goroutine of the log; a second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	c := l.chain
	if c == nil {
		l.mu.Unlock()
		return nil
	}
	state := StateClosed
	if l.inFlight > 0 {
		state = StateOpen // the next start closes them
	}
	head := l.head(state)
	l.chain = nil
	l.mu.Unlock()
	close(l.stop)
	<-l.synced
	err := l.heads.last()
	if err == nil {
		err = syncData(c.file)
	}
	if err == nil {
		err = l.heads.add(head)
	}
	if err := errors.Join(err, c.file.Close()); err != nil {
		return unavailable("audit.close", err)
	}
	return nil
}

var _ io.Closer = (*Log)(nil)

// keepSynced syncs soon after each record until the log is closed.
func (l *Log) keepSynced() {
	defer close(l.synced)
	for {
		select {
		case <-l.stop:
			return
		case <-l.dirty:
		}
		timer := time.NewTimer(syncAfter)
		select {
		case <-l.stop:
			timer.Stop()
			return
		case <-timer.C:
			l.syncNow()
		}
	}
}

// syncNow makes all records last and then their head.
func (l *Log) syncNow() {
	l.mu.Lock()
	if l.chain == nil {
		l.mu.Unlock()
		return
	}
	file, head := l.chain.file, l.head(StateOpen)
	l.mu.Unlock()
	if err := l.heads.last(); err != nil {
		l.logger.Error("the heads of the audit log could not be synced", "error", err)
	}
	// A file that was closed meanwhile was synced by the rotation that closed it.
	if err := syncData(file); err != nil && !errors.Is(err, os.ErrClosed) {
		l.distrust(err)
		return
	}
	if err := l.heads.add(head); err != nil {
		l.logger.Error("the heads of the audit log could not be written", "error", err)
	}
}

// distrust ends recording: after a failed sync nobody knows what is on the disk.
func (l *Log) distrust(err error) {
	l.logger.Error("the audit log could not be synced", "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
}

var errClosed = errors.New("the log is closed")

// refusal is the error of a call whose record could not be written.
func refusal(err error) error {
	return &durward.Error{Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Op: "audit.write", Err: err}
}
