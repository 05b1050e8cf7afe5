package main

import (
	"testing"
	"time"
)

// A stream whose output nobody takes still ends when its time is up.
func TestAStreamThatNobodyReadsEndsInTime(t *testing.T) {
	cmd := program(t, "exec", "--stream", "--timeout", "300ms", "--", "yes")
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = cmd.Process.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatal("it waits for a reader")
	}
}
