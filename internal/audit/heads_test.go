package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeadsAreWrittenWithinASecond(t *testing.T) {
	dir := private(t)
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(dir, Options{Now: time.Now})
		must(t, err)
		record(t, l, "1")
		time.Sleep(time.Second)
		synctest.Wait()
		heads, err := ReadHeads(dir)
		must(t, err)
		if len(heads) != 1 || heads[0].Seq != 2 || heads[0].State != StateOpen {
			t.Errorf("%v", heads)
		}
		must(t, l.Close())
		if heads, err = ReadHeads(dir); err != nil || heads[0].Seq != 2 || heads[0].State != StateClosed {
			t.Errorf("%v %v", heads, err)
		}
		lines := linesOf(t, l.File())
		if want := fmt.Sprintf("%s 2 closed %s", digestOf([]byte(lines[1])), filepath.Base(l.File())); heads[0].String() != want {
			t.Errorf("%s, want %s", heads[0], want)
		}
	})
}

func TestHeadsLagWithoutAlarm(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{})
	record(t, l, "1")
	l.syncNow()
	record(t, l, "2")
	l.die(t)
	if c := verified(t, dir).Chains[0]; c.Seq != 4 {
		t.Errorf("%+v", c)
	}
}

func TestDamagedHeadsDoNotHideTheOthers(t *testing.T) {
	hash := strings.Repeat("a", 64)
	for name, text := range map[string]string{
		"torn line":   hash + " 7 open a.jsonl\n" + hash + " 8 op",
		"bad hash":    hash + " 7 open a.jsonl\nx 8 open a.jsonl\n",
		"bad state":   hash + " 7 open a.jsonl\n" + hash + " 8 lost a.jsonl\n",
		"older line":  hash + " 7 open a.jsonl\n" + hash + " 6 open a.jsonl\n",
		"binary":      "\x00\xff\n\n" + hash + " 7 open a.jsonl\n",
		"a huge line": hash + " 7 open a.jsonl\n" + strings.Repeat("x", 100_000) + " 9 open a.jsonl\n",
		"end of huge": hash + " 7 open a.jsonl\n" + strings.Repeat("x", maxHead) + hash + " 9 open a.jsonl\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			touch(t, filepath.Join(dir, headsFile), text)
			heads, err := ReadHeads(dir)
			must(t, err)
			if diff := cmp.Diff([]Head{{File: "a.jsonl", Seq: 7, Hash: hash, State: StateOpen}}, heads); diff != "" {
				t.Error(diff)
			}
			must(t, (&ledger{dir: dir}).add(Head{File: "b c.jsonl", Seq: 1, Hash: hash, State: StateClosed}))
			if heads, err = ReadHeads(dir); err != nil || len(heads) != 2 || heads[1].File != "b c.jsonl" {
				t.Errorf("after one more: %v %v", heads, err)
			}
		})
	}
}

func TestHeadsStaySmallAndComplete(t *testing.T) {
	dir := private(t)
	hash := strings.Repeat("a", 64)
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			l := ledger{dir: dir, limit: 10_000}
			for n := range 500 {
				if err := l.add(Head{File: fmt.Sprint(w), Seq: uint64(n), Hash: hash, State: StateOpen}); err != nil {
					t.Error(err)
				}
				l.limit = 10_000
			}
		})
	}
	group.Wait()
	heads, err := ReadHeads(dir)
	must(t, err)
	for w, h := range heads {
		if h.File != fmt.Sprint(w) || h.Seq != 499 {
			t.Errorf("%v", h)
		}
	}
	info, err := os.Stat(filepath.Join(dir, headsFile))
	must(t, err)
	if len(heads) != 4 || info.Size() > 10_000 || info.Mode().Perm() != 0o600 {
		t.Errorf("%d heads in %d bytes, mode %v", len(heads), info.Size(), info.Mode())
	}
}
