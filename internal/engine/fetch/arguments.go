package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"golang.org/x/net/http/httpguts"
)

// A request is what the arguments ask for.
type request struct {
	method string
	url    *url.URL // the host in its canonical form
	target netguard.Target
	header http.Header
	data   []string // of each -d and --data-raw; nil is no body
	// maxTime bounds the whole request. Zero means no bound but the call's.
	maxTime time.Duration

	include, fail, silent, showError bool
}

const usage = "curl [-X METHOD] [-H 'Name: value'] [-d DATA] [-f] [-i] [-s] [-S] [--max-time SECONDS] URL"

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// isOurs tells whether a header says how a message travels, which is not the caller's to say.
func isOurs(name string) bool {
	return name == "Host" || name == "Content-Length" || netguard.ForOneHop(name)
}

// parseArguments reads the arguments of one call, argv[0] being the name of the command.
func parseArguments(argv []string) (request, error) {
	a := &arguments{request: request{header: http.Header{}}, rest: argv[min(1, len(argv)):]}
	for len(a.rest) > 0 {
		word := a.rest[0]
		a.rest = a.rest[1:]
		if err := a.take(word); err != nil {
			return request{}, err
		}
	}
	if len(a.operands) != 1 {
		return request{}, badCall(fmt.Errorf("one URL is needed, and %d are there", len(a.operands)))
	}
	var err error
	if a.url, a.target, err = parseURL(a.operands[0]); err != nil {
		return request{}, err
	}
	a.complete()
	return a.request, nil
}

// Arguments are words on their way to a request.
type arguments struct {
	request
	rest     []string // words still to be read
	operands []string
}

func (a *arguments) take(word string) error {
	switch word {
	case "-X", "--request":
		return a.value(word, a.setMethod)
	case "-H":
		return a.value(word, a.addHeader)
	case "-d":
		return a.value(word, a.addData)
	case "--data-raw":
		return a.value(word, a.addRaw)
	case "--max-time":
		return a.value(word, a.setMaxTime)
	}
	if strings.HasPrefix(word, "-") {
		return a.switches(word)
	}
	a.operands = append(a.operands, word)
	return nil
}

// value gives the word that follows a flag to set.
func (a *arguments) value(flag string, set func(value string) error) error {
	if len(a.rest) == 0 {
		return badCall(fmt.Errorf("%s needs a value", flag))
	}
	value := a.rest[0]
	a.rest = a.rest[1:]
	if err := set(value); err != nil {
		return badCall(fmt.Errorf("%s: %w", flag, err))
	}
	return nil
}

// switches reads flags without a value, one or several in a word.
func (a *arguments) switches(word string) error {
	for _, c := range word[1:] {
		switch c {
		case 's':
			a.silent = true
		case 'S':
			a.showError = true
		case 'f':
			a.fail = true
		case 'i':
			a.include = true
		default:
			return badCall(fmt.Errorf("unknown flag %q", word))
		}
	}
	if word == "-" {
		return badCall(errors.New(`"-" is no URL`))
	}
	return nil
}

func (a *arguments) setMethod(value string) error {
	method := strings.ToUpper(value)
	switch {
	case a.method != "":
		return errors.New("there are two methods")
	case !slices.Contains(methods, method):
		return fmt.Errorf("the method is not one of %s", strings.Join(methods, ", "))
	}
	a.method = method
	return nil
}

func (a *arguments) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	value = textproto.TrimString(value)
	if !ok || value == "" || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("write 'Name: value'")
	}
	name = http.CanonicalHeaderKey(name)
	if isOurs(name) {
		return fmt.Errorf("%s may not be set", name)
	}
	a.header.Add(name, value)
	return nil
}

func (a *arguments) addData(data string) error {
	if strings.HasPrefix(data, "@") {
		return errors.New("files are not read; --data-raw sends the character @ itself")
	}
	return a.addRaw(data)
}

func (a *arguments) addRaw(data string) error {
	a.data = append(a.data, data)
	return nil
}

func (a *arguments) setMaxTime(value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	switch {
	case a.maxTime != 0:
		return errors.New("there are two times")
	case err != nil || strings.Trim(value, "0123456789.") != "" || seconds <= 0:
		return errors.New("write a number of seconds greater than 0")
	}
	a.maxTime = max(1, time.Duration(min(seconds, 1e9)*float64(time.Second)))
	return nil
}

// complete adds what the arguments leave open.
func (a *arguments) complete() {
	if a.method == "" {
		a.method = http.MethodGet
		if a.data != nil {
			a.method = http.MethodPost
		}
	}
	a.fallback("Accept", "*/*")
	a.fallback("User-Agent", "durward")
	if a.data != nil {
		a.fallback("Content-Type", "application/x-www-form-urlencoded")
	}
}

func (a *arguments) fallback(name, value string) {
	if a.header.Get(name) == "" {
		a.header.Set(name, value)
	}
}

// body gives the data as it is sent.
func (r request) body() string { return strings.Join(r.data, "&") }

func badCall(err error) error {
	return &durward.Error{Reason: durward.BadCall, Op: "curl", Hint: usage, Err: err}
}
