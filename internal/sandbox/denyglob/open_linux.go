package denyglob

import "golang.org/x/sys/unix"

// passFlags open a directory as a place to go on from; it need not be readable.
const passFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// maxPathBytes is the longest path that a call of the kernel can name.
const maxPathBytes = unix.PathMax - 1
