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

	points map[string][]string // guarded by mu; by the type of the file system
	read   uint64              // guarded by mu; the version that points are of
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
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.version(); m.points == nil || m.read != now {
		points, err := m.readPoints()
		if err != nil {
			return nil, err
		}
		m.points, m.read = points, now
	}
	return m.points[fstype], nil
}

// Beneath lists what is mounted in a directory, itself excluded.
func (m *MountTable) Beneath(dir string) ([]string, error) {
	if _, err := m.Points(""); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, points := range m.points {
		for _, point := range points {
			if point != dir && Contains(dir, point) {
				list = append(list, point)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// Close frees the descriptor. It may be called again.
func (m *MountTable) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		m.file.Close()
	}
	m.file, m.shut = nil, true
}

// version needs mu.
func (m *MountTable) version() uint64 {
	same := false
	if m.open() == nil {
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

// readPoints needs mu.
func (m *MountTable) readPoints() (map[string][]string, error) {
	if err := m.open(); err != nil {
		return nil, err
	}
	if _, err := m.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	points := make(map[string][]string)
	lines := bufio.NewScanner(m.file)
	for lines.Scan() {
		if mount, ok := parseMount(lines.Text()); ok {
			points[mount.fstype] = append(points[mount.fstype], mount.point)
		}
	}
	return points, lines.Err()
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
