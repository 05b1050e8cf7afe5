package cli

import "golang.org/x/sys/unix"

const getTermios, setTermios, flushTermios = unix.TCGETS, unix.TCSETS, unix.TCSETSF
