package mcpclient

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/hubconfig"
)

// secretsOf are those that a server is given, or could tell of otherwise: in its arguments, its
// environment, its URL and its headers, and in the environment that it may inherit.
func secretsOf(config hubconfig.Server, environ map[string]string) credential.Secrets {
	given, before := map[string]string{}, ""
	for i, arg := range config.Args {
		if _, secret, ok := credential.InArgument(before, arg); ok {
			given["secret "+strconv.Itoa(i)] = secret
		}
		before = arg
	}
	for i, value := range config.Taken {
		if !credential.Plain(value) {
			given["secret of a variable "+strconv.Itoa(i)] = value
		}
	}
	headers := map[string]string{}
	if config.Remote != nil {
		headers, given["url"] = config.Remote.Headers, config.Remote.URL
	}
	return credential.SecretsIn(given, headers, config.Env, environ)
}

// redacted takes out of what a server said the secrets that it was given, and what has the form
// of one: others than its owner read the log, and ask how it is.
func (s *server) redacted(text string) string { return s.secrets.Redact(text) }

// redactedPart is redacted for a long text that goes on: the end, which may be the beginning of a
// secret, is the rest.
func (s *server) redactedPart(text string) (said, rest string) {
	cut := s.secrets.Cut(text)
	if cut == 0 { // of one that has no end the beginning stays, by which what follows is known
		return s.redacted(text), text[:s.secrets.Longest()]
	}
	return s.redacted(text[:cut]), text[cut:]
}

// beginOf gives the first bytes of a text, redacted.
func (s *server) beginOf(text []byte) (said string) {
	if most := shownBytes + s.secrets.Longest(); len(text) > most {
		said, _ = s.redactedPart(string(text[:most]))
	} else {
		said = s.redacted(string(text))
	}
	return said[:min(len(said), shownBytes)]
}

// A redactedError says what the error in it does, without secrets.
type redactedError struct {
	error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.error }

func (s *server) redactedError(err error) error {
	if err == nil {
		return nil
	}
	return &redactedError{err, s.redacted(err.Error())}
}

// A redactedLog redacts what is logged of a server.
type redactedLog struct {
	slog.Handler
	secrets credential.Secrets
}

func (l redactedLog) Handle(ctx context.Context, r slog.Record) error {
	said := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch err, isError := a.Value.Any().(error); {
		case isError:
			a.Value = slog.StringValue(l.secrets.Redact(err.Error()))
		case a.Value.Kind() == slog.KindString:
			a.Value = slog.StringValue(l.secrets.Redact(a.Value.String()))
		}
		said.AddAttrs(a)
		return true
	})
	return l.Handler.Handle(ctx, said)
}

func (l redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return redactedLog{l.Handler.WithAttrs(attrs), l.secrets}
}

func (l redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{l.Handler.WithGroup(name), l.secrets}
}
