package process

import (
	"crypto/rand"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// pipe makes a pipe of which one end is ours. Only that end can be waited at with a
// deadline, which takes a name: nobody else can have the one connection that it takes.
func pipe(oursReads bool) (ours, theirs *os.File, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\durward-` + rand.Text())
	if err != nil {
		return nil, nil, err
	}
	mode, access := uint32(windows.PIPE_ACCESS_OUTBOUND), uint32(windows.GENERIC_READ)
	if oursReads {
		mode, access = windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES
	}
	own, err := windows.CreateNamedPipe(name, mode|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_REJECT_REMOTE_CLIENTS, 1, pipeBytes, pipeBytes, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	other, err := windows.CreateFile(name, access, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(own)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(own), "pipe"), os.NewFile(uintptr(other), "pipe"), nil
}

// pipeBytes is what a pipe holds that nobody reads.
const pipeBytes = 64 << 10

// nothing is a stream without anything in it.
func nothing() (*os.File, error) { return os.Open(os.DevNull) }

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// pending is the number of bytes that wait in a pipe.
func pending(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	var n uint32
	_ = conn.Control(func(h uintptr) {
		_, _, _ = peekNamedPipe.Call(h, 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0) // n stays zero when it fails
	})
	return int(n)
}
