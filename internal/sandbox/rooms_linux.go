//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// What calls of one view have in common takes half the time of their start. So root, who
// may enter another mount namespace, keeps the rooms of views that come again: a call
// gets a copy of its own. A room holds on to what is mounted in it, as a shell that
// stands in a directory does, and does not learn of what is mounted on the machine since;
// so none gets old.

// rooms are those that are kept, by their views.
type rooms struct {
	mu   sync.Mutex
	kept []*keptRoom // guarded by mu; the one that was wanted last comes last
	once []string    // guarded by mu; views that were wanted once
	shut bool        // guarded by mu
}

// A keptRoom is a mount namespace that nobody lives in.
type keptRoom struct {
	view   string
	ns     *os.File
	end    *time.Timer
	wanted int // guarded by the mu of rooms: starts that use ns
}

const (
	mostRooms = 8
	// keptTime is how long something is kept that takes up room in the kernel.
	keptTime = 10 * time.Second
)

// take gives the room of a plan, or nil when it is wanted for the first time. Whoever
// takes one gives it back when the process that enters it is on its way.
func (r *rooms) take(p Plan, h Host) (*keptRoom, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	view := p.shape.view
	if i := slices.IndexFunc(r.kept, func(k *keptRoom) bool { return k.view == view }); i >= 0 {
		k := r.kept[i]
		r.kept = append(slices.Delete(r.kept, i, i+1), k)
		k.wanted++
		return k, nil
	}
	if r.shut || !slices.Contains(r.once, view) {
		r.once = append(r.once[max(0, len(r.once)-mostRooms+1):], view)
		return nil, nil
	}
	ns, err := makeRoom(p, h)
	if err != nil {
		return nil, err
	}
	k := &keptRoom{view: view, ns: ns, wanted: 1}
	k.end = time.AfterFunc(keptTime, func() { r.forget(k) })
	r.kept = append(r.kept, k)
	for len(r.kept) > mostRooms {
		r.drop(r.kept[0])
	}
	return k, nil
}

// give gives a room back.
func (r *rooms) give(k *keptRoom) {
	if k == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k.wanted--
	if k.wanted == 0 && !slices.Contains(r.kept, k) {
		k.close()
	}
}

// forget gives up a room whose time is over.
func (r *rooms) forget(k *keptRoom) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.kept, k) {
		r.drop(k)
	}
}

// drop takes a room out. The caller holds mu.
func (r *rooms) drop(k *keptRoom) {
	r.kept = slices.DeleteFunc(r.kept, func(other *keptRoom) bool { return other == k })
	if k.wanted == 0 {
		k.close()
	}
}

func (k *keptRoom) close() {
	k.end.Stop()
	k.ns.Close()
}

// close gives up all of them and keeps no more.
func (r *rooms) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	for len(r.kept) > 0 {
		r.drop(r.kept[0])
	}
}

// makeRoom has a process build the room of a plan, and opens its namespace.
func makeRoom(p Plan, host Host) (*os.File, error) {
	enter := []Call{{Name: "own mounts", NR: unix.SYS_UNSHARE, Args: []Arg{number(unix.CLONE_NEWNS)}}}
	var place []placement
	if p.owners {
		owners, err := host.users.owners(account{p.UID, p.GID})
		if err != nil {
			return nil, err
		}
		place = append(place, placement{fdOf(owners), roomOwnersFD})
	}
	return namespace("mnt", errand{place: place, inside: append(enter, p.Room...), cgroup: -1}, nil)
}

// enterRoom enters a copy of a room that is kept.
func enterRoom() []Call {
	return []Call{
		{Name: "enter the room", NR: unix.SYS_SETNS, Args: []Arg{number(roomKeptFD), number(unix.CLONE_NEWNS)}},
		{Name: "own mounts", NR: unix.SYS_UNSHARE, Args: []Arg{number(unix.CLONE_NEWNS)}},
	}
}
