package fsroot

import (
	"os"
	"strconv"
)

// PhysicalPath gives the path by which the kernel knows an open file.
func PhysicalPath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}
