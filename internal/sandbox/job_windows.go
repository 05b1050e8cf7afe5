package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/durward/durward"
)

// newJob makes a job object with limits. Its processes die with the last handle of it,
// which nobody inherits: with us, at the latest. None may break away.
func newJob(l durward.Limits) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("make a job object: %w", err)
	}
	bounds := jobLimits(l)
	ui := windows.JOBOBJECT_BASIC_UI_RESTRICTIONS{UIRestrictionsClass: uiLimits}
	err = setJob(job, windows.JobObjectExtendedLimitInformation, unsafe.Pointer(&bounds), unsafe.Sizeof(bounds))
	if err == nil {
		err = setJob(job, windows.JobObjectBasicUIRestrictions, unsafe.Pointer(&ui), unsafe.Sizeof(ui))
	}
	if err != nil {
		windows.CloseHandle(job)
		return 0, fmt.Errorf("limit the job object: %w", err)
	}
	return job, nil
}

// setJob passes a structure to the kernel, which must not move meanwhile.
func setJob(job windows.Handle, class uint32, p unsafe.Pointer, size uintptr) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(p)
	_, err := windows.SetInformationJobObject(job, class, uintptr(p), uint32(size))
	return err
}

// A jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION. Times are in units of 100 ns.
type jobAccounting struct {
	userTime, kernelTime             int64
	periodUserTime, periodKernelTime int64
	pageFaults, processes            uint32
	active, terminated               uint32
}

// accountingOf asks what a job has used; zero where that cannot be told.
func accountingOf(job windows.Handle) jobAccounting {
	var pin runtime.Pinner
	defer pin.Unpin()
	a := new(jobAccounting)
	pin.Pin(a)
	_ = windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(a)), uint32(unsafe.Sizeof(*a)), nil)
	return *a
}

// uiLimits keep a command from the desktop, the clipboard and the windows of others.
const uiLimits = windows.JOB_OBJECT_UILIMIT_DESKTOP | windows.JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
	windows.JOB_OBJECT_UILIMIT_EXITWINDOWS | windows.JOB_OBJECT_UILIMIT_GLOBALATOMS | windows.JOB_OBJECT_UILIMIT_HANDLES |
	windows.JOB_OBJECT_UILIMIT_READCLIPBOARD | windows.JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS | windows.JOB_OBJECT_UILIMIT_WRITECLIPBOARD

// jobLimits are the limits of a call as a job has them. That of processor time counts
// what is spent in user mode only; the runtime looks at all of it.
func jobLimits(l durward.Limits) windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
	var j windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	b := &j.BasicLimitInformation
	b.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if l.Pids > 0 {
		b.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		b.ActiveProcessLimit = uint32(min(l.Pids, 1<<31-1))
	}
	if l.CPU > 0 {
		b.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_TIME
		b.PerJobUserTimeLimit = max(l.CPU.Nanoseconds()/100, 1)
	}
	if l.Memory > 0 {
		b.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		j.JobMemoryLimit = uintptr(min(uint64(l.Memory), uint64(^uintptr(0))))
	}
	return j
}
