//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// wayOut gives what goes by the proxy that the environment names, or would like to.
func wayOut() map[string]attempt {
	return map[string]attempt{
		// via HOW HOST:PORT gives what the target answers.
		"via": func(a []string) (string, error) { return ask(a[0], a[1]) },
		// every HOST:PORT tries each way, all HOW HOST:PORT… each target. There is a line
		// for what became of each.
		"every": func(a []string) (string, error) {
			var lines []string
			for _, how := range []string{"connect", "absolute", "socks-name", "plain"} {
				lines = append(lines, outcome(how, a[0]))
			}
			return strings.Join(lines, "\n"), nil
		},
		"all": func(a []string) (string, error) {
			var lines []string
			for _, target := range a[1:] {
				lines = append(lines, outcome(a[0], target))
			}
			return strings.Join(lines, "\n"), nil
		},
		// follow URL asks the proxy for a URL, and again wherever the answer sends it.
		"follow": func(a []string) (string, error) { return follow(a[0]) },
		"lookup": func(a []string) (string, error) {
			found, err := net.LookupHost(a[0])
			return strings.Join(found, " "), plainly(err)
		},
		// repeat COUNT HOW HOST:PORT gives how often it ended how. A "%" in the host is
		// the number of the try.
		"repeat": func(a []string) (string, error) { return repeat(number(a[0]), a[1], a[2]) },
		// crowd COUNT HOST:PORT has that many tunnels open at once.
		"crowd": func(a []string) (string, error) { return crowd(number(a[0]), a[1]) },
		// stall COUNT HOST:PORT has so many clients of the proxy stop in the middle of a
		// word, and then asks for something.
		"stall": func(a []string) (string, error) { return stall(number(a[0]), a[1]) },
		// outlive HOW HOST:PORT leaves a process behind with a connection.
		"outlive": func(a []string) (string, error) { return "", outlive(a[0], a[1]) },
		"connected": func(a []string) (string, error) {
			signal.Ignore(syscall.SIGTERM)
			c, err := open(a[0], a[1])
			if err == nil {
				_, err = c.greet() // a plain connection is there before anybody has taken it
			}
			if err != nil {
				return "", err
			}
			fmt.Println("ready")
			select {}
		},
		// deaf HOST:PORT asks for more than it ever reads.
		"deaf": func(a []string) (string, error) {
			c, err := open("connect", a[0])
			if err != nil {
				return "", err
			}
			if _, err := fmt.Fprintln(c, "fill"); err != nil {
				return "", err
			}
			time.Sleep(time.Hour)
			return "", nil
		},
		// serve ADDRESS NAME listens at both, says so, and waits for the end of its input
		// or for somebody to come.
		"serve": func(a []string) (string, error) { return "", serve(a[0], a[1]) },
	}
}

// proxy connects to the one that the environment names.
func proxy() (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://"))
}

// A talk is a connection with what has been read ahead.
type talk struct {
	net.Conn
	in *bufio.Reader
}

// open connects to a target: by "plain", or a way that the proxy has for that.
func open(how, target string) (talk, error) {
	var conn net.Conn
	var err error
	if how == "plain" {
		conn, err = net.Dial("tcp", target)
		return talk{conn, bufio.NewReader(conn)}, plainly(err)
	}
	if conn, err = proxy(); err != nil {
		return talk{}, err
	}
	c := talk{conn, bufio.NewReader(conn)}
	switch how {
	case "connect":
		err = c.tunnel(target)
	case "socks-name", "socks-v4", "socks-v6":
		err = c.socks(how, target)
	default:
		err = errors.New("no such way")
	}
	if err != nil {
		conn.Close()
	}
	return c, err
}

// ask gives what a target says of itself.
func ask(how, target string) (string, error) {
	if how == "absolute" {
		code, text, err := fetch("http://" + target)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("HTTP %d", code)
		}
		return text, err
	}
	c, err := open(how, target)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.greet()
}

// greet gives what the target answers.
func (c talk) greet() (string, error) {
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		return "", err
	}
	text, err := c.in.ReadString('\n')
	return strings.TrimSpace(text), err
}

// outcome gives what was got, or the error.
func outcome(how, target string) string {
	got, err := ask(how, target)
	if err != nil {
		return nameOf(err)
	}
	return got
}

func (c talk) tunnel(target string) error {
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	return refusal(answer)
}

// refusal gives the words of a proxy that refused.
func refusal(r *http.Response) error {
	if why, ok := strings.CutPrefix(r.Header.Get("Proxy-Status"), "durward; error="); ok {
		return fmt.Errorf("HTTP %d %s", r.StatusCode, why)
	}
	return nil
}

func (c talk) socks(how, target string) error {
	colon := strings.LastIndexByte(target, ':')
	n, err := strconv.ParseUint(target[colon+1:], 10, 16)
	if err != nil {
		return err
	}
	host := target[:colon]
	if strings.Contains(host, ":") {
		host = strings.Trim(host, "[]")
	}
	request := []byte{5, 1, 0, 5, 1, 0}
	addr, _ := netip.ParseAddr(host)
	switch {
	case how == "socks-name":
		request = append(append(request, 3, byte(len(host))), host...)
	case how == "socks-v4" && addr.Is4():
		request = append(append(request, 1), addr.AsSlice()...)
	case how == "socks-v6" && addr.IsValid():
		full := addr.As16()
		request = append(append(request, 4), full[:]...)
	default:
		return errors.New("no address for that")
	}
	if _, err := c.Write(binary.BigEndian.AppendUint16(request, uint16(n))); err != nil {
		return err
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(c.in, answer); err != nil {
		return err
	}
	if code := answer[3]; code != 0 {
		return fmt.Errorf("SOCKS %d", code)
	}
	return nil
}

// fetch asks the proxy for a URL. The text is the body, or where it sends one.
func fetch(url string) (code int, text string, err error) {
	conn, err := proxy()
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	host := strings.TrimPrefix(url, "http://")
	host, _, _ = strings.Cut(host, "/")
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", url, host); err != nil {
		return 0, "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", err
	}
	if err := refusal(answer); err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(answer.Body)
	if to := answer.Header.Get("Location"); to != "" {
		body = []byte(to)
	}
	return answer.StatusCode, string(body), err
}

func follow(url string) (string, error) {
	steps := ""
	for {
		code, text, err := fetch(url)
		if err != nil {
			return steps, err
		}
		steps += fmt.Sprintf("%d %s; ", code, text)
		if code/100 != 3 {
			return steps, nil
		}
		url = text
	}
}

// plainly gives an error of a lookup a name.
func plainly(err error) error {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return errors.New("no such name")
	}
	return err
}

func repeat(count int, how, target string) (string, error) {
	ends := map[string]int{}
	for i := range count {
		ends[outcome(how, strings.ReplaceAll(target, "%", strconv.Itoa(i)))]++
	}
	return counted(ends), nil
}

func counted(ends map[string]int) string {
	var list []string
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		list = append(list, fmt.Sprintf("%d x %s", ends[end], end))
	}
	return strings.Join(list, ", ")
}

func crowd(count int, target string) (string, error) {
	results := make([]string, count)
	var there, gone sync.WaitGroup
	leave := make(chan struct{})
	for i := range results {
		there.Add(1)
		gone.Go(func() {
			c, err := open("connect", target)
			results[i] = nameOf(err)
			there.Done()
			<-leave
			if err == nil {
				c.Close()
			}
		})
	}
	there.Wait()
	close(leave)
	gone.Wait()
	ends := map[string]int{}
	for _, r := range results {
		if r == "" {
			r = "open"
		}
		ends[r]++
	}
	return counted(ends), nil
}

func stall(count int, target string) (string, error) {
	words := []string{"", "C", "CONNECT " + target + " HTTP/1.1\r\n", "GET http://" + target + "/ HTTP/1.1\r\nHost: ", "\x05", "\x05\x01\x00\x05\x01\x00\x03\x09api"}
	for i := range count {
		conn, err := proxy()
		if err != nil {
			return "", err
		}
		if _, err := io.WriteString(conn, words[i%len(words)]); err != nil {
			return "", err
		}
	}
	return ask("connect", target)
}

func outlive(how, target string) error {
	c := exec.Command("/proc/self/exe", "connected", how, target)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && said != "ready\n" {
		err = errors.New(said)
	}
	return err
}

func serve(address, name string) error {
	here := make(chan error)
	for network, at := range map[string]string{"tcp": address, "unix": name} {
		l, err := net.Listen(network, at)
		if network == "unix" && errors.Is(err, syscall.EPERM) {
			continue // on this kernel nobody inside may have one
		}
		if err != nil {
			return err
		}
		go func() {
			_, err := l.Accept()
			here <- errors.Join(errors.New("somebody has come to "+at), err)
		}()
	}
	fmt.Println("ready")
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		here <- err
	}()
	return <-here
}
