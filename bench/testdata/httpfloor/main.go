// Command httpfloor stands where a gateway or a hub stands and hands requests on, and checks
// nothing. It says on standard error where it serves.
//
//	httpfloor proxy URL             to a server, with the reverse proxy of net/http
//	httpfloor pipe PROGRAM…         to an MCP server on its standard input, each as a message
//	httpfloor record FILE PROGRAM…  the same, and writes as much there as a hub does
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
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "httpfloor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	h, err := handler(args)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Serving on http://%s\n", l.Addr())
	return http.Serve(l, h)
}

func handler(args []string) (http.Handler, error) {
	switch {
	case len(args) == 2 && args[0] == "proxy":
		return proxy(args[1])
	case len(args) > 1 && args[0] == "pipe":
		return start(args[1:], "")
	case len(args) > 2 && args[0] == "record":
		return start(args[2:], args[1])
	}
	return nil, fmt.Errorf("what is %q to do?", args)
}

func proxy(to string) (http.Handler, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, // as many as are in flight stay open
	}, nil
}
