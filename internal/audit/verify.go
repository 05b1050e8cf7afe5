package audit

import (
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
	// Torn is the number of bytes behind the last record that its writer did not live
	// to finish. Nothing was promised for them; the next start seals them.
	Torn int
}

// Verify walks all chains of the audit folder dir, those that its heads file names
// elsewhere, and the given files, and checks that nothing was changed, removed, put
// in, or cut off. It may run while processes write.
//
// A cut tail shows by the heads file, which is written within a second of a record and
// when a log is closed. When something does not prove itself, the error has reason
// AuditBroken and names the first bad record of the first bad chain; Problems names
// that of each. The log is not touched. An empty dir stands for no folder.
func Verify(ctx context.Context, dir string, files ...string) (Summary, error) {
	var s Summary
	chains, heads, err := find(dir, files)
	if err != nil {
		return s, unavailable("audit.verify", err)
	}
	for _, active := range slices.Sorted(maps.Keys(chains)) {
		c, err := verifyChain(ctx, active, chains[active], heads[active])
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			s.Problems = append(s.Problems, *problem)
		} else if err != nil {
			return s, unavailable("audit.verify", err)
		}
		s.Chains = append(s.Chains, c)
	}
	return s, s.err()
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

// find lists the chains to look at, by the path of their active file, and their heads.
// Heads are read before any chain: a chain that grows meanwhile is only ahead of them.
func find(dir string, files []string) (map[string][]segment, map[string]Head, error) {
	chains, heads := map[string][]segment{}, map[string]Head{}
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, nil, err
		}
		l := ledger{dir: abs}
		known, err := l.read()
		if err != nil {
			return nil, nil, err
		}
		if chains, err = chainsIn(abs, isLog); err != nil {
			return nil, nil, err
		}
		for key, head := range known {
			heads[l.active(key)] = head
			know(chains, l.active(key))
		}
	}
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, nil, err
		}
		if heads[abs].Seq == 0 {
			if _, err := os.Lstat(abs); err != nil {
				return nil, nil, err
			}
		}
		know(chains, abs)
	}
	return chains, heads, nil
}

// know adds a chain whose files have not been listed yet.
func know(chains map[string][]segment, active string) {
	if _, known := chains[active]; !known {
		chains[active] = nil
	}
}

func isLog(name string) bool { return strings.HasSuffix(name, extension) }

// verifyChain walks one chain. What a walk finds while its process rotates, ends or
// takes back an unfinished write does not count: the walk is repeated.
func verifyChain(ctx context.Context, active string, segments []segment, head Head) (Chain, error) {
	live := isLive(active)
	c, found := walkChain(ctx, active, segments, head, live)
	for found != nil || c.Torn > 0 || segments == nil {
		var err error
		if segments, err = segmentsNow(active); err != nil {
			return Chain{}, err
		}
		before, was := found, live
		live = isLive(active)
		c, found = walkChain(ctx, active, segments, head, live)
		after, err := segmentsNow(active)
		if err != nil {
			return Chain{}, err
		}
		if found == nil && c.Torn == 0 {
			break
		}
		if ctx.Err() != nil || len(segments) == 0 {
			break
		}
		if slices.Equal(segments, after) && live == was && sameError(before, found) {
			break
		}
	}
	return c, found
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

func walkChain(ctx context.Context, active string, segments []segment, head Head, live bool) (Chain, error) {
	w := newWalk(active, segments, head)
	err := w.reader.pin()
	if err == nil {
		err = w.run(ctx)
	}
	w.reader.close()
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
