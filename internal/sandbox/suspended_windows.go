package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/durward/durward/internal/sandbox/envblock"
)

// creation are the flags of a new process: it has no console of ours, and waits.
const creation = windows.CREATE_SUSPENDED | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT |
	windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_DEFAULT_ERROR_MODE

// startSuspended makes the process of a plan, of which no instruction has run. It
// inherits the three streams and nothing else. The caller closes both handles.
func startSuspended(p Plan, dir string, stdio Stdio) (*windows.ProcessInformation, error) {
	env, err := envblock.Of(p.env)
	if err != nil {
		return nil, err
	}
	program, err := windows.UTF16PtrFromString(p.argv[0])
	if err != nil {
		return nil, err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(p.argv))
	if err != nil {
		return nil, err
	}
	where, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return nil, err
	}
	streams, err := inheritable(stdio.Stdin, stdio.Stdout, stdio.Stderr)
	defer closeHandles(streams)
	if err != nil {
		return nil, err
	}
	list, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return nil, err
	}
	defer list.Delete()
	if err := list.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&streams[0]), uintptr(len(streams))*unsafe.Sizeof(streams[0])); err != nil {
		return nil, fmt.Errorf("list what is inherited: %w", err)
	}
	si := windows.StartupInfoEx{ProcThreadAttributeList: list.List()}
	si.Cb, si.Flags = uint32(unsafe.Sizeof(si)), windows.STARTF_USESTDHANDLES
	si.StdInput, si.StdOutput, si.StdErr = streams[0], streams[1], streams[2]
	var info windows.ProcessInformation
	if err := windows.CreateProcess(program, line, nil, nil, true, creation, &env[0], where, &si.StartupInfo, &info); err != nil {
		return nil, fmt.Errorf("create the process: %w", err)
	}
	return &info, nil
}

// inheritable gives copies of files that a process may inherit. Other programs that
// start meanwhile do not: what Go starts inherits what is listed for it.
func inheritable(files ...*os.File) ([]windows.Handle, error) {
	var copies []windows.Handle
	self := windows.CurrentProcess()
	for _, f := range files {
		var h windows.Handle
		if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
			return copies, fmt.Errorf("copy a stream: %w", err)
		}
		runtime.KeepAlive(f)
		copies = append(copies, h)
	}
	return copies, nil
}

func closeHandles(handles []windows.Handle) {
	for _, h := range handles {
		windows.CloseHandle(h)
	}
}
