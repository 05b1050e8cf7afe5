package durward

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

func TestDetail(t *testing.T) {
	second := 1
	for _, test := range []struct {
		detail Detail
		want   string
	}{
		{Detail{}, ""},
		{Detail{ArgIndex: &second}, "argument 1"},
		{Detail{Limit: 256, Actual: 300}, "the limit is 256, there are 300"},
		{Detail{ArgIndex: &second, Limit: 2, Err: errors.New("it is too long")}, "it is too long"},
	} {
		if got := test.detail.Error(); got != test.want {
			t.Errorf("%+v is %q, want %q", test.detail, got, test.want)
		}
	}
}

// A detail is found however deep it stands, and none is the zero value.
func TestDetailOf(t *testing.T) {
	inner := errors.New("x")
	err := fmt.Errorf("call: %w", &Error{Reason: TooManyArgs, Err: Detail{Limit: 256, Err: inner}})
	if d := DetailOf(err); d.Limit != 256 || !errors.Is(err, inner) {
		t.Errorf("found %+v", d)
	}
	for _, err := range []error{nil, inner, &Error{Reason: TooManyArgs}} {
		if d := DetailOf(err); !reflect.DeepEqual(d, Detail{}) {
			t.Errorf("%v has the detail %+v", err, d)
		}
	}
}

// What policy counts is not lost when its denial becomes an error.
func TestDenialsKeepTheirDetail(t *testing.T) {
	first := 0
	err := Decision{Code: TooManyArgs, Reason: "the first is refused", Detail: Detail{ArgIndex: &first}}.Err("decide")
	if d := DetailOf(err); d.ArgIndex != &first || err.Error() != "decide: the first is refused" {
		t.Errorf("%v has the detail %+v", err, d)
	}
}
