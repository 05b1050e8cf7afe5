package audit

// runAsChild does nothing: the tests that kill and limit processes are for Unix.
func runAsChild() bool { return false }
