package pilottest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// answerPatience bounds the talk between a fake pilotctl and the process that
// owns the network, which computes the answers of a Script's Func.
const answerPatience = 30 * time.Second

type question struct{ Node, From, Text string }

// serve answers for the script of a node as long as the network is open.
func (n *Network) serve(name string, fn func(from, text string) []Reply) error {
	n.mu.Lock()
	n.funcs[name] = fn
	running := n.listener != nil
	n.mu.Unlock()
	if running {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.listener = l
	n.mu.Unlock()
	n.served.Add(1)
	go n.answerAll(l)
	return n.store.update(func(s *state) error { s.Answers = l.Addr().String(); return nil })
}

func (n *Network) answerAll(l net.Listener) {
	defer n.served.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		n.answerOne(conn)
	}
}

func (n *Network) answerOne(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(answerPatience))
	var q question
	if receive(conn, &q) != nil {
		return
	}
	n.mu.Lock()
	fn := n.funcs[q.Node]
	n.mu.Unlock()
	replies := []Reply{}
	if fn != nil {
		replies = append(replies, fn(q.From, q.Text)...)
	}
	_ = send(conn, replies)
}

// askOwner is the other end, in the fake pilotctl.
func askOwner(address, node, from, text string) ([]Reply, error) {
	if address == "" {
		return nil, errors.New("nobody answers for scripts with Func: the network is closed")
	}
	conn, err := net.DialTimeout("tcp", address, answerPatience)
	if err != nil {
		return nil, fmt.Errorf("asking for the answers of a script: %w", err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(answerPatience))
	if err := send(conn, question{node, from, text}); err != nil {
		return nil, fmt.Errorf("asking for the answers of a script: %w", err)
	}
	var replies []Reply
	if err := receive(conn, &replies); err != nil {
		return nil, fmt.Errorf("asking for the answers of a script: %w", err)
	}
	return replies, nil
}

func send(w io.Writer, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func receive(r io.Reader, v any) error {
	var data json.RawMessage
	if err := json.NewDecoder(r).Decode(&data); err != nil {
		return err
	}
	return unmarshal(data, v)
}
