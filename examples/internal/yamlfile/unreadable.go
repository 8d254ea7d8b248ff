package yamlfile

import "fmt"

// unreadable makes an error of a panic of the YAML library, which some files that
// are no YAML cause: a running program that follows such a file must not end by it.
// It is to be deferred.
func unreadable(path string, err *error) {
	if recover() != nil {
		*err = fmt.Errorf("%s: this is no YAML that can be read; look for a tag or an anchor without a value", path)
	}
}
