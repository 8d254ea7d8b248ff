package jobstest

import (
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/fantasytools/fantasytools/jobsclient/internal/jobspb"
)

var jobID = regexp.MustCompile(`^job_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func checkLife(p *prober) {
	before := time.Now().Unix()
	id := p.mustSubmit(&jobspb.SubmitRequest{
		Args: []string{"-c", `printf '%s|' "$@"; cat; echo oops >&2`, "sh", "a b", "", "ü"}, Stdin: "in\x00put",
		Labels: map[string]string{"k": "v", "": "", "a.b": "c"},
	})
	if !jobID.MatchString(id) {
		p.Errorf("the id %q is not job_ and a version 4 UUID", id)
	}
	j := p.end(id)
	p.equal("id", j.GetId(), id)
	p.equal("bin", j.GetBin(), p.target.Shell)
	p.equal("args", strings.Join(j.GetArgs()[2:], "|"), "sh|a b||ü")
	p.equal("stdin", string(j.GetStdin()), "in\x00put")
	p.equal("status", j.GetStatus(), "done")
	p.equal("stdout", string(j.GetStdout()), "a b||ü|in\x00put")
	p.equal("stderr", string(j.GetStderr()), "oops\n")
	p.equal("error", string(j.GetError()), "")
	p.equal("labels", len(j.GetLabels()), 3)
	p.equal("label k", j.GetLabels()["k"], "v")
	if j.GetCreatedAt() < before-1 || j.GetStartedAt() < j.GetCreatedAt() || j.GetFinishedAt() < j.GetStartedAt() {
		p.Errorf("times are %d %d %d", j.GetCreatedAt(), j.GetStartedAt(), j.GetFinishedAt())
	}
}

func checkExitCode(p *prober) {
	j := p.end(p.shell("exit 300"))
	p.equal("status", j.GetStatus(), "done")
	p.equal("exit code", j.GetExitCode(), int32(44))
}

// checkSignal: the original cannot tell a signal from exit code 0, or has 128 and
// the signal's number.
func checkSignal(p *prober) {
	j := p.end(p.shell("kill -9 $$"))
	if p.target.Corrected {
		p.equal("status", j.GetStatus(), "error")
		if text := string(j.GetError()); !strings.Contains(text, "SIGKILL") {
			p.Errorf("the error is %q, without the signal", text)
		}
		return
	}
	p.equal("status", j.GetStatus(), "done")
	if code := j.GetExitCode(); code != 0 && code != 137 {
		p.Errorf("exit code is %d", code)
	}
}

func checkNoStdin(p *prober) {
	p.equal("stdout", string(p.end(p.shell("cat; echo end")).GetStdout()), "end\n")
}

func checkTokens(p *prober) {
	good := p.target.NewAgent(p, AllCapabilities()...)
	const text = "401 (Unauthorized)"
	for what, value := range map[string]string{
		"a wrong token": "Bearer wrong", "an empty token": "Bearer ", "the scheme in small letters": "bearer " + good,
		"no scheme": good, "a token that was changed": "Bearer " + good[:len(good)-4] + "AAAA",
	} {
		p.authorize(value)
		_, err := p.get("job_x")
		p.refused(what, err, codes.Unauthenticated, text)
		_, err = p.watch("job_x", nil)
		p.refused(what+" on a watch", err, codes.Unauthenticated, text)
	}
	p.authorize("Bearer wrong", "Bearer "+good)
	_, err := p.get("job_x")
	p.refused("a second value", err, codes.Unauthenticated, text)
	p.authorize("Bearer   " + good)
	_, err = p.get("job_x")
	p.refused("blanks before a good token", err, codes.NotFound, "async job not found")
}

func checkCapabilities(p *prober) {
	calls := map[Capability]func() error{
		CanSubmit: func() error { _, err := p.submit(&jobspb.SubmitRequest{}); return err },
		CanGet:    func() error { _, err := p.get(""); return err },
		CanList:   func() error { _, err := p.list(&jobspb.ListRequest{}); return err },
		CanCancel: func() error { return p.cancel("") },
		CanWatch:  func() error { _, err := p.watch("", nil); return err },
	}
	for needed, call := range calls {
		var others []Capability
		for _, c := range AllCapabilities() {
			if c != needed {
				others = append(others, c)
			}
		}
		p.as(p.target.NewAgent(p, others...))
		p.refused(string(needed), call(), codes.PermissionDenied, `does not have the "`+string(needed)+`" capability`)
	}
	p.as(p.target.NewAgent(p, "job_wait"))
	p.refused("job_wait alone", calls[CanWatch](), codes.PermissionDenied, "job_watch")
}

func checkScope(p *prober) {
	id := p.shell("true")
	p.end(id)
	p.as(p.target.NewAgent(p, AllCapabilities()...))
	_, err := p.get(id)
	p.refused("Get", err, codes.NotFound, "async job not found")
	p.refused("Cancel", p.cancel(id), codes.NotFound, "async job not found")
	_, err = p.watch(id, nil)
	p.refused("Watch", err, codes.NotFound, "async job not found")
	jobs, err := p.list(&jobspb.ListRequest{})
	if err != nil || len(jobs) != 0 {
		p.Errorf("List: %v, %v", jobs, err)
	}
}

func checkIDs(p *prober) {
	for _, id := range []string{"", "job_x"} {
		_, err := p.get(id)
		p.refused("Get", err, codes.NotFound, "async job not found")
	}
	p.refused("Cancel", p.cancel(""), codes.InvalidArgument, "job_id is required")
	p.refused("Cancel", p.cancel("job_x"), codes.NotFound, "async job not found")
	_, err := p.watch("", nil)
	p.refused("Watch", err, codes.InvalidArgument, "job_id is required")
	_, err = p.watch("job_x", nil)
	p.refused("Watch", err, codes.NotFound, "async job not found")
}

func checkRefusals(p *prober) {
	_, err := p.submit(&jobspb.SubmitRequest{})
	p.refused("no BIN", err, codes.InvalidArgument, "bin is required")
	for _, bin := range []string{"no-such-bin", strings.ToUpper(p.target.Shell), "/bin/" + p.target.Shell} {
		_, err = p.submit(&jobspb.SubmitRequest{Bin: bin})
		p.refused(bin, err, codes.InvalidArgument, "is not declared in agent")
		p.refused(bin, err, codes.InvalidArgument, p.target.Shell)
	}
}

func checkList(p *prober) {
	var ids []string
	for _, label := range []string{"1", "2"} {
		id := p.mustSubmit(&jobspb.SubmitRequest{Args: []string{"-c", "true"}, Labels: map[string]string{"n": label, "all": "", "A": "x"}})
		p.end(id)
		ids = append(ids, id)
	}
	tests := []struct {
		what string
		in   *jobspb.ListRequest
		want int
	}{
		{"all", &jobspb.ListRequest{}, 2},
		{"a status", &jobspb.ListRequest{Status: "done"}, 2},
		{"a status that none has", &jobspb.ListRequest{Status: "running"}, 0},
		{"a status that does not exist", &jobspb.ListRequest{Status: "no"}, 0},
		{"one label", &jobspb.ListRequest{LabelSelector: map[string]string{"n": "1"}}, 1},
		{"two labels", &jobspb.ListRequest{LabelSelector: map[string]string{"n": "1", "all": ""}}, 1},
		{"labels that no job has together", &jobspb.ListRequest{LabelSelector: map[string]string{"n": "1", "all": "x"}}, 0},
		{"a key that is missing", &jobspb.ListRequest{LabelSelector: map[string]string{"none": ""}}, 0},
		{"a key in another case", &jobspb.ListRequest{LabelSelector: map[string]string{"a": "x"}}, 0},
		{"another agent, which is ignored", &jobspb.ListRequest{AgentId: "somebody"}, 2},
	}
	for _, test := range tests {
		jobs, err := p.list(test.in)
		if err != nil || len(jobs) != test.want {
			p.Errorf("%s: %d jobs, %v; want %d", test.what, len(jobs), err, test.want)
		}
	}
	jobs, err := p.list(&jobspb.ListRequest{Status: "done"})
	if err != nil || len(jobs) != 2 || jobs[0].GetId() != ids[1] {
		p.Errorf("with a status the newest is not first: %v, %v", jobs, err)
	}
}

func checkWatch(p *prober) {
	id := p.shell("echo one; sleep 1; echo two")
	jobs, err := p.watch(id, nil)
	if err != nil || len(jobs) < 2 {
		p.Fatalf("%d messages, %v", len(jobs), err)
	}
	last := jobs[len(jobs)-1]
	p.equal("the last row's status", last.GetStatus(), "done")
	p.equal("the last row's output", string(last.GetStdout()), "one\ntwo\n")
	for _, j := range jobs[:len(jobs)-1] {
		if s := j.GetStatus(); s != "running" && s != "pending" {
			p.Errorf("%s before the end", s)
		}
	}
	again, err := p.watch(id, nil)
	if err != nil || len(again) != 1 {
		p.Errorf("a watch of an ended job: %d messages, %v", len(again), err)
	}
}

func checkCancel(p *prober) {
	id := p.shell("trap '' TERM; echo begun; sleep 600 & sleep 600")
	asked := false
	jobs, err := p.watch(id, func(j *jobspb.Job) {
		if asked || len(j.GetStdout()) == 0 {
			return
		}
		asked = true
		if err := p.cancel(id); err != nil {
			p.Errorf("Cancel: %v", err)
		}
	})
	if err != nil || len(jobs) == 0 {
		p.Fatalf("watching: %v", err)
	}
	last := jobs[len(jobs)-1]
	p.equal("status", last.GetStatus(), "cancelled")
	p.equal("exit code", last.GetExitCode(), int32(0))
	p.equal("error", string(last.GetError()), "")
	p.equal("stdout", string(last.GetStdout()), "begun\n")
	p.refused("the second Cancel", p.cancel(id), codes.FailedPrecondition, "async job not currently running")
}

// checkBinary: such output breaks each call of the original that would show it.
func checkBinary(p *prober) {
	if p.target.Corrected {
		checkBinaryIsShown(p)
		return
	}
	good := p.mustSubmit(&jobspb.SubmitRequest{Args: []string{"-c", "true"}, Labels: map[string]string{"good": "1"}})
	p.end(good)
	id := p.shell(`printf '\377\376'`)
	_, err := p.watch(id, nil)
	p.refused("Watch", err, codes.Internal, "invalid UTF-8")
	_, err = p.get(id)
	p.refused("Get", err, codes.Internal, "invalid UTF-8")
	_, err = p.list(&jobspb.ListRequest{})
	p.refused("List", err, codes.Internal, "invalid UTF-8")
	jobs, err := p.list(&jobspb.ListRequest{LabelSelector: map[string]string{"good": "1"}})
	if err != nil || len(jobs) != 1 {
		p.Errorf("List without that job: %v, %v", jobs, err)
	}
}

func checkBinaryIsShown(p *prober) {
	id := p.shell(`printf 'a\377\376b\303'; printf '\377' >&2`)
	j := p.end(id)
	p.equal("stdout without what is no UTF-8", strings.ReplaceAll(string(j.GetStdout()), "\ufffd", ""), "ab")
	p.equal("stderr without what is no UTF-8", strings.ReplaceAll(string(j.GetStderr()), "\ufffd", ""), "")
	if !strings.Contains(string(j.GetStdout()), "\ufffd") || !strings.Contains(string(j.GetStderr()), "\ufffd") {
		p.Errorf("nothing stands for what is no UTF-8: %q, %q", j.GetStdout(), j.GetStderr())
	}
	if _, err := p.get(id); err != nil {
		p.Errorf("Get: %v", err)
	}
	jobs, err := p.list(&jobspb.ListRequest{})
	if err != nil || len(jobs) != 1 {
		p.Errorf("List: %v, %v", jobs, err)
	}
}

func checkLarge(p *prober) {
	const size = 6 << 20
	id := p.mustSubmit(&jobspb.SubmitRequest{Args: []string{"-c", "cat"}, Stdin: strings.Repeat("x", size)})
	j := p.end(id)
	p.equal("bytes of output", len(j.GetStdout()), size)
	got, err := p.get(id)
	if err != nil || len(got.GetStdin()) != size {
		p.Errorf("Get: %d bytes of stdin, %v", len(got.GetStdin()), err)
	}
}

func checkUnknownCall(p *prober) {
	err := p.cc.Invoke(p.ctx, "/"+jobspb.Service+"/NoSuchCall", &jobspb.JobRequest{}, &jobspb.JobResponse{})
	p.refused("the call", err, codes.Unimplemented, "404 (Not Found)")
	p.authorize("Bearer wrong")
	err = p.cc.Invoke(p.ctx, "/"+jobspb.Service+"/NoSuchCall", &jobspb.JobRequest{}, &jobspb.JobResponse{})
	p.refused("the call with a wrong token", err, codes.Unauthenticated, "401")
}
