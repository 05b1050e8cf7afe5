package pathguard

import "golang.org/x/sys/unix"

const handleFlags = unix.O_RDONLY

// isMagic reports false: no link leads where its text does not say.
func isMagic(int) bool { return false }

// straight reports false: there is no way to ask for a path without links.
func (*walk) straight(string) bool { return false }

// remembered reports false: there is no way to ask for what is found without waiting.
func (*walk) remembered(string) bool { return false }
