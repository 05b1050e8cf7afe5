//go:build linux || darwin

package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// terminalSize gives the size of the terminal that a stream is.
func terminalSize(stream any) (durward.WindowSize, bool) {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return durward.WindowSize{}, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row == 0 || size.Col == 0 {
		return durward.WindowSize{}, false
	}
	return durward.WindowSize{Rows: size.Row, Cols: size.Col}, true
}

// makeRaw has a terminal give every key at once and obey none of them. restore puts
// it back as it was; a second call does nothing.
func makeRaw(stream any) (restore func(), err error) {
	fd := int(stream.(*os.File).Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, os.NewSyscallError("read terminal", err)
	}
	raw := *was
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, os.NewSyscallError("set terminal", err)
	}
	return sync.OnceFunc(func() {
		_ = unix.IoctlSetTermios(fd, setTermios, was) // the terminal may be gone
	}), nil
}

// forgetTyped throws away what was typed and not read yet.
func forgetTyped(stream any) {
	fd := int(stream.(*os.File).Fd())
	if is, err := unix.IoctlGetTermios(fd, getTermios); err == nil {
		_ = unix.IoctlSetTermios(fd, flushTermios, is) // the terminal may be gone
	}
}

// followSize gives the command's terminal the size of ours until stop is called.
func (x *execution) followSize(session durward.Session) (stop func()) {
	if x.call.Terminal == nil {
		return func() {}
	}
	changed, quit, gone := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	changed <- syscall.SIGWINCH // it may have changed before we listened
	go func() {
		defer close(gone)
		for {
			select {
			case <-changed:
				if size, ok := terminalSize(x.stdout.to); ok {
					_ = session.Resize(size) // the command may be gone
				}
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(changed)
		close(quit)
		<-gone
	})
}
