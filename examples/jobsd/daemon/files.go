package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files in the state directory, for the commands of an operator on this machine.
const (
	operatorFile = "operator.token"
	addressFile  = "address"
)

// OperatorToken returns the token of whoever may read the state directory: it
// shows and cancels the jobs of all agents. The daemon makes it at its first start.
func OperatorToken(stateDir string) (string, error) { return readLine(stateDir, operatorFile) }

// Addresses returns the URLs of the daemon that was started last with the state
// directory, the one for this machine first.
func Addresses(stateDir string) ([]string, error) {
	text, err := readLine(stateDir, addressFile)
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), err
}

func readLine(stateDir, name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(stateDir, name))
	return strings.TrimSpace(string(b)), err
}

// operatorToken reads the token, or makes one.
func operatorToken(stateDir string) (string, error) {
	token, err := OperatorToken(stateDir)
	if err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the operator's token: %w", err)
	}
	token = "jobsd_operator_" + rand.Text() + rand.Text()
	return token, writeFile(stateDir, operatorFile, token+"\n")
}

// writeFile replaces a file of mode 0600 in one step.
func writeFile(stateDir, name, content string) error {
	f, err := os.CreateTemp(stateDir, "."+name+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the %s: %w", name, err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(stateDir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing the %s: %w", name, err)
	}
	return nil
}
