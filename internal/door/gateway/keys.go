package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/durward/durward"
)

// Limits of what is kept of answers for callers who ask again. When there is no room the
// oldest answer goes.
const (
	keptFor      = 24 * time.Hour
	keptAnswers  = 10_000
	keptBytes    = 64 << 20
	maxKeyLength = 255
)

const headerKey = "Idempotency-Key"

// keyOf gives the idempotency key of a request, or "".
func keyOf(r *http.Request) (string, error) {
	values := r.Header.Values(headerKey)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	ok := len(values) == 1 && key != "" && len(key) <= maxKeyLength
	for _, c := range []byte(key) {
		ok = ok && ' ' < c && c < 0x7f
	}
	if !ok {
		return "", &durward.Error{Reason: durward.BadCall, Op: "key", Err: errors.New(headerKey + " is not one word of up to 255 visible ASCII characters")}
	}
	return key, nil
}

// A keyName is what makes two requests the same: a key is its caller's, for one tool.
type keyName struct {
	caller string
	tool   durward.ToolID
	key    string
}

// A kept answer is that of the first request with a key.
type kept struct {
	name  keyName
	input [sha256.Size]byte
	done  chan struct{} // closed when ending is there
	// ending is valid once done is closed; final is false then where nothing was kept.
	ending ending
	until  time.Time
}

// keys are the answers that are kept. The zero value is empty and ready.
type keys struct {
	mu    sync.Mutex
	known map[keyName]*kept // guarded by mu
	order []*kept           // guarded by mu; those with an answer, the oldest first
	bytes int               // guarded by mu; of the bodies
}

// once has do give the answer to the first request of a name, and gives that answer to all
// others. Whoever comes while it runs waits, as long as ctx. What was never tried is not kept:
// the next one is the first then, but those who waited while there was no room for the first
// one have had no room either.
func (k *keys) once(ctx context.Context, name keyName, input [sha256.Size]byte, do func() ending) (ending, error) {
	for {
		entry, first := k.enter(name, input)
		if entry.input != input {
			return ending{}, &durward.Error{Reason: durward.KeyReused, Op: "key"}
		}
		if first {
			return k.carryOut(entry, do), nil
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return ending{}, durward.Ended(ctx, "key")
		}
		if e := entry.ending; e.final || e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
			e.replayed = true
			return e, nil
		}
	}
}

// enter gives the entry of a name, and whether the caller is to fill it.
func (k *keys) enter(name keyName, input [sha256.Size]byte) (entry *kept, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire(time.Now())
	if entry, ok := k.known[name]; ok {
		return entry, false
	}
	if k.known == nil {
		k.known = map[keyName]*kept{}
	}
	entry = &kept{name: name, input: input, done: make(chan struct{})}
	k.known[name] = entry
	return entry, true
}

// carryOut fills an entry, also where do panics.
func (k *keys) carryOut(entry *kept, do func() ending) ending {
	defer func() {
		k.finish(entry)
		close(entry.done)
	}()
	entry.ending = do()
	return entry.ending
}

func (k *keys) finish(entry *kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !entry.ending.final || len(entry.ending.body) > keptBytes {
		delete(k.known, entry.name)
		return
	}
	entry.until = time.Now().Add(keptFor)
	k.order = append(k.order, entry)
	k.bytes += len(entry.ending.body)
	for k.bytes > keptBytes || len(k.order) > keptAnswers {
		k.drop()
	}
}

// expire drops what was kept long enough. The caller holds mu.
func (k *keys) expire(now time.Time) {
	for len(k.order) > 0 && k.order[0].until.Before(now) {
		k.drop()
	}
}

// drop forgets the oldest answer. The caller holds mu.
func (k *keys) drop() {
	oldest := k.order[0]
	k.order[0] = nil
	k.order = k.order[1:]
	delete(k.known, oldest.name)
	k.bytes -= len(oldest.ending.body)
}
