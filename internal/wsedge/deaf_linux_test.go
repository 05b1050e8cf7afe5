package wsedge_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/wsedge"
)

// TestPeersThatCannotBeReached are missed, though messages are on their way to them: the
// network between goes down while one is read.
func TestPeersThatCannotBeReached(t *testing.T) {
	const inside = "WSEDGE_NETWORK"
	if os.Getenv(inside) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), inside+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := again.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			t.Skip("no network of its own can be had:", err)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for name, message := range map[string][]byte{"few": []byte("{}"), "many": big} {
		t.Run(name, func(t *testing.T) {
			loopback(t, true)
			ended, down := make(chan error, 1), make(chan struct{})
			c := open(t, start(t, wsedge.Options{PingEvery: often}, func(ctx context.Context, c wsedge.Conn) {
				var writing sync.WaitGroup
				writing.Go(func() {
					<-down
					_ = c.Write(ctx, message)
				})
				_, err := c.Read(ctx)
				ended <- err
				writing.Wait()
			}))
			c.pinged()
			loopback(t, false)
			close(down)
			select {
			case err := <-ended:
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("the peer is waited for")
			}
		})
	}
}

// loopback turns the only network there is on or off.
func loopback(t *testing.T, on bool) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	noError(t, err)
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	noError(t, err)
	if on {
		request.SetUint16(unix.IFF_UP)
	}
	noError(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request))
}
