package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 256 << 10

// failedStatus is the exit code of a request that -f makes fail.
const failedStatus = 22

// A prepared request has been judged as far as it can be without a lookup.
type prepared struct {
	request
	dialer *netguard.Dialer
	roots  *x509.CertPool
	limit  int64 // bytes that may be printed; negative means any number
}

// Close has nothing to free.
func (p *prepared) Close() error { return nil }

// Run sends the request and takes in the answer.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	if p.maxTime > 0 {
		limited, cancel := context.WithTimeout(ctx, p.maxTime)
		defer cancel()
		ctx = limited
	}
	if ctx.Err() != nil {
		return durward.Result{}, ended(ctx)
	}
	var stdout, stderr bytes.Buffer
	e := &exchange{prepared: p, stdout: &stdout, stderr: &stderr, left: p.limit}
	code, err := e.carryOut(ctx)
	switch {
	case err == nil:
	case durward.ReasonOf(err) == durward.OutputTooLarge:
		return durward.Result{}, err
	case ctx.Err() != nil:
		return durward.Result{Stdout: capture(&stdout), Stderr: capture(&stderr)}, ended(ctx)
	default:
		return durward.Result{}, failed(err)
	}
	return durward.Result{Exit: &code, Stdout: capture(&stdout), Stderr: capture(&stderr)}, nil
}

// failed gives an error of the network its reason, unless it has one.
func failed(err error) error {
	if durward.ReasonOf(err) != "" {
		return err
	}
	return &durward.Error{Reason: durward.ConnectFailed, Op: "curl", Err: err}
}

func capture(text *bytes.Buffer) durward.Capture {
	sum := sha256.Sum256(text.Bytes())
	return durward.Capture{Head: text.Bytes(), Total: int64(text.Len()), SHA256: hex.EncodeToString(sum[:])}
}

// An exchange is one request and its answer, over a connection of its own.
type exchange struct {
	*prepared
	stdout, stderr *bytes.Buffer
	left           int64 // of limit, for both streams together
}

// carryOut gives the exit code.
func (e *exchange) carryOut(ctx context.Context) (int, error) {
	conn, err := e.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	message, err := http.NewRequestWithContext(ctx, e.method, e.url.String(), e.reader())
	if err != nil {
		return 0, err
	}
	message.Header = e.header
	answer, err := over(conn).RoundTrip(message)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return e.print(answer)
}

// reader gives the body; nil is none, which is not the same as an empty one.
func (e *exchange) reader() io.Reader {
	if e.data == nil {
		return nil
	}
	return strings.NewReader(e.body())
}

// connect dials an address that was judged, and keeps the name for the certificate.
func (e *exchange) connect(ctx context.Context) (net.Conn, error) {
	conn, err := e.dialer.DialContext(ctx, "tcp", e.target.String())
	if err != nil || e.url.Scheme != "https" {
		return conn, err
	}
	return netguard.Secure(ctx, conn, e.target.Host, e.roots)
}

// over gives a way to send one request over a connection and no other one.
func over(conn net.Conn) *http.Transport {
	once := make(chan net.Conn, 1)
	once <- conn
	dial := func(context.Context, string, string) (net.Conn, error) {
		select {
		case c := <-once:
			return c, nil
		default:
			return nil, errors.New("the connection broke")
		}
	}
	return &http.Transport{
		DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// print writes what was asked for of an answer.
func (e *exchange) print(answer *http.Response) (int, error) {
	if e.include {
		if err := e.printHeader(answer); err != nil {
			return 0, err
		}
	}
	if e.fail && answer.StatusCode >= 400 {
		return failedStatus, e.complain(answer.StatusCode)
	}
	_, err := io.Copy(writer{e, e.stdout}, answer.Body)
	return 0, err
}

// printHeader writes the status and the headers, these sorted by their names.
func (e *exchange) printHeader(answer *http.Response) error {
	out := writer{e, e.stdout}
	if _, err := fmt.Fprintf(out, "%s %s\r\n", answer.Proto, answer.Status); err != nil {
		return err
	}
	if err := answer.Header.Write(out); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\r\n")
	return err
}

func (e *exchange) complain(status int) error {
	if e.silent && !e.showError {
		return nil
	}
	_, err := fmt.Fprintf(writer{e, e.stderr}, "curl: (%d) The requested URL returned error: %d\n", failedStatus, status)
	return err
}

// A writer is one of the two streams, which share what may be printed.
type writer struct {
	*exchange
	into *bytes.Buffer
}

func (w writer) Write(p []byte) (int, error) {
	if w.limit >= 0 {
		if w.left -= int64(len(p)); w.left < 0 {
			return 0, &durward.Error{
				Reason: durward.OutputTooLarge, Op: "curl", Rule: "limits.output", Hint: "ask for less at once",
				Err: fmt.Errorf("the answer is larger than %d bytes", w.limit),
			}
		}
	}
	return w.into.Write(p)
}
