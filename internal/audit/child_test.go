package audit

func runAsChild() bool { return false }
