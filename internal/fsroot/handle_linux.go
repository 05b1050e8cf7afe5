package fsroot

import (
	"os"
	"strconv"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// find looks a file up without opening it. plain is set when no link was followed on
// the way.
func (kernel) find(root int, name string, l links) (fd int, plain bool, err error) {
	fd, err = openat2(root, name, unix.O_PATH|unix.O_CLOEXEC, refused)
	if err == nil {
		return fd, true, nil
	}
	if err == unix.ELOOP && l == followed {
		fd, err = openat2(root, name, unix.O_PATH|unix.O_CLOEXEC, followed)
	}
	if err == unix.EXDEV {
		err = refusal(durward.OutsideRoot)
	}
	return fd, false, err
}

// openFound opens the file behind a descriptor that can do nothing else.
func openFound(fd int) (int, error) {
	return openat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), readFlags)
}

// findFile looks a file up with the kernel's help, and else by opening it.
func (r *Root) findFile(name string, rules Rules) (*Handle, error) {
	k, ok := r.by.(kernel)
	if !ok {
		return r.openHandle(name, rules)
	}
	plain := false
	fd, err := r.lead(name, links(rules.NoLinks), func(root int, name string, l links) (int, error) {
		fd, p, err := k.find(root, name, l)
		plain = p
		return fd, err
	})
	switch err {
	case unix.ENOSYS, unix.EPERM, unix.EAGAIN, unix.ELOOP, unix.ENAMETOOLONG:
		return r.openHandle(name, rules) // only a walk can tell
	}
	if err != nil {
		return nil, err
	}
	info, err := r.judgeFound(fd, rules)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Handle{Info: info, Plain: plain, root: r, name: name, rules: rules, fd: fd}, nil
}

// reopen opens the very file that was found.
func (h *Handle) reopen() (*os.File, error) {
	fd, err := openFound(h.fd)
	if err == unix.ENOENT { // there is no /proc
		return h.openAgain()
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), h.name), nil
}

func (h *Handle) closeFound() { unix.Close(h.fd) }

func (h *Handle) physicalPath() (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(h.fd))
}
