//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Where root ran a command with a loopback, the next one finds a network namespace made.
// Nobody has lived in it before, and nobody does after.
func TestALoopbackServesOneCall(t *testing.T) {
	h := ProbeAll()
	if err := h.Level(durward.LevelIsolate); err != nil || h.UID != 0 {
		t.Logf("level 2 as root cannot be had: %v", err)
		return
	}
	h.nets = &netNamespaces{}
	defer h.nets.close()
	r := newTrial(t, h)
	r.confine(durward.LevelIsolate)
	r.request.Grant.Network.Mode = durward.NetLoopback
	r.program(t, "bash", "-c", `grep -q 127.0.0.1 /proc/net/fib_trie && grep lo: /proc/net/dev && echo x > /dev/udp/127.0.0.1/9`)
	for i := range 4 {
		h.nets.making.Wait()
		ready := h.nets.fresh
		if traffic := strings.Fields(r.says(t)); len(traffic) < 2 || traffic[1] != "0" {
			t.Errorf("call %d: its loopback has seen %q", i, traffic)
		}
		if i == 0 {
			continue
		}
		if ready == nil {
			t.Fatalf("call %d found nothing ready", i)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(ready.Fd()), &st); err == nil {
			t.Errorf("call %d is over and its network is still held", i)
		}
	}
}

// A small file of the settings is a copy, and the next call has what it says by then.
func TestSettingsAreWhatTheyAreNow(t *testing.T) {
	const file = "/etc/durward-test-setting"
	if os.Getuid() != 0 {
		t.Log("only root has settings to change")
		return
	}
	h := ProbeAll()
	if err := h.Level(durward.LevelIsolate); err != nil {
		t.Logf("level 2 cannot be had: %v", err)
		return
	}
	h.rooms = &rooms{}
	defer h.rooms.close()
	t.Cleanup(func() { os.Remove(file) })
	r := newTrial(t, h)
	r.confine(durward.LevelIsolate)
	r.request.Grant.Files.Read = append(r.request.Grant.Files.Read, file)
	for _, says := range []string{"one", "two", "two", "two", "three, which is longer"} {
		if err := os.WriteFile(file, []byte(says), 0o644); err != nil {
			t.Fatal(err)
		}
		r.shell(t, "cat "+file+"; (echo x > "+file+") 2>/dev/null && echo changed; stat -c ' %a %u' "+file)
		if got := r.says(t); got != says+" 444 65534\n" {
			t.Errorf("%q, want %q", got, says)
		}
		if on, _ := os.ReadFile(file); string(on) != says {
			t.Fatalf("the machine's says %q", on)
		}
	}
	// Whoever may not read it on the machine may not in the copy.
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	r.shell(t, "cat "+file+" 2>/dev/null; echo $?")
	if got := r.says(t); got != "1\n" {
		t.Errorf("a file for root alone: %q", got)
	}
}
