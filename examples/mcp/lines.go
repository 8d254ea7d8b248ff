package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is how many bytes one message of a client may have.
const maxMessage = 16 << 20

var errTooLong = fmt.Errorf("the message is longer than %d bytes", maxMessage)

// lines is the transport on standard input and output: one message a line. Unlike
// the SDK's it outlives a line that is no message, which it answers with the error
// that JSON-RPC has for it, and tells when the input ends before the SDK knows, which
// then answers nothing more.
type lines struct {
	in  io.ReadCloser
	out io.Writer

	incoming chan incoming
	eof      chan struct{} // closed when nothing more comes in
	release  chan struct{} // closed when the SDK may know that nothing more comes in
	closed   chan struct{}
	once     sync.Once
	writing  sync.Mutex

	mu     sync.Mutex
	open   map[jsonrpc.ID]struct{} // requests without an answer
	silent chan struct{}           // if it is wanted: closed when there are none
}

// incoming is a message, or why there will be none.
type incoming struct {
	msg jsonrpc.Message
	err error
}

func newLines(in io.ReadCloser, out io.Writer) *lines {
	return &lines{
		in: in, out: out,
		incoming: make(chan incoming), eof: make(chan struct{}), release: make(chan struct{}), closed: make(chan struct{}),
		open: map[jsonrpc.ID]struct{}{},
	}
}

// Connect implements [mcp.Transport].
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.readAll()
	return l, nil
}

// SessionID implements [mcp.Connection]; there is one session only.
func (l *lines) SessionID() string { return "" }

// Close implements [mcp.Connection]. Whether it ends a read that is under way is up
// to what is read; that of a terminal it does not.
func (l *lines) Close() error {
	l.once.Do(func() {
		close(l.closed)
		_ = l.in.Close()
	})
	return nil
}

// Read implements [mcp.Connection].
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case in := <-l.incoming:
		return in.msg, in.err
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection].
func (l *lines) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if resp, ok := msg.(*jsonrpc.Response); ok {
		defer l.answered(resp)
		if isCancelled(resp) {
			return nil // the protocol asks for no answer to a cancelled request
		}
		msg = reword(resp)
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return l.send(text)
}

func (l *lines) send(text []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}

// readAll hands on the messages until nothing more comes in.
func (l *lines) readAll() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		msg, err := l.next(r)
		if err != nil {
			close(l.eof)
			select {
			case <-l.release:
			case <-l.closed:
			}
		}
		select {
		case l.incoming <- incoming{msg, err}:
		case <-l.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// next returns the next message and answers what is none.
func (l *lines) next(r *bufio.Reader) (jsonrpc.Message, error) {
	for {
		text, err := readLine(r, maxMessage)
		text = bytes.TrimSpace(text)
		if err != nil && !errors.Is(err, errTooLong) {
			return nil, err
		}
		if err == nil && len(text) == 0 {
			continue
		}
		msg, refusal := decode(text, err)
		if refusal == nil {
			l.asked(msg)
			return msg, nil
		}
		if err := l.send(refusal); err != nil {
			return nil, err
		}
	}
}

// readLine returns the next line; of one that is longer than limit nothing is kept.
// The last one needs no end.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		long = long || len(text)+len(part) > limit+1
		if long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(text) == 0):
			return nil, err
		case long:
			return nil, errTooLong
		}
		return text, nil
	}
}

// asked and answered keep account of the requests.
func (l *lines) asked(msg jsonrpc.Message) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[req.ID] = struct{}{}
	}
}

func (l *lines) answered(resp *jsonrpc.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, resp.ID)
	if l.silent != nil && len(l.open) == 0 {
		close(l.silent)
		l.silent = nil
	}
}

// silence returns a channel that is closed as soon as no request is without an
// answer. It is asked for once.
func (l *lines) silence() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	silent := make(chan struct{})
	if len(l.open) == 0 {
		close(silent)
	} else {
		l.silent = silent
	}
	return silent
}
