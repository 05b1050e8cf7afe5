package site

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/smallfile"
	"github.com/durward/durward/internal/source/pages"
)

// ReadEnvFile reads the server's variables from a file of lines:
//
//	# a comment
//	DB = notes.db
//
// Blanks around the name and the value are dropped, quotes are part of the value, empty
// lines are skipped, and of two lines for one name the later one counts. An error names
// every line that is wrong, "file:line:column: message".
func ReadEnvFile(file string) (map[string]string, error) {
	text, err := smallfile.Read(file, config.MaxBytes, nil)
	if err != nil {
		return nil, invalidConfig(config.Problems{{Where: durward.Position{File: file}, Message: err.Error()}})
	}
	env, problems := map[string]string{}, config.Problems{}
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		trimmed := strings.TrimSpace(string(line))
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		name, value, err := cutVariable(trimmed)
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if err == nil {
			err = checkVariable(name, value)
		}
		if err != nil {
			problems.Add(durward.Position{File: file, Line: number, Column: 1}, "%v", err)
			continue
		}
		env[name] = value
	}
	if err := problems.Err(); err != nil {
		return nil, invalidConfig(problems)
	}
	return env, nil
}

// ParseVariable reads one variable of the server, NAME=VALUE.
func ParseVariable(text string) (name, value string, err error) {
	name, value, err = cutVariable(text)
	if err == nil {
		err = checkVariable(name, value)
	}
	return name, value, err
}

// cutVariable does not show the text in its error: it may be a secret.
func cutVariable(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return "", "", errors.New("there is no = in it; write NAME=VALUE")
	}
	return name, value, nil
}

func checkVariable(name, value string) error {
	switch {
	case !pages.IsVariableName(name):
		return errors.New("what should be the name of a variable is none: letters, digits and _") // it may be a piece of a secret
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("the value of %s holds a NUL byte", name)
	}
	return nil
}
