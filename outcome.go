package durward

// An Outcome is how a call ended. Every call ends once, in exactly one of these.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool_error"
	OutcomeDenied    Outcome = "denied"
	OutcomeTimeout   Outcome = "timeout"
	OutcomeCancelled Outcome = "cancelled"
	// OutcomeUnknown: the runtime died while the call was in flight. It is never
	// retried by itself.
	OutcomeUnknown Outcome = "unknown"
)

// OutcomeOf tells how a call that gave this result and error ended. An error that is
// neither a denial, a timeout nor a cancellation counts as a tool error; its reason
// says more.
func OutcomeOf(r Result, err error) Outcome {
	switch KindOf(err) {
	case 0:
	case Denied:
		return OutcomeDenied
	case Timeout:
		return OutcomeTimeout
	case Cancelled:
		return OutcomeCancelled
	default:
		return OutcomeToolError
	}
	if r.Failed || r.ExitStatus() != 0 {
		return OutcomeToolError
	}
	return OutcomeOK
}
