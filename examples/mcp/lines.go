package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage is how many bytes one message of a client may have.
	maxMessage = 16 << 20

	// maxOpen is how many requests may be without an answer, and maxOpenBytes how
	// many bytes they may have together. What is over it is refused by the reader
	// itself, which stops where nobody reads the refusal: then nothing piles up.
	maxOpen      = 2048
	maxOpenBytes = 64 << 20
)

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

	mu         sync.Mutex
	open       map[jsonrpc.ID]int // the bytes of requests that were not answered
	openBytes  int
	unanswered int           // requests whose answer was not written
	silent     chan struct{} // if it is wanted: closed when there are none
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
		open: map[jsonrpc.ID]int{},
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
		l.answering(resp)
		defer l.answered()
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

// byteOrderMark is what some shells put before what they send.
const byteOrderMark = "\ufeff"

// readAll hands on the messages until nothing more comes in.
func (l *lines) readAll() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	if start, _ := r.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = r.Discard(len(start))
	}
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
		if msg != nil {
			refusal = l.asked(msg, len(text))
			if refusal == nil {
				return msg, nil
			}
		}
		if refusal == nil {
			continue // a notification, which gets no answer
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

// asked counts a request, or returns the line that refuses it. The SDK drops one
// whose id is in use without a word; the refusal has no id, for it would be taken for
// the answer to the other.
func (l *lines) asked(msg jsonrpc.Message, size int) (refusal []byte) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id, _ := json.Marshal(req.ID.Raw()) // a string or a number
	if _, used := l.open[req.ID]; used {
		return refuse(nil, jsonrpc.CodeInvalidRequest, "the request "+short(string(id))+" has the id of one that is not answered yet; it was not carried out")
	}
	if len(l.open) >= maxOpen || l.openBytes+size > maxOpenBytes {
		return refuse(id, codeBusy, fmt.Sprintf("%d requests are not answered yet; this one was not carried out, send it again later", len(l.open)))
	}
	l.open[req.ID] = size
	l.openBytes += size
	l.unanswered++
	return nil
}

// answering ends the time in which a request's id is in use: who has read the answer
// may use it again.
func (l *lines) answering(resp *jsonrpc.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.openBytes -= l.open[resp.ID]
	delete(l.open, resp.ID)
}

func (l *lines) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unanswered--; l.unanswered == 0 && l.silent != nil {
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
	if l.unanswered == 0 {
		close(silent)
	} else {
		l.silent = silent
	}
	return silent
}
