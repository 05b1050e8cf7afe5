package site

import (
	"net/http"

	doorsite "github.com/durward/durward/internal/door/site"
)

// WriteError answers a request with an error as a site does, for what stands around its
// handler: a server that ends, middleware.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	doorsite.WriteError(w, r, inward(err))
}
