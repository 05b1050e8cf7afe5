package protocol

// HTTPRequestParams are those of [HTTPRequest].
type HTTPRequestParams struct {
	RequestID      string         `json:"requestId"`
	Method         string         `json:"method"`
	URL            string         `json:"url"`
	Headers        []HTTPHeader   `json:"headers,omitempty"`
	BodyBase64     Base64         `json:"bodyBase64,omitempty"`
	TimeoutMs      *uint64        `json:"timeoutMs,omitempty"`      // absent means none
	RedirectPolicy RedirectPolicy `json:"redirectPolicy,omitempty"` // absent means RedirectFollow
	StreamResponse bool           `json:"streamResponse,omitempty"`
}

// An HTTPHeader is one line of a head.
type HTTPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A RedirectPolicy says what becomes of a redirect.
type RedirectPolicy string

// What becomes of a redirect.
const (
	RedirectFollow RedirectPolicy = "follow"
	RedirectStop   RedirectPolicy = "stop" // it is the answer
)

func (p RedirectPolicy) check() error { return oneOf(p, RedirectFollow, RedirectStop) }

// HTTPRequestResult is that of [HTTPRequest]. The body of a streamed answer is empty
// here, and comes by [HTTPBodyDelta].
type HTTPRequestResult struct {
	Status     uint16       `json:"status"`
	Headers    []HTTPHeader `json:"headers"` // in their order, repeats kept
	BodyBase64 Base64       `json:"bodyBase64"`
}

// HTTPBodyDeltaParams are those of the notification [HTTPBodyDelta].
type HTTPBodyDeltaParams struct {
	RequestID   string  `json:"requestId"`
	Seq         uint64  `json:"seq"` // from 1
	DeltaBase64 Base64  `json:"deltaBase64"`
	Done        bool    `json:"done"`
	Error       *string `json:"error"` // why the body was cut short
}
