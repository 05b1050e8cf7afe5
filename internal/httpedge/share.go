package httpedge

import (
	"net/http"
	"slices"
	"strings"
)

// A browser lets a page of another origin see an answer only if the answer says so, and
// before a request that is not a plain one it asks (fetch.spec.whatwg.org, CORS
// protocol). Of the origins that were listed each is told so; of all others, and where
// none is listed, no answer says anything.

// shared are the headers of a request that a page of a listed origin may set.
const shared = "Content-Type, Authorization, X-Request-Id, Traceparent"

// share marks an answer as one that the page which asks for it may see. The request has
// passed checkSite.
func (g *Guard) share(w http.ResponseWriter, r *http.Request) {
	if len(g.origins) == 0 {
		return
	}
	w.Header().Add("Vary", "Origin")
	if g.listed(r) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	}
}

// listed reports whether a request comes from a listed origin.
func (g *Guard) listed(r *http.Request) bool {
	from := r.Header.Values("Origin")
	if len(from) != 1 {
		return false
	}
	o, ok := parseOrigin(from[0])
	return ok && slices.Contains(g.origins, o)
}

// asksFirst reports whether a request is the question that a browser asks before the one
// that it means (a preflight), for a page of a listed origin.
func (g *Guard) asksFirst(r *http.Request) bool {
	return r.Method == http.MethodOptions && len(g.origins) > 0 && len(r.Header.Values("Access-Control-Request-Method")) == 1 && g.listed(r)
}

// answerFirst says what such a page may ask for. No credential comes with the question;
// the request itself is judged like any other.
func (g *Guard) answerFirst(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", strings.Join(g.rules.Methods, ", "))
	h.Set("Access-Control-Allow-Headers", shared)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
