package jobsclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

// SubmitLabel is the key of the label by which a Client finds a job again whose
// Submit lost its answer. Its value is random, and different for each Submit.
// Jobs are handed out without it.
const SubmitLabel = "io.fantasytools.submit-id"

const (
	// lookTime is how long Submit looks for its job when the caller's context
	// or its own time limit is over.
	lookTime = 2 * time.Second

	// lookPause stands between two looks, lookTries is how many find nothing
	// before Submit believes it: a daemon may still be busy with the request.
	lookPause = 100 * time.Millisecond
	lookTries = 4
)

// SubmitRequest says what to run.
type SubmitRequest struct {
	Bin    string            // a BIN declared for the agent, by its exact name
	Args   []string          // argv after the name; valid UTF-8 without NUL
	Stdin  string            // the process's standard input, valid UTF-8; "": none
	Labels map[string]string // to find the job again with List
}

// Submit hands a job to the daemon and returns its id at once. The request is
// sent at most once. If its answer does not arrive, Submit looks for the job by
// a label of its own for up to two seconds, also when ctx has ended: it returns
// the id if the job exists, and otherwise an error that is ErrAnswerLost and
// tells how to look.
func (c *Client) Submit(ctx context.Context, req SubmitRequest) (string, error) {
	const doing = "submitting the job"
	if err := req.check(doing); err != nil {
		return "", err
	}
	mark := strings.ToLower(rand.Text())
	answer := &jobspb.SubmitResponse{}
	r, err := c.invoke(ctx, unary{
		call: call{doing: doing, method: jobspb.Submit, limit: c.cfg.CallTimeout},
		path: jobspb.SubmitPath,
		in:   &jobspb.SubmitRequest{Bin: req.Bin, Args: req.Args, Stdin: req.Stdin, Labels: withLabel(req.Labels, SubmitLabel, mark)},
		out:  answer,
	})
	switch {
	case err == nil && answer.GetJobId() != "":
		return r.plain(answer.GetJobId()), nil
	case err == nil:
		err = &callError{text: doing + ": the jobs daemon answered without a job id", kinds: []error{ErrUnavailable}, sent: true}
	case !err.mayHaveArrived():
		return "", err
	}
	return c.findSubmitted(ctx, mark, err)
}

// mayHaveArrived tells whether the daemon may have done what was asked although
// the call failed: it was sent, and not refused.
func (e *callError) mayHaveArrived() bool {
	switch e.status.Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		return e.sent
	}
	return e.sent && !e.final
}

// findSubmitted looks for the job of a Submit whose answer was lost.
func (c *Client) findSubmitted(ctx context.Context, mark string, lost *callError) (string, error) {
	if c.closed() {
		return "", uncertain(lost, mark, "the job may exist")
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.lookTime(ctx, lost))
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	for misses := 0; misses < lookTries; {
		jobs, err := c.List(look, ListOptions{Labels: map[string]string{SubmitLabel: mark}})
		switch {
		case err == nil && len(jobs) > 0:
			return jobs[0].ID, nil
		case err == nil:
			misses++
		case !errors.Is(err, ErrUnavailable):
			return "", uncertain(lost, mark, "the job may exist")
		}
		select {
		case <-time.After(lookPause):
		case <-look.Done():
			return "", uncertain(lost, mark, "the job may exist")
		}
	}
	return "", uncertain(lost, mark, "the daemon does not list the job, so most likely it was not created")
}

// lookTime is the time for finding the job: what the daemon may take to come
// back as long as the caller waits, and little once it does not.
func (c *Client) lookTime(ctx context.Context, lost *callError) time.Duration {
	if ctx.Err() != nil || lost.status.Code() == codes.DeadlineExceeded {
		return lookTime
	}
	return max(lookTime, c.cfg.CallTimeout/2)
}

func uncertain(lost *callError, mark, verdict string) error {
	return &callError{
		text: fmt.Sprintf("%s; the answer was lost, and %s: list the jobs before submitting it again (its label %s is %s)",
			strings.TrimSuffix(lost.text, "; try again once it is back"), verdict, SubmitLabel, mark),
		kinds:  append([]error{ErrAnswerLost}, lost.kinds...),
		status: lost.status,
		sent:   true,
	}
}

// check refuses what no daemon can take, before it is half done.
func (r SubmitRequest) check(doing string) error {
	if r.Bin == "" {
		return invalid("%s: the name of the BIN is missing", doing)
	}
	if err := checkArgument(doing, "the name of the BIN", r.Bin); err != nil {
		return err
	}
	for i, arg := range r.Args {
		if err := checkArgument(doing, fmt.Sprintf("argument %d", i+1), arg); err != nil {
			return err
		}
	}
	if err := checkText(doing, "stdin", r.Stdin); err != nil {
		return err
	}
	return checkLabels(doing, r.Labels)
}

func checkArgument(doing, what, s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return invalid("%s: %s holds a NUL at byte %d, which no process can be given: pass it on stdin", doing, what, i)
	}
	return checkText(doing, what, s)
}

func checkText(doing, what, s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	at := 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return invalid("%s: %s is not valid UTF-8 at byte %d: encode binary data, for example with base64", doing, what, at)
}

func checkLabels(doing string, labels map[string]string) error {
	for key, value := range labels {
		if err := checkText(doing, "the key of a label", key); err != nil {
			return err
		}
		if err := checkText(doing, "the value of a label", value); err != nil {
			return err
		}
	}
	return nil
}

// shownID is a job's id as errors show it: ids come from models, and may be
// anything of any length.
func shownID(id string) string {
	const longest = 100
	if len(id) > longest {
		return strconv.QuoteToASCII(id[:longest]) + "…"
	}
	for _, r := range id {
		if r <= ' ' || r > '~' {
			return strconv.QuoteToASCII(id)
		}
	}
	return id
}

func checkID(doing, id string) error {
	if strings.TrimSpace(id) == "" {
		return invalid("%s: the job id is missing", strings.TrimSpace(doing))
	}
	return checkText(strings.TrimSpace(doing), "the job id", id)
}
