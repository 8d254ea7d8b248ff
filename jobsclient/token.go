package jobsclient

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
)

// token returns the token of a call, trimmed and fit for a header. There is no
// call without one: over TCP the daemon takes it for the operator's. limited is
// the caller's ctx within the time limit of the call.
func (c *Client) token(ctx, limited context.Context, doing string) (string, *callError) {
	raw := c.cfg.Token
	if c.cfg.TokenSource != nil {
		var err error
		if raw, err = c.askSource(limited); err != nil {
			return "", c.tokenFailure(ctx, doing, err)
		}
	}
	token := strings.TrimSpace(raw)
	if token == "" {
		return "", failed(ErrUnauthenticated, codes.Unauthenticated,
			doing+": there is no agent token: set "+EnvAgentToken+" or Config.Token")
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", failed(ErrUnauthenticated, codes.Unauthenticated,
				doing+": the agent token holds a blank or a character that no header can carry: check "+EnvAgentToken)
		}
	}
	return token, nil
}

// askSource asks for a token until limited or the client ends.
func (c *Client) askSource(limited context.Context) (string, error) {
	asking, cancel := context.WithCancel(limited)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return c.cfg.TokenSource(asking)
}

func (c *Client) tokenFailure(ctx context.Context, doing string, err error) *callError {
	switch {
	case c.closed():
		return closedError(doing)
	case ctx.Err() != nil:
		return call{doing: doing}.fromContext(ctx.Err(), nil).unsent()
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		// Of a context that is not the caller's, so the caller must not find it in the error.
		return failed(ErrUnauthenticated, codes.Unauthenticated, doing+": the agent token could not be had in time: check Config.TokenSource")
	}
	e := failed(ErrUnauthenticated, codes.Unauthenticated, doing+": the agent token could not be had: "+call{}.clean(err.Error()))
	e.kinds = append(e.kinds, err)
	return e
}
