package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
)

// maxErrorText is how many bytes the text of an error of the protocol may have: the
// SDK quotes what it could not decode.
const maxErrorText = 1 << 10

// decode returns the message of a line, or the line that answers what is none. err
// is errTooLong for a line that was not kept.
func decode(text []byte, err error) (msg jsonrpc.Message, refusal []byte) {
	switch {
	case err != nil:
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, err.Error())
	case !json.Valid(text):
		return nil, refuse(nil, jsonrpc.CodeParseError, "the line is not JSON; each message is one line")
	case text[0] == '[':
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not served; send each message on a line of its own")
	}
	msg, err = jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, refuse(idOf(text), jsonrpc.CodeInvalidRequest, `the line is no message of JSON-RPC 2.0: it needs "jsonrpc":"2.0", a method that is a string, and an id that is a string or a number`)
	}
	return msg, nil
}

// idOf returns the id of what is no request, if it has one that can be answered.
func idOf(text []byte) json.RawMessage {
	var msg struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(text, &msg) != nil || len(msg.ID) == 0 || len(msg.ID) > maxErrorText {
		return nil
	}
	if msg.ID[0] != '"' && !strings.ContainsRune("-0123456789", rune(msg.ID[0])) {
		return nil
	}
	return msg.ID
}

// refuse returns an error response. JSON-RPC wants the id null where there is none.
func refuse(id json.RawMessage, code int64, message string) []byte {
	out, _ := json.Marshal(struct { // cannot fail: the id was read as JSON
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, jsonrpc.Error{Code: code, Message: message}})
	return out
}

func isCancelled(resp *jsonrpc.Response) bool {
	var err *jsonrpc.Error
	return errors.As(resp.Error, &err) && err.Code == bridge.CodeCancelled
}

// reword makes an error of the SDK one sentence within bounds: of what it could not
// decode it quotes all, with the names of its types.
func reword(resp *jsonrpc.Response) *jsonrpc.Response {
	if resp.Error == nil {
		return resp
	}
	out := &jsonrpc.Error{}
	var known *jsonrpc.Error
	if errors.As(resp.Error, &known) {
		out.Code, out.Data = known.Code, known.Data
	}
	out.Message = resp.Error.Error()
	if before, _, found := strings.Cut(out.Message, ": unmarshaling "); found {
		out.Message = before + ": they do not have the form that the protocol gives them"
	}
	if len(out.Message) > maxErrorText {
		out.Message = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(out.Message[:maxErrorText], ""), len(out.Message))
	}
	return &jsonrpc.Response{ID: resp.ID, Error: out}
}
