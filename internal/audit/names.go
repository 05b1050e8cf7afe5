package audit

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// startFormat is the time in the name of a chain, stampFormat that in the name of
	// a closed segment.
	startFormat = "20060102T150405.000Z"
	stampFormat = "20060102T150405"
	extension   = ".jsonl"
)

// A segment is one file of a chain.
type segment struct {
	path string
	// stamp and number are those of a closed segment; the active one has neither.
	stamp  string
	number int
}

func (s segment) name() string { return filepath.Base(s.path) }

// closedName matches the name of a closed segment: stem, stamp, number, extension.
var closedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*)\.(\d{8}T\d{6})(?:\.([1-9]\d{0,8}))?(\.[^.]*)?$`)
})

// splitName tells to which active file a file belongs.
func splitName(name string) (active string, s segment) {
	part := closedName().FindStringSubmatch(name)
	if part == nil {
		return name, segment{}
	}
	number, _ := strconv.Atoi(part[3])
	return part[1] + part[4], segment{stamp: part[2], number: number}
}

// segmentsOf lists the files of a chain, oldest first, the active file last. There may
// be none.
func segmentsOf(active string) ([]segment, error) {
	all, err := chainsIn(filepath.Dir(active), func(name string) bool { return name == filepath.Base(active) }, func(string) {})
	if err != nil {
		return nil, err
	}
	return all[active], nil
}

// chainsIn lists the chains of a folder whose active file has a wanted name. Folders
// with such a name are no part of them; odd is told of each.
func chainsIn(dir string, wanted func(active string) bool, odd func(path string)) (map[string][]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	chains := map[string][]segment{}
	for _, entry := range entries {
		active, s := splitName(entry.Name())
		if !wanted(active) {
			continue
		}
		s.path = filepath.Join(dir, entry.Name())
		if entry.IsDir() {
			odd(s.path)
			continue
		}
		key := filepath.Join(dir, active)
		chains[key] = append(chains[key], s)
	}
	for _, segments := range chains {
		slices.SortFunc(segments, inOrder)
	}
	return chains, nil
}

func inOrder(a, b segment) int {
	if a.stamp == "" || b.stamp == "" {
		return cmp.Compare(b.stamp, a.stamp) // the active file is the last
	}
	return cmp.Or(cmp.Compare(a.stamp, b.stamp), cmp.Compare(a.number, b.number))
}

// closedPath names the next closed segment of a chain. The names sort in the order of
// the chain even if the clock was set back.
func closedPath(active string, segments []segment, at time.Time) string {
	stamp, number := at.UTC().Format(stampFormat), 0
	for _, s := range segments {
		if s.stamp >= stamp {
			stamp, number = s.stamp, s.number+1
		}
	}
	ext := filepath.Ext(active)
	if number > 0 {
		stamp += "." + strconv.Itoa(number)
	}
	return strings.TrimSuffix(active, ext) + "." + stamp + ext
}

// spareName names the chain of a process that finds a configured file in use.
func spareName(active string, pid int) string {
	ext := filepath.Ext(active)
	return strings.TrimSuffix(active, ext) + "." + strconv.Itoa(pid) + ext
}

// isSpare reports whether a path is the spareName of an active file for some process.
func isSpare(active, path string) bool {
	ext := filepath.Ext(active)
	pid, ok := strings.CutPrefix(strings.TrimSuffix(path, ext), strings.TrimSuffix(active, ext)+".")
	number, err := strconv.Atoi(pid)
	return ok && err == nil && number > 0 && path == spareName(active, number)
}

// startName names the chain of a process.
func startName(at time.Time, pid int) string {
	return fmt.Sprintf("%s-%d%s", at.UTC().Format(startFormat), pid, extension)
}
