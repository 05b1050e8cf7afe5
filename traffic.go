package durward

// Traffic says where a command with an allowlist of hosts went, and where it was not let.
type Traffic struct {
	// Allowed and Refused list what was asked for, each target once; MoreAllowed and
	// MoreRefused count what was asked for beside what is listed.
	Allowed     []Contact `json:"allowed"`
	Refused     []Contact `json:"refused"`
	MoreAllowed int       `json:"more_allowed,omitempty"`
	MoreRefused int       `json:"more_refused,omitempty"`
	// Connections were made, and OpenMs is how long they were open, added up.
	Connections int   `json:"connections"`
	OpenMs      int64 `json:"open_ms"`
	// SentBytes went to targets and ReceivedBytes came from them.
	SentBytes     int64 `json:"sent_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
}

// A Contact is a target that a command asked for.
type Contact struct {
	// Host is in its canonical form; it is empty, and Port zero, for what was no target.
	Host string `json:"host"`
	Port uint16 `json:"port"`
	// Rule is what refused; empty for what was allowed.
	Rule string `json:"rule,omitempty"`
	// Times is how often it was asked for.
	Times int `json:"times"`
}
