package execclient_test

import (
	"context"
	"log"
	"os"

	"github.com/durward/durward/execclient"
	"github.com/durward/durward/execserver/protocol"
)

// A build runs on another machine, and its log comes from there.
func Example() {
	ctx := context.Background()
	client, err := execclient.Dial(ctx, execclient.RemoteConnectArgs{URL: "ws://127.0.0.1:8765"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	if err := client.Files(nil).WriteFile(ctx, "/work/hello.txt", []byte("hello\n")); err != nil {
		log.Fatal(err)
	}
	process, err := client.Start(ctx, protocol.StartParams{
		Argv: []string{"cat", "hello.txt"},
		Cwd:  "/work",
		Env:  map[string]string{"PATH": "/usr/bin:/bin"},
	})
	if err != nil {
		log.Fatal(err)
	}
	exit, err := process.Copy(ctx, os.Stdout, os.Stderr)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(exit.Code)
}
