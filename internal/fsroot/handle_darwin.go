package fsroot

import "os"

// findFile opens: there is no way to hold a file unopened.
func (r *Root) findFile(name string, rules Rules) (*Handle, error) { return r.openHandle(name, rules) }

func (h *Handle) reopen() (*os.File, error) { return h.openAgain() }

func (h *Handle) closeFound() {}

func (h *Handle) physicalPath() (string, error) { return PhysicalPath(h.file) }
