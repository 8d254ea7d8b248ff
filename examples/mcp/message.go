package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
)

// maxErrorText is how many bytes the text of an error of the protocol may have: the
// SDK quotes what it could not decode.
const maxErrorText = 1 << 10

// maxDepth is how deep a message may be nested: what the SDK takes.
const maxDepth = 1000

// maxID is the greatest number of an id, and -maxID the least: the SDK holds numbers
// as JavaScript does, and would answer a greater one by the name of another.
const maxID = 1<<53 - 1

// codeBusy is of those that JSON-RPC leaves to servers.
const codeBusy = -32000

const noMessage = `it is no message of JSON-RPC 2.0: it needs "jsonrpc":"2.0", a method that is a string, and an id that is a string or a number`

// decode returns the message of a line, or the line that answers what is none. err
// is errTooLong for a line that was not kept.
func decode(text []byte, err error) (msg jsonrpc.Message, refusal []byte) {
	switch {
	case err != nil:
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, err.Error())
	case deeper(text, maxDepth):
		return nil, refuseDeep(text)
	case !json.Valid(text):
		return nil, refuse(nil, jsonrpc.CodeParseError, "the line is not JSON; each message is one line")
	case text[0] == '[':
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not served; send each message on a line of its own")
	}
	msg, err = jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, refuse(idOf(text), jsonrpc.CodeInvalidRequest, noMessage)
	}
	if what := flaw(text); what != "" {
		return nil, refuse(idOf(text), jsonrpc.CodeInvalidRequest, what)
	}
	if req, ok := msg.(*jsonrpc.Request); ok && cancelsAnother(req) {
		req.Params = json.RawMessage("{}")
	}
	return msg, nil
}

// examine returns the answer to a body that must not reach the SDK, nil for any
// other: what the SDK refuses in words is left to it. outOfTurn says what is wrong
// with a message where it stands; its argument is nil for an answer.
func examine(body []byte, outOfTurn func(*jsonrpc.Request) string) (refusal []byte) {
	body = bytes.TrimSpace(body)
	if deeper(body, maxDepth) {
		return refuseDeep(body)
	}
	var messages []json.RawMessage
	switch {
	case !bytes.HasPrefix(body, []byte("[")):
		messages = append(messages, body)
	case json.Unmarshal(body, &messages) != nil:
		return nil
	}
	for _, text := range messages {
		msg, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return nil
		}
		req, _ := msg.(*jsonrpc.Request)
		what := flaw(text)
		if what == "" && req != nil && cancelsAnother(req) {
			what = "there is no request with that id"
		}
		if what == "" {
			what = outOfTurn(req)
		}
		if what != "" {
			return refuse(idOf(text), jsonrpc.CodeInvalidRequest, what)
		}
	}
	return nil
}

// envelope returns the members of a message, by names that are spelt exactly so.
func envelope(text []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // what is no object has none
	return members
}

// flaw says of what the SDK would take for another message, or drop without a word,
// what is wrong with it.
func flaw(text []byte) string {
	members := envelope(text)
	if len(members) == 0 {
		return ""
	}
	id, hasID := members["id"]
	_, isRequest := members["method"]
	_, isResult := members["result"]
	_, isError := members["error"]
	switch {
	case hasID && string(id) == "null":
		return "the id is null; a request has a string or a number, and a notification has none"
	case hasID && !faithful(id):
		return "an id that is a number has no fraction and at most 53 bits; send such a one, or a string"
	case !isRequest && !isResult && !isError:
		return noMessage
	}
	return ""
}

// faithful reports whether the SDK keeps an id as it is. Of what is neither a string
// nor a number it says so itself.
func faithful(id json.RawMessage) bool {
	if id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true
	}
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) <= maxID
}

// cancelsAnother reports whether a notification cancels by an id that no request can
// have and that the SDK would take for that of one which has.
func cancelsAnother(req *jsonrpc.Request) bool {
	if req.Method != "notifications/cancelled" {
		return false
	}
	id := envelope(req.Params)["requestId"]
	return len(id) > 0 && !faithful(id)
}

// deeper reports whether the text is nested deeper than that.
func deeper(text []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

func refuseDeep(text []byte) []byte {
	return refuse(idOf(text), jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is nested more than %d levels deep", maxDepth))
}

// idOf returns the id of what is no request, if it has one that can be answered.
func idOf(text []byte) json.RawMessage {
	id := envelope(text)["id"]
	if len(id) == 0 || len(id) > maxErrorText {
		return nil
	}
	if id[0] != '"' && !strings.ContainsRune("-0123456789", rune(id[0])) {
		return nil
	}
	return id
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
	out := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest} // the SDK has none for what comes out of turn
	var known *jsonrpc.Error
	if errors.As(resp.Error, &known) {
		out.Code, out.Data = known.Code, known.Data
	}
	out.Message = resp.Error.Error()
	if before, _, found := strings.Cut(out.Message, ": unmarshaling "); found {
		out.Message = before + ": the params do not have the form that the protocol gives them"
	}
	out.Message = short(out.Message)
	return &jsonrpc.Response{ID: resp.ID, Error: out}
}

// short cuts what an error repeats.
func short(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxErrorText], ""), len(text))
}
