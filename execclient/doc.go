// Package execclient runs commands and works with files on a machine where an exec
// server listens.
//
//	client, err := execclient.Dial(ctx, execclient.RemoteConnectArgs{URL: "ws://127.0.0.1:8765"})
//	…
//	process, err := client.Start(ctx, protocol.StartParams{Argv: []string{"make"}, Cwd: "/work", Env: env})
//	…
//	exit, err := process.Copy(ctx, os.Stdout, os.Stderr)
//
// A lost connection is made anew, and the session goes on where it was: processes run
// on, their output comes exactly once and in order, and a write to a process is
// delivered once. Nothing is lost on a server that has the capability durwardFlow, as
// a child waits there for output to be taken. Others keep the newest 1 MiB of each
// process; what they dropped is reported by a [*GapError] in its place.
//
// Calls that only look are made again on the new connection, and so are those that the
// server knows by an id. Of others it cannot be known whether they were carried out;
// they end with [ErrInterrupted]. A message of more than 64 MiB is not read: what can be
// larger, files and bodies of responses, can be had in pieces.
//
// A [Client], its processes and its files may be used from several goroutines at once; a
// reader or a writer of one file or body is for one. No call waits for another one's reader: output that nobody takes is held up to a
// bound, and then left with the server.
package execclient
