//go:build linux || darwin

package denyglob

import (
	"bytes"
	"errors"
	"os"
)

// maxOpen is how many directories on the way are held open, but for one or two.
const maxOpen = 32

// A place is a directory on the way from the root to where a walk is.
type place struct {
	// dir is nil while it is far up. It is found again from below, and known by id.
	dir *os.File
	id  identity
	// inside is whether the whole of it is in view.
	inside bool
	// path and todo are where its path ends, and where its names to go on with begin.
	path, todo int
}

// A trail is the way from the root to where a walk is, with what is still to be searched
// beneath each place on it. It is a few lists that grow and shrink at their ends, however
// deep or wide somebody made the tree.
type trail struct {
	places []place
	path   []byte // the root's is empty
	todo   []byte // names, each with a zero byte behind it
	states states // what each place waits for, one after the other
	words  int    // how many words of states a place has
}

func (t *trail) top() *place { return &t.places[len(t.places)-1] }

// awaited is what the place on top waits for.
func (t *trail) awaited() states { return t.states[len(t.states)-t.words:] }

// here gives the path of the place on top.
func (t *trail) here() string {
	if len(t.path) == 0 {
		return "/"
	}
	return string(t.path)
}

// at gives the path of a name in the place on top.
func (t *trail) at(name string) string { return string(t.path) + "/" + name }

// bytes is about how much memory the trail needs.
func (t *trail) bytes() int {
	const perPlace = 48
	return len(t.path) + len(t.todo) + len(t.places)*perPlace + len(t.states)*8
}

// push goes down into a directory, or to the root.
func (t *trail) push(name string, p place, awaited states) error {
	if len(t.places) > 0 {
		t.path = append(append(t.path, '/'), name...)
	}
	p.path, p.todo = len(t.path), len(t.todo)
	t.places = append(t.places, p)
	t.states = append(t.states, awaited...)
	t.words = len(awaited)
	return t.shut(len(t.places) - 1 - maxOpen)
}

// shut closes a place that is far up.
func (t *trail) shut(i int) (err error) {
	if i < 0 || t.places[i].dir == nil {
		return nil
	}
	p := &t.places[i]
	if p.id, err = identityOf(p.dir); err != nil {
		return err
	}
	p.dir.Close()
	p.dir = nil
	return nil
}

// later keeps a name in the place on top until its turn comes.
func (t *trail) later(name string) { t.todo = append(append(t.todo, name...), 0) }

// take gives a name to go on with in the place on top.
func (t *trail) take() (name string, ok bool) {
	if len(t.todo) == t.top().todo {
		return "", false
	}
	last := len(t.todo) - 1
	from := bytes.LastIndexByte(t.todo[:last], 0) + 1
	name, t.todo = string(t.todo[from:last]), t.todo[:from]
	return name, true
}

// pop goes back up, to the directory that the walk came from or to an error.
func (t *trail) pop() error {
	below := t.top().dir
	defer below.Close()
	t.places = t.places[:len(t.places)-1]
	t.states = t.states[:len(t.states)-t.words]
	if len(t.places) == 0 {
		return nil
	}
	t.path = t.path[:t.top().path]
	if t.top().dir != nil {
		return nil
	}
	return t.regain(t.top(), below)
}

func (t *trail) regain(p *place, below *os.File) (err error) {
	if p.dir, err = openat(descriptor(below), "..", passFlags); err != nil {
		return err
	}
	id, err := identityOf(p.dir)
	if err == nil && id != p.id {
		err = errors.New("a directory was moved")
	}
	return err
}

func (t *trail) close() {
	for _, p := range t.places {
		if p.dir != nil {
			p.dir.Close()
		}
	}
}
