// Command proxyfloor passes what it is asked on to a server, with the reverse proxy of net/http
// and nothing else: no checks, no records.
//
//	proxyfloor http://127.0.0.1:8080
package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "proxyfloor:", err)
		os.Exit(1)
	}
}

func serve(to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Serving on http://%s\n", l.Addr())
	return http.Serve(l, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, // as many as are in flight stay open
	})
}
