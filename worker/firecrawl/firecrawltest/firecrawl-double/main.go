// Command firecrawl-double is the API of package firecrawltest as a program, for tests in
// containers. GET /requests lists what it has received so far, with all credentials.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

func main() {
	api := &firecrawltest.API{}
	listen := flag.String("listen", "127.0.0.1:3002", "listen at `ADDRESS:PORT`")
	flag.StringVar(&api.Key, "key", "", "take this `KEY` only")
	flag.BoolVar(&api.Simple, "simple", false, "take maxPages, and crawl at once")
	flag.IntVar(&api.Looks, "looks", 2, "let a crawl run for `N` looks")
	flag.IntVar(&api.PageSize, "page-size", 2, "give `N` documents at once")
	flag.StringVar(&api.NextHost, "next-host", "", "make links to further documents with `HOST`")
	flag.Parse()
	if err := serve(*listen, api); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(at string, api *firecrawltest.API) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Serving on http://%s\n", l.Addr())
	server := http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/requests" {
			api.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.Requests())
	})}
	return server.Serve(l)
}
