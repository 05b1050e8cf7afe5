package core

import (
	"sync"

	"github.com/durward/durward"
)

// liveRefusals are recorded as they happen; the others of a call are counted, and recorded
// at its end. A command can ask for what it is refused without end.
const liveRefusals = 128

// refusals are what is on record of where a command was not let.
type refusals struct {
	mu     sync.Mutex
	live   int                     // guarded by mu
	times  map[durward.Contact]int // guarded by mu; live ones, by their target
	failed error                   // guarded by mu; the first that could not be recorded
}

// take says whether a refusal is to be recorded as it happens. One that could not be is the
// last: the call is at its end then.
func (r *refusals) take(to durward.Contact) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil || r.live == liveRefusals {
		return false
	}
	if r.times == nil {
		r.times = make(map[durward.Contact]int)
	}
	r.live++
	to.Times = 0
	r.times[to]++
	return true
}

func (r *refusals) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// rest gives what is not on record yet of all that was refused: each target with its count,
// and without a target the count of what is not listed.
func (r *refusals) rest(t *durward.Traffic) ([]durward.Contact, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t == nil || r.failed != nil {
		return nil, r.failed
	}
	var list []durward.Contact
	more := t.MoreRefused - r.live // and those of them that are listed
	for _, to := range t.Refused {
		key := to
		key.Times = 0
		told := r.times[key]
		more += told
		if to.Times -= told; to.Times > 0 {
			list = append(list, to)
		}
	}
	if more > 0 {
		list = append(list, durward.Contact{Times: more})
	}
	return list, nil
}

// refused records a refusal as it happens, before the command hears of it. A call that
// cannot be recorded does not go on.
func (j *job) refused(to durward.Contact) {
	if !j.told.take(to) {
		return
	}
	if err := j.runtime.recorder.Refused(j.call, j.decision, to); err != nil {
		j.told.fail(err)
		j.cancel()
	}
}

// recordRefusals records those that were only counted.
func (j *job) recordRefusals(t *durward.Traffic) error {
	rest, err := j.told.rest(t)
	for _, to := range rest {
		if err = j.runtime.recorder.Refused(j.call, j.decision, to); err != nil {
			break
		}
	}
	return err
}
