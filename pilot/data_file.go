package pilot

import (
	"context"
	"fmt"
	"os"
)

// dataFile writes a text that is too long for an argument into a file that
// only this user can read. remove deletes it.
func (o *op) dataFile(ctx context.Context, m letter) (path string, remove func(), err error) {
	g, err := o.generation(ctx)
	if err != nil {
		return "", nil, err
	}
	if g < generation116 {
		return "", nil, fits(m.field, "--data=", m.text)
	}
	f, err := os.CreateTemp("", "pilot-message-*")
	if err != nil {
		return "", nil, &Error{Code: codeInternal, Message: fmt.Sprintf("%s is too long for an argument, and no file can be written for it: %v", m.field, err), Hint: "shorten it"}
	}
	remove = func() { _ = os.Remove(f.Name()) } // at worst a file is left in the temporary directory
	_, err = f.WriteString(m.text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		remove()
		return "", nil, &Error{Code: codeInternal, Message: fmt.Sprintf("%s is too long for an argument, and the file for it cannot be written: %v", m.field, err), Hint: "shorten it"}
	}
	return f.Name(), remove, nil
}
