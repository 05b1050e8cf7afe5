// Package httpedge is the edge between a network and an HTTP door.
//
// A [Server] owns the connections: how many there are, how long each may take, what a
// client that goes away means, and how all of it ends. A [Guard] judges each request
// before the door sees it: its method, the Host and Origin it names, its credential.
// A door asks for the rest, in the order its contract has: [NeedJSON], [ReadBody],
// [DecodePath].
//
//	l, err := httpedge.Listen(ctx, httpedge.Address{Host: "127.0.0.1", Port: 8000})
//	guard, err := httpedge.NewGuard(httpedge.Rules{Methods: []string{"GET", "HEAD", "POST"}})
//	server := httpedge.New(guard.Wrap(door), httpedge.Options{})
//	fmt.Fprintln(os.Stderr, httpedge.StartLine(l.Addr()))
//	err = server.Serve(ctx, l)
//
// Nothing here routes: net/http's ServeMux answers "//x" with a redirect and cannot
// hold "{id}:run".
package httpedge
