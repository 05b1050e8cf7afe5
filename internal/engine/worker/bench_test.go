package worker

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkCall is a call of a worker that does nothing, beside the same request by a bare
// client of net/http to the same worker.
func BenchmarkCall(b *testing.B) {
	reply := []byte(`{"ok":true,"meta":{"trace_id":"00000000000000000000000000000001"},"output":{"items":[{"url":"https://example.com","n":1}]}}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply)
	}))
	b.Cleanup(server.Close)
	input := `{"url":"https://example.com","max_pages":10,"formats":["markdown"]}`
	e, of := engine(b, Options{}), tool(server.URL)
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = maxIdle
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	b.Cleanup(cancel)
	for _, way := range []struct {
		name string
		call func() error
	}{
		{"engine", func() error { _, err := do(ctx, e, of, call(input)); return err }},
		{"client", func() error { return ask(ctx, server.Client(), server.URL, input) }},
	} {
		b.Run(way.name+"/alone", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, way.call())
			}
		})
		b.Run(way.name+"/32", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					must(b, way.call())
				}
			})
		})
	}
}

func ask(ctx context.Context, client *http.Client, url, input string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/run", bytes.NewReader([]byte(`{"meta":{"trace_id":"00000000000000000000000000000001"},"input":`+input+`}`)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(answer.Body)
	answer.Body.Close()
	return err
}

func BenchmarkEnvelope(b *testing.B) {
	body := []byte(`{"ok":true,"meta":{},"output":{"items":[` + string(bytes.Repeat([]byte(`{"url":"https://example.com/","n":1.25,"ok":true},`), 1000)) + `null]}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readEnvelope(200, body); err != nil {
			b.Fatal(err)
		}
	}
}
