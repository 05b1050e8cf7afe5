package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Work in the background is a session like others: who waits hears of its end, and who cancels
// ends it.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan bool)
		s := core.Background(t.Context(), "test", func(ctx context.Context) (durward.Result, error) {
			select {
			case <-goOn:
				return durward.Result{Output: []byte("7")}, nil
			case <-ctx.Done():
				return durward.Result{}, durward.Ended(ctx, "test")
			}
		})
		if page, err := s.Read(t.Context(), 4, 10, time.Second); err != nil || page.Ended || page.Next != 4 {
			t.Errorf("%+v, %v", page, err)
		}
		if _, err := s.Write(t.Context(), []byte("x")); durward.ReasonOf(err) != durward.NotSupported {
			t.Error(err)
		}
		goOn <- true
		if result, err := s.Wait(t.Context()); string(result.Output) != "7" || err != nil {
			t.Errorf("%+v, %v", result, err)
		}
		if page, err := s.Read(t.Context(), 0, 10, time.Hour); err != nil || !page.Ended {
			t.Errorf("%+v, %v", page, err)
		}
	})
	ended := core.Background(t.Context(), "test", func(ctx context.Context) (durward.Result, error) {
		<-ctx.Done()
		return durward.Result{}, durward.Ended(ctx, "test")
	})
	if err := ended.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ended.Wait(t.Context()); durward.ReasonOf(err) != durward.CallCancelled {
		t.Error(err)
	}
	broken := core.Background(t.Context(), "test", func(context.Context) (durward.Result, error) { panic(errors.New("a mistake of ours")) })
	if _, err := broken.Wait(t.Context()); durward.ReasonOf(err) != durward.Defect {
		t.Error(err)
	}
}
