package mcp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
)

// progressEvery is the least time between two reports of progress.
const progressEvery = 200 * time.Millisecond

// A progress reports how much a call has printed.
type progress struct {
	session *session
	token   jsonrpc.ID
	latest  atomic.Int64
	more    chan struct{} // has an element when latest has grown
	over    chan struct{}
	done    sync.WaitGroup
}

// newProgress begins to report.
func (s *session) newProgress(token jsonrpc.ID) *progress {
	p := &progress{session: s, token: token, more: make(chan struct{}, 1), over: make(chan struct{})}
	p.done.Go(p.report)
	return p
}

// captured takes a new number of bytes. It does not wait for it to be reported.
func (p *progress) captured(bytes int64) {
	for old := p.latest.Load(); bytes > old; old = p.latest.Load() {
		if p.latest.CompareAndSwap(old, bytes) {
			break
		}
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// stop comes back when nothing more will be reported.
func (p *progress) stop() {
	close(p.over)
	p.done.Wait()
}

func (p *progress) report() {
	for told := int64(0); ; {
		select {
		case <-p.over:
			return
		case <-p.more:
		}
		now := p.latest.Load()
		if now == told {
			continue
		}
		told = now
		p.tell(told)
		select {
		case <-p.over:
			return
		case <-time.After(progressEvery):
		}
	}
}

func (p *progress) tell(bytes int64) {
	p.session.notify("notifications/progress", struct {
		Token    jsonrpc.ID `json:"progressToken"`
		Progress int64      `json:"progress"`
		Message  string     `json:"message"`
	}{p.token, bytes, fmt.Sprintf("%d bytes captured", bytes)})
}
