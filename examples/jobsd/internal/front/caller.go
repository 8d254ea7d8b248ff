package front

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/fantasytools/fantasytools/examples/jobsd/agents"
)

// caller is whose token came with a request.
type caller struct {
	agent *agents.Agent // nil: the operator
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	who, _ := ctx.Value(callerKey{}).(*caller)
	return *who
}

// authenticate finds the caller by the first value of the header Authorization;
// others do not count.
func (f *Front) authenticate(values []string) (*caller, bool) {
	if len(values) == 0 {
		return nil, false
	}
	token, bearer := strings.CutPrefix(values[0], "Bearer ")
	token = strings.Trim(token, " \t")
	if !bearer || token == "" {
		return nil, false
	}
	if f.OperatorToken != "" && same(token, f.OperatorToken) {
		return &caller{}, true
	}
	agent, found := f.Agents.ByToken(token)
	return &caller{agent: agent}, found
}

// same compares secrets in a time that tells nothing about them.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (c caller) operator() bool { return c.agent == nil }

// scope is the agent whose jobs the caller sees; "": all.
func (c caller) scope() string {
	if c.operator() {
		return ""
	}
	return c.agent.Name
}

func (c caller) may(capability string) error {
	if c.operator() || c.agent.Can(capability) {
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf(
		"agent %q does not have the %q capability — operator must grant it via the agent's capabilities", c.agent.Name, capability))
}
