package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// A Summary is what [Verify] found.
type Summary struct {
	// Chains is empty when nothing was ever recorded.
	Chains   []Chain
	Problems []Problem
}

// A Chain is the log of one process.
type Chain struct {
	// File is the active file, also when it is missing.
	File     string
	Segments int
	Records  uint64
	// Seq and Hash are those of the last good record: the head of the chain.
	Seq  uint64
	Hash string
	// Live is set while a process writes the chain.
	Live bool
	// InFlight counts the calls that have no outcome yet. If the chain is not live,
	// the next start closes them as unknown.
	InFlight int
	// Headless is set when no heads file holds the end of the chain: that its tail was
	// cut off, or its last record changed, would not show.
	Headless bool
	// Torn is the number of bytes behind the last record that its writer did not live
	// to finish. Nothing was promised for them; the next start seals them.
	Torn int
}

// Verify walks all chains of the audit folder dir, those that its heads file names
// elsewhere, and the given files, and checks that nothing was changed, removed, put
// in, or cut off. It may run while processes write.
//
// The head of a file that lies elsewhere is in the heads file beside it, if there is one.
// The chains of processes that found the file in use are walked with it.
//
// A cut tail shows by the heads file, which is written within a second of a record and
// when a log is closed. Nothing may stand behind a chain that was closed, each chain in
// dir that holds something needs a head there, and dir and its logs may be open to
// their owner alone, who is this user.
//
// When something does not prove itself, the error has reason AuditBroken and names the
// first bad record of the first bad chain; Problems names that of each, and what is
// wrong with dir and its heads last. A dir or file that does not exist has reason
// AuditNotFound, one that cannot be read AuditUnreadable. The log is not touched. An empty dir stands for no folder.
func Verify(ctx context.Context, dir string, files ...string) (Summary, error) {
	var s Summary
	f, err := find(dir, files)
	if err != nil {
		return s, notFound("audit.verify", err)
	}
	for _, active := range slices.Sorted(maps.Keys(f.chains)) {
		c, err := f.verifyChain(ctx, active)
		if err := ctx.Err(); err != nil {
			return s, unread("audit.verify", err)
		}
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			s.Problems = append(s.Problems, *problem)
		} else if err != nil {
			s.Problems = append(s.Problems, *unreadable(active, err))
		}
		s.Chains = append(s.Chains, c)
	}
	s.Problems = append(s.Problems, f.odd...)
	f.verifyFolder(&s)
	f.verifyBeside(&s)
	return s, s.err()
}

// noHead is why a chain that holds something is a problem though all of it fits.
const noHead = "no head for this chain"

// verifyFolder adds what is wrong with the folder and its heads. When these cannot be
// had at all, that stands for the chains that miss theirs.
func (f *logs) verifyFolder(s *Summary) {
	if f.ledger == nil {
		return
	}
	bad := f.damage
	if bad != nil {
		_, bad = f.ledger.inspect() // a line may have been at work
	}
	if _, err := os.Lstat(f.ledger.path()); missing(err) && f.recorded(s) {
		bad = &Problem{File: f.ledger.path(), Why: "heads is missing"}
	}
	if bad != nil && bad.Line == 0 {
		s.Problems = slices.DeleteFunc(s.Problems, func(p Problem) bool { return p.Why == noHead })
	}
	if bad != nil {
		s.Problems = append(s.Problems, *bad)
	} else if why := exposed(f.ledger.path(), 0o600); why != "" {
		s.Problems = append(s.Problems, Problem{File: f.ledger.path(), Why: why})
	}
	if bad := f.ledger.inspectMark(); bad != nil {
		s.Problems = append(s.Problems, *bad)
	}
	if why := exposed(f.ledger.dir, 0o700); why != "" {
		s.Problems = append(s.Problems, Problem{File: f.ledger.dir, Why: why})
	}
}

// verifyBeside adds what is wrong with the heads beside the files.
func (f *logs) verifyBeside(s *Summary) {
	seen := map[string]bool{}
	for _, active := range slices.Sorted(maps.Keys(f.beside)) {
		l := f.beside[active]
		if _, bad := l.inspect(); bad != nil && !seen[l.dir] {
			seen[l.dir] = true
			s.Problems = append(s.Problems, *bad)
		}
	}
}

// recorded reports whether there is anything in the folder that wants a head.
func (f *logs) recorded(s *Summary) bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool { return f.inFolder(p.File) }) ||
		slices.ContainsFunc(s.Chains, func(c Chain) bool { return f.inFolder(c.File) && c.Records > 0 })
}

func (s Summary) err() error {
	if len(s.Problems) == 0 {
		return nil
	}
	first := s.Problems[0]
	err := error(&first)
	if more := len(s.Problems) - 1; more > 0 {
		err = fmt.Errorf("%w (and %d more)", err, more)
	}
	return &durward.Error{Reason: durward.AuditBroken, Op: "audit.verify", Err: err}
}

// logs are the chains to look at.
type logs struct {
	ledger *ledger // nil without a folder
	// chains and heads are by the path of the active file.
	chains map[string][]segment
	heads  map[string]Head
	// beside are the heads files that hold the ends of chains outside of the folder, by
	// the path of the active file.
	beside map[string]*ledger
	// damage is what is wrong with the heads file, if anything.
	damage *Problem
	// odd are the folders that stand where a log could.
	odd []Problem
}

const isFolder = "it is a folder"

func (f *logs) addOdd(path string) { f.odd = append(f.odd, Problem{File: path, Why: isFolder}) }

// find lists the chains to look at. Heads are read before any chain: a chain that grows
// meanwhile is only ahead of them.
func find(dir string, files []string) (*logs, error) {
	f := &logs{chains: map[string][]segment{}, heads: map[string]Head{}, beside: map[string]*ledger{}}
	if dir != "" {
		if err := f.addFolder(dir); err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		if err := f.addFile(file); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *logs) addFolder(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	f.ledger = &ledger{dir: abs}
	known, damage := f.ledger.inspect()
	f.damage = damage
	if f.chains, err = chainsIn(abs, isLog, f.addOdd); err != nil {
		return err
	}
	for key, head := range known {
		active := f.ledger.active(key)
		f.heads[active] = head
		know(f.chains, active)
	}
	return nil
}

func (f *logs) addFile(file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(abs); err == nil && info.IsDir() {
		f.addOdd(abs)
		return nil
	}
	know(f.chains, abs)
	if f.heads[abs].State == "" && !f.inFolder(abs) {
		f.addBeside(abs)
	}
	if f.heads[abs].Seq > 0 {
		return nil
	}
	_, err = os.Lstat(abs)
	if segments, _ := segmentsNow(abs); missing(err) && len(segments) > 0 {
		return nil // it is being rotated
	}
	return err
}

// addBeside takes the head of a file from the heads beside it, and adds the chains of the
// processes that found the file in use.
func (f *logs) addBeside(file string) {
	l := &ledger{dir: filepath.Dir(file)}
	known, _ := l.inspect()
	for key, head := range known {
		if active := l.active(key); active == file || isSpare(file, active) {
			f.heads[active], f.beside[active] = head, l
			know(f.chains, active)
		}
	}
}

// inFolder reports whether a chain stands in the audit folder, where each has a head.
func (f *logs) inFolder(active string) bool {
	return f.ledger != nil && filepath.Dir(active) == f.ledger.dir
}

// headNow gives the head of a chain as it is by now.
func (f *logs) headNow(active string) Head {
	l := cmp.Or(f.beside[active], f.ledger)
	if l == nil {
		return Head{}
	}
	heads, _ := l.inspect()
	return heads[l.key(active)]
}

// know adds a chain whose files have not been listed yet.
func know(chains map[string][]segment, active string) {
	if _, known := chains[active]; !known {
		chains[active] = nil
	}
}

func isLog(name string) bool { return strings.HasSuffix(name, extension) }

// verifyChain walks one chain. What a walk finds while its process rotates, ends, goes
// on or takes back an unfinished write does not count: the walk is repeated. A process
// writes its head before it goes on, so that what a head does not allow is wrong when
// the head is still the same after the walk.
func (f *logs) verifyChain(ctx context.Context, active string) (Chain, error) {
	segments, head := f.chains[active], f.heads[active]
	live := isLive(active)
	c, found := f.walkChain(ctx, active, segments, head, live)
	for found != nil || c.Torn > 0 || segments == nil {
		var err error
		same := head
		if found != nil {
			head = f.headNow(active)
		}
		if segments, err = segmentsNow(active); err != nil {
			return Chain{File: active}, err
		}
		before, was := found, live
		live = isLive(active)
		c, found = f.walkChain(ctx, active, segments, head, live)
		after, err := segmentsNow(active)
		if err != nil {
			return Chain{File: active}, err
		}
		if found == nil && c.Torn == 0 {
			break
		}
		if ctx.Err() != nil || len(segments) == 0 {
			break
		}
		if slices.Equal(segments, after) && live == was && head == same && sameError(before, found) {
			break
		}
	}
	c.Headless = head.State == ""
	if found == nil && f.beside[active] == nil && (f.inFolder(active) || !c.Headless) {
		found = exposedIn(segments)
	}
	return c, found
}

// exposedIn names the first file of a chain that others could touch.
func exposedIn(segments []segment) error {
	for _, s := range segments {
		if why := exposed(s.path, 0o600); why != "" {
			return &Problem{File: s.path, Why: why}
		}
	}
	return nil
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

func (f *logs) walkChain(ctx context.Context, active string, segments []segment, head Head, live bool) (Chain, error) {
	w := newWalk(active, segments, head)
	err := w.reader.pin()
	if err == nil {
		err = w.run(ctx)
	}
	w.reader.close()
	if err == nil && head.State == "" && f.inFolder(active) && (w.records > 0 || w.torn != nil) {
		err = &Problem{File: active, Why: noHead}
	}
	return w.chain(segments, live), err
}

func (w *walk) chain(segments []segment, live bool) Chain {
	c := Chain{
		File: w.active, Segments: len(segments), Records: w.records, Seq: w.seq, Hash: w.hash.String(),
		Live: live, InFlight: len(w.inFlight),
	}
	if w.torn != nil && !live {
		c.Torn = len(w.torn.text)
	}
	return c
}

// segmentsNow is segmentsOf for a folder that may be gone.
func segmentsNow(active string) ([]segment, error) {
	segments, err := segmentsOf(active)
	if missing(err) {
		return nil, nil
	}
	return segments, err
}

// isLive reports whether a process holds the lock of a log.
func isLive(active string) bool {
	f, err := openForReading(active)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := tryLock(f, true)
	return err == nil && !free
}
