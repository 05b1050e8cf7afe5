package cli

import "golang.org/x/sys/unix"

const getTermios, setTermios, flushTermios = unix.TIOCGETA, unix.TIOCSETA, unix.TIOCSETAF
