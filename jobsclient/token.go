package jobsclient

import (
	"context"
	"strings"

	"google.golang.org/grpc/codes"
)

// token returns the token of a call, trimmed and fit for a header. There is no
// call without one: over TCP the daemon takes it for the operator's.
func (c *Client) token(ctx context.Context, doing string) (string, *callError) {
	raw := c.cfg.Token
	if c.cfg.TokenSource != nil {
		var err error
		if raw, err = c.cfg.TokenSource(ctx); err != nil {
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

func (c *Client) tokenFailure(ctx context.Context, doing string, err error) *callError {
	if ctx.Err() != nil && c.closed() {
		return closedError(doing)
	}
	if ctx.Err() != nil {
		return call{doing: doing}.fromContext(ctx.Err(), nil)
	}
	e := failed(ErrUnauthenticated, codes.Unauthenticated, doing+": the agent token could not be had: "+call{}.clean(err.Error()))
	e.kinds = append(e.kinds, err)
	return e
}
