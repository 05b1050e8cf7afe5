package hostfs

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A pipe stands for the files of the kernel that look regular and are not at their end: what
// they hold now is read, and nobody waits for more.
func TestNothingWaitsForContentThatIsStillToCome(t *testing.T) {
	var ends [2]int
	must(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	defer unix.Close(ends[1])
	fd, err := reopen(ends[0], unix.O_RDONLY)
	must(t, err)
	must(t, unix.Close(ends[0]))
	file := os.NewFile(uintptr(fd), "pipe")
	defer file.Close()

	_, err = unix.Write(ends[1], []byte("some"))
	must(t, err)
	text, err := io.ReadAll(atOnce{file})
	if string(text) != "some" || durward.ReasonOf(err) != durward.NotRegularFile {
		t.Errorf("%q, %v", text, err)
	}

	s := newScene(t)
	r := &request{engine: s.engine, op: "fs/readFile", grant: free}
	must(t, r.begin(t.Context(), true))
	p, err := r.find(t.Context(), named{path: s.path("ws/a.txt")})
	must(t, err)
	defer p.Close()
	if _, err := r.transcribe(t.Context(), atOnce{file}, p); durward.ReasonOf(err) != durward.NotRegularFile {
		t.Errorf("reading: %v", err)
	}
	if err := (&copying{request: r}).pour(t.Context(), atOnce{file}, nil, &p.stat); durward.ReasonOf(err) != durward.NotRegularFile {
		t.Errorf("copying: %v", err)
	}
}

// The log of the kernel is a file like that. Not everybody may read it, and nobody waits.
func TestTheLogOfTheKernelEndsACall(t *testing.T) {
	s := newScene(t)
	for method, input := range map[string]string{
		"readFile": `{"path":"/proc/kmsg"}`,
		"copy":     `{"sourcePath":"/proc/kmsg","destinationPath":"$/ws/log","recursive":false}`,
	} {
		if _, err := s.do(t.Context(), method, input); err == nil {
			t.Errorf("%s comes to an end that is none", method)
		}
	}
	if _, err := os.Lstat(s.path("ws/log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of a copy is left: %v", err)
	}
}
