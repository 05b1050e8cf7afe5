package worker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/durward/durward/worker"
)

// A whole worker: what it does, and where it listens.
func Example() {
	shout := func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (any, error) {
		if in.Text == "" {
			return nil, &worker.Error{Code: worker.ValidationError, Message: "there is no text"}
		}
		return map[string]string{"text": strings.ToUpper(in.Text)}, nil
	}

	ctx, stop := context.WithCancel(context.Background())
	started, ended := make(chan string), make(chan error)
	go func() {
		ended <- worker.Run(ctx, worker.Typed(shout), worker.Options{
			Listen: "127.0.0.1:0", Started: func(url string) { started <- url },
		})
	}()

	url := <-started
	res, err := http.Post(url+"/run", "application/json", strings.NewReader(`{"meta": {"tool_run_id": "1"}, "input": {"text": "knock"}}`))
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(strings.Contains(string(body), `"output":{"text":"KNOCK"}`))

	stop()
	fmt.Println(<-ended)
	// Output:
	// true
	// <nil>
}
