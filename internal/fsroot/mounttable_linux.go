package fsroot

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A MountTable tells what is mounted, as this process sees it. The zero one is ready to
// use; it may be used concurrently. Whoever is done with it closes it.
type MountTable struct {
	mu      sync.Mutex
	file    *os.File // guarded by mu; nil until it is needed
	shut    bool     // guarded by mu; it is not opened any more
	changes uint64   // guarded by mu

	list []mount // guarded by mu; in the order of the table
	read uint64  // guarded by mu; the version that list is of
	text bool    // list is all there is

	known map[uint64]kinds // guarded by mu; of mounts, by the number that no other one gets
}

// MountsIn gives the table that is written in a text, in the form of the kernel's mountinfo.
func MountsIn(text string) *MountTable {
	list, _ := parseMounts(strings.NewReader(text)) // it ends with the text
	return &MountTable{list: list, text: true}
}

// Open opens the table now, and not when it is first asked something: a thread that is
// held to rules may not be able to.
func (m *MountTable) Open() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open()
}

// Version is another number than before whenever the mounts may have changed. Where that
// cannot be told, it always is.
func (m *MountTable) Version() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version()
}

// Points lists where file systems of a type are mounted. An error says that it cannot be
// told.
func (m *MountTable) Points(fstype string) ([]string, error) {
	return m.points(func(one mount) bool { return one.fstype == fstype })
}

// Beneath lists what is mounted in a directory, itself excluded.
func (m *MountTable) Beneath(dir string) ([]string, error) {
	points, err := m.points(func(one mount) bool { return one.point != dir && Contains(dir, one.point) })
	slices.Sort(points)
	return points, err
}

// points lists the places of some mounts, in the order of the table.
func (m *MountTable) points(which func(mount) bool) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refresh(); err != nil {
		return nil, err
	}
	var points []string
	for _, one := range m.list {
		if which(one) {
			points = append(points, one.point)
		}
	}
	return points, nil
}

// under finds the mount that an open file is on: by its number, or where the kernel gives
// none that is in the table, by its path.
func (m *MountTable) under(fd int) (found mount, byNumber bool, err error) {
	if id, ok := mountNumber(fd); ok && !m.text {
		if found, err := m.numbered(id); err != errNoMount {
			return found, err == nil, err
		}
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return mount{}, false, err
	}
	found, err = m.at(path)
	return found, false, err
}

func (m *MountTable) numbered(id string) (mount, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refresh(); err != nil {
		return mount{}, err
	}
	for _, one := range m.list {
		if one.id == id {
			return one, nil
		}
	}
	return mount{}, errNoMount
}

// at finds the mount that a physical path is on: the deepest around it, and of several at
// one place the last.
func (m *MountTable) at(path string) (mount, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refresh(); err != nil {
		return mount{}, err
	}
	var found mount
	for _, mount := range m.list {
		if Contains(mount.point, path) && len(mount.point) >= len(found.point) {
			found = mount
		}
	}
	if found.point == "" {
		return mount{}, errNoMount
	}
	return found, nil
}

// Close frees the descriptor. It may be called again.
func (m *MountTable) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		m.file.Close()
	}
	m.file, m.shut, m.known = nil, true, nil
}

// version needs mu.
func (m *MountTable) version() uint64 {
	same := m.text
	if !same && m.open() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(m.file.Fd()), Events: unix.POLLPRI}}, 0)
		same = n == 0 && err == nil
	}
	if !same {
		m.changes++
	}
	return m.changes
}

// open needs mu. The file is kept from the runtime's poller, which would be told of a change
// in our place.
func (m *MountTable) open() error {
	const path = "/proc/self/mountinfo"
	switch {
	case m.text:
		return nil
	case m.shut:
		return os.ErrClosed
	case m.file != nil:
		return nil
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	m.file = os.NewFile(uintptr(fd), path)
	return nil
}

// refresh needs mu.
func (m *MountTable) refresh() error {
	if m.text {
		return nil
	}
	now := m.version()
	if m.list != nil && m.read == now {
		return nil
	}
	list, err := m.readList()
	if err == nil {
		m.list, m.read = list, now
	}
	return err
}

// readList needs mu.
func (m *MountTable) readList() ([]mount, error) {
	if err := m.open(); err != nil {
		return nil, err
	}
	if _, err := m.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return parseMounts(m.file)
}

func parseMounts(from io.Reader) ([]mount, error) {
	var list []mount
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if m, ok := parseMount(lines.Text()); ok {
			list = append(list, m)
		}
	}
	return list, lines.Err()
}

// unescaped reads a path of the table, in which spaces and the like stand as "\040".
func unescaped(path string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(path, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) >= 3 {
			if c, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(c))
				path = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		path = after
	}
}
