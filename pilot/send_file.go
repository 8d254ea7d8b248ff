package pilot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// SendFileInput is a file for a peer.
type SendFileInput struct {
	Peer string `json:"peer" jsonschema:"description=Hostname, address (0:0000.0000.000B) or node id of the peer."`
	Path string `json:"path" jsonschema:"description=Path of a regular file that may be sent; relative paths start at the directory that files may be sent from."`
}

// oldFileLimit is the most that pilotctl 1.2 can send, the name included: a
// whole file is one message to the daemon there, of at most 1 MiB.
const oldFileLimit = 1_048_569

// SendFileResult is a file that the peer has stored.
type SendFileResult struct {
	Peer     string // as asked for
	Address  string // of the peer
	Filename string // as the peer sees it
	Bytes    int64
	Resumed  int64  // bytes that the peer had from an earlier attempt
	SHA256   string // hex; newer pilotctl only
	Ack      string // older pilotctl, or an older peer
}

// SendFile sends a regular file inside FileRoot, found by following symbolic
// links, under the name of the file that they end at. A file that the peer did
// not acknowledge is ErrNotDelivered. Sending the same file again goes on where
// the peer's daemon stopped, where both sides are new enough.
func (c *Client) SendFile(ctx context.Context, in SendFileInput) (*SendFileResult, error) {
	return c.op("send_file", sendFileTime).sendFile(ctx, in)
}

func (o *op) sendFile(ctx context.Context, in SendFileInput) (*SendFileResult, error) {
	peer, err := name("peer", in.Peer)
	if err != nil {
		return nil, o.fault(err)
	}
	path, info, err := o.client.file(in.Path)
	if err != nil {
		return nil, o.fault(err)
	}
	if err := o.fileFits(ctx, info); err != nil {
		return nil, o.fault(err)
	}
	l := o.client.enter(peer)
	defer o.client.leave(l)
	if err := take(ctx, l.sends); err != nil {
		return nil, err
	}
	defer func() { <-l.sends }()
	got, err := o.run(ctx, verb("send-file", peer, path), l)
	if err != nil {
		return nil, o.fileFault(err)
	}
	return o.fileSent(peer, info, got)
}

func (o *op) fileSent(peer string, info fs.FileInfo, got *answer) (*SendFileResult, error) {
	var data struct {
		Filename    string `json:"filename"`
		Bytes       int64  `json:"bytes"`
		Resumed     int64  `json:"bytes_resumed"`
		SHA256      string `json:"sha256"`
		Destination string `json:"destination"`
		Transport   string `json:"transport"`
		Verified    bool   `json:"verified"`
		Ack         string `json:"ack"`
	}
	if err := got.decode(&data); err != nil {
		return nil, o.fault(err)
	}
	if !data.Verified {
		if err := acknowledged(data.Ack, "", peer); err != nil {
			return nil, o.fault(err)
		}
	}
	r := &SendFileResult{Peer: peer, Address: text.Line(data.Destination, maxName), Filename: data.Filename, Bytes: data.Bytes, Resumed: data.Resumed, SHA256: text.Line(data.SHA256, maxName), Ack: text.Line(data.Ack, maxMessage)}
	if r.Filename == "" {
		r.Filename = info.Name()
	}
	o.meta.Peer, o.meta.Outcome, o.meta.Ack, o.meta.SHA256, o.meta.Bytes = r.Address, Delivered, r.Ack, r.SHA256, r.Bytes
	return r, nil
}

// fileFault says of a send that was stopped what a repetition would do.
func (o *op) fileFault(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == codeTimeout {
		e.Hint, e.ours = joinHints(e.Hint, "the file may have arrived: ask the peer before you send it again"), true
	}
	return err
}

// file checks a path and returns the file behind it. It opens nothing: opening
// a FIFO would hang.
func (c *Client) file(path string) (string, fs.FileInfo, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", nil, refuse("path is empty or holds a NUL byte", "name one file")
	}
	root, err := c.fileRoot()
	if err != nil {
		return "", nil, err
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(root, path)
	}
	resolved, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", nil, refuse(fmt.Sprintf("path %q cannot be read: %s", text.Line(path, maxName), reasonOf(err)), "name an existing file")
	}
	if !inside(root, resolved) {
		return "", nil, refuse(fmt.Sprintf("path %q is outside the directory that files may be sent from", text.Line(path, maxName)), "name a file below "+root+", or tell the user")
	}
	info, err := os.Lstat(resolved)
	if err != nil {
		return "", nil, refuse(fmt.Sprintf("path %q cannot be read: %s", text.Line(path, maxName), reasonOf(err)), "name an existing file")
	}
	if !info.Mode().IsRegular() {
		return "", nil, refuse(fmt.Sprintf("path %q is %s, not a regular file", text.Line(path, maxName), kindOf(info.Mode())), "name a regular file; pack a directory into one first")
	}
	return resolved, info, nil
}

// fileRoot is FileRoot without symbolic links.
func (c *Client) fileRoot() (string, error) {
	root, err := filepath.Abs(c.FileRoot)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", &Error{Code: codeInternal, Message: "the directory that files may be sent from cannot be read: " + reasonOf(err), Hint: "tell the user: Client.FileRoot must be a directory"}
	}
	return root, nil
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// reasonOf is the cause of a file error without the path, which the model
// knows.
func reasonOf(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return text.Line(err.Error(), maxName)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// fileFits checks the size against what this pilotctl can send; only files
// that the oldest cannot need its version.
func (o *op) fileFits(ctx context.Context, info fs.FileInfo) error {
	limit := int64(oldFileLimit - len(info.Name()))
	if info.Size() <= limit {
		return nil
	}
	g, err := o.generation(ctx)
	if err != nil || g != generation12 {
		return err
	}
	return refuse(fmt.Sprintf("the file has %d bytes; this version of pilotctl sends at most %d under that name", info.Size(), limit), "send it in smaller parts, or tell the user to update pilotctl")
}

func (r *SendFileResult) forModel() string {
	resumed := ""
	if r.Resumed > 0 {
		resumed = fmt.Sprintf(" (%d bytes were there already)", r.Resumed)
	}
	return fmt.Sprintf("Delivered: %s has stored %s, %d bytes%s. It finds the file with pilot_received.", r.Peer, text.Line(r.Filename, maxName), r.Bytes, resumed)
}
