package front_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/front"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

const unauthorized = `unexpected HTTP status code received from server: 401 (Unauthorized); transport: received unexpected content-type "application/json"`

// unauthorized checks what a gRPC client makes of HTTP 401.
func (r *rig) unauthorized(err error) {
	r.Helper()
	if st := status.Convert(err); st.Code() != codes.Unauthenticated || !strings.HasPrefix(st.Message(), unauthorized) {
		r.Errorf("got %v", err)
	}
}

func TestTokensAreCheckedBeforeAnythingElse(t *testing.T) {
	r := start(t, setup{})
	good := r.token("me")
	refused := map[string][]string{
		"none": nil, "an empty one": {""}, "only the scheme": {"Bearer "}, "a wrong one": {"Bearer wrong"},
		"the scheme in small letters": {"bearer " + good}, "no scheme": {good}, "a changed one": {"Bearer " + good + "x"},
		"a second value": {"Bearer wrong", "Bearer " + good},
	}
	for what, values := range refused {
		ctx := authorized(r.ctx(), values...)
		_, err := r.get(ctx, "job_x")
		r.unauthorized(err)
		_, err = r.watch(ctx, "job_x").next()
		r.unauthorized(err)
		_, err = call[jobsdpb.JobResponse](r, ctx, "/"+jobsdpb.Service+"/NoSuchCall", &jobsdpb.JobRequest{})
		r.unauthorized(err)
		if t.Failed() {
			t.Fatal(what)
		}
	}
	for _, value := range []string{"Bearer " + good, "Bearer   " + good + "  ", "Bearer " + operatorToken} {
		_, err := r.get(authorized(r.ctx(), value, "Bearer wrong"), "job_x")
		r.refused(err, codes.NotFound, "async job not found")
	}
}

func TestWithoutAnOperatorTokenThereIsNoOperator(t *testing.T) {
	r := start(t, setup{})
	none := front.New(front.Config{Store: r.store, Agents: r.agents})
	r.serve(none.Handler(false))
	r.cc = r.dial()
	for _, value := range []string{"Bearer ", "Bearer  ", "Bearer " + operatorToken} {
		_, err := r.get(authorized(r.ctx(), value), "job_x")
		r.unauthorized(err)
	}
}

func TestAnUnknownPathIs404(t *testing.T) {
	r := start(t, setup{})
	_, err := call[jobsdpb.JobResponse](r, r.as("me"), "/"+jobsdpb.Service+"/NoSuchCall", &jobsdpb.JobRequest{})
	if err == nil || !strings.Contains(err.Error(), "404 (Not Found)") || !strings.Contains(err.Error(), "text/plain") {
		t.Errorf("got %v", err)
	}
}

// web is an HTTP/1.1 client of the rig's socket.
func (r *rig) web() *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}
	r.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (r *rig) post(path, kind, token, body string) (int, string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://jobsd"+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.web().Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	all, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	return response.StatusCode, string(all)
}

func TestConnectJSONOverHTTP1(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxStdin: 1000, MaxArgs: 500}})
	token := r.token("me")
	const kind = "application/json"
	code, body := r.post(jobsdpb.SubmitPath, kind, token, `{"bin":"sh","args":["-c","true"],"labels":{"k":"v"}}`)
	var submitted struct{ JobID string }
	if err := json.Unmarshal([]byte(body), &submitted); err != nil || code != http.StatusOK || !strings.HasPrefix(submitted.JobID, "job_") {
		t.Fatal(code, body, err)
	}
	tests := []struct {
		name, path, token, body string
		code                    int
		want                    string
	}{
		{"the row", jobsdpb.GetPath, token, `{"jobId":"` + submitted.JobID + `"}`, 200, `"status":"pending"`},
		{"the alias", "/api" + jobsdpb.GetPath, token, `{"job_id":"` + submitted.JobID + `"}`, 200, `"status":"pending"`},
		{"no job", jobsdpb.GetPath, token, `{"jobId":"x"}`, 404, `{"code":"not_found","message":"async job not found"}`},
		{"no token", jobsdpb.GetPath, "", `{}`, 401, `{"code":"unauthenticated","message":"missing or invalid bearer token"}`},
		{"no token at the alias", "/api" + jobsdpb.GetPath, "", `{}`, 401, `{"code":"unauthenticated","message":"missing or invalid bearer token"}`},
		{"no such path", "/x", token, `{}`, 404, "404 page not found\n"},
		{"no such path, no token", "/x", "", `{}`, 401, `{"code":"unauthenticated","message":"missing or invalid bearer token"}`},
		{"the alias of nothing", "/api", token, `{}`, 404, "404 page not found\n"},
		{"not JSON", jobsdpb.GetPath, token, `{`, 400, `{"code":"invalid_argument","message":"unmarshal message: unexpected EOF"}`},
		{"nothing", jobsdpb.GetPath, token, ``, 400, `{"code":"invalid_argument","message":"unmarshal message: it is empty, and not a JSON object"}`},
		{"another type", jobsdpb.GetPath, token, `{"jobId":5}`, 400, `"message":"unmarshal message: (line 1:10): invalid value for string field jobId: 5"`},
		{"not UTF-8", jobsdpb.SubmitPath, token, "{\"bin\":\"\xff\"}", 400, "invalid UTF-8"},
		{"too long", jobsdpb.SubmitPath, token, `{"stdin":"` + strings.Repeat("x", 100_000) + `"}`, 400,
			"the request has 100012 bytes, of which the daemon reads at most 68536: stdin may have 1000 bytes, args and labels together 500"},
		{"too long for a Get", jobsdpb.GetPath, token, `{"jobId":"` + strings.Repeat("x", 100_000) + `"}`, 400,
			"the request has 100012 bytes, of which the daemon reads at most 66536"},
		{"health without a token", "/grpc.health.v1.Health/Check", "", `{}`, 200, `{"status":"SERVING_STATUS_SERVING"}`},
		{"health at the alias", "/api/grpc.health.v1.Health/Check", "", `{"service":"` + jobsdpb.Service + `"}`, 200, `{"status":"SERVING_STATUS_SERVING"}`},
		{"health of something else", "/grpc.health.v1.Health/Check", "", `{"service":"x"}`, 404, `unknown service`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r.TB = t
			if code, body := r.post(test.path, kind, test.token, test.body); code != test.code || !strings.Contains(body, test.want) {
				t.Errorf("got %d %s\nwant %d with %s", code, body, test.code, test.want)
			}
		})
	}
}

func TestAWatchInJSONOverHTTP1(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs().ends(store.Done)
	message := `{"jobId":"` + job.Id + `"}`
	code, body := r.post(jobsdpb.WatchPath, "application/connect+json", r.token("me"), "\x00\x00\x00\x00"+string(rune(len(message)))+message)
	if code != http.StatusOK || strings.Count(body, `"status":"done"`) != 1 || !strings.Contains(body, "{}") {
		t.Errorf("got %d %q", code, body)
	}
}

func TestGRPCWebOverHTTP1(t *testing.T) {
	r := start(t, setup{})
	job := r.pending()
	message, err := proto.Marshal(&jobsdpb.JobRequest{JobId: job.Id})
	if err != nil {
		t.Fatal(err)
	}
	code, body := r.post(jobsdpb.GetPath, "application/grpc-web+proto", r.token("me"), "\x00\x00\x00\x00"+string(rune(len(message)))+string(message))
	if code != http.StatusOK || !strings.Contains(body, job.Id) || !strings.Contains(body, "grpc-status: 0") {
		t.Errorf("got %d %q", code, body)
	}
}

func TestRequestsWithoutALength(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxStdin: 1000, MaxArgs: 500}})
	read, write := io.Pipe()
	go func() {
		_, _ = io.WriteString(write, `{"bin":"sh","stdin":"`+strings.Repeat("x", 100_000)+`"}`)
		_ = write.Close()
	}()
	request, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://jobsd"+jobsdpb.SubmitPath, read)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.token("me"))
	response, err := r.web().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), "larger than configured max 68536") {
		t.Errorf("got %d %s, %v", response.StatusCode, body, err)
	}
}

func TestCompressedRequestsAreBoundedByWhatTheyHold(t *testing.T) {
	r := start(t, setup{front: front.Config{MaxStdin: 1000, MaxArgs: 500}})
	for size, want := range map[int]string{
		1000:    `{"jobId":"job_`,
		1 << 20: `"message":"message size 1048599 is larger than configured max 68536"`,
	} {
		var body bytes.Buffer
		zip := gzip.NewWriter(&body)
		_, _ = io.WriteString(zip, `{"bin":"sh","stdin":"`+strings.Repeat("x", size)+`"}`)
		_ = zip.Close()
		request, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://jobsd"+jobsdpb.SubmitPath, &body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.token("me")}, "Content-Encoding": {"gzip"}}
		response, err := r.web().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%d bytes: %s, %v", size, answer, err)
		}
	}
}

func TestAnswersAreCompressedForWhoAsks(t *testing.T) {
	r := start(t, setup{})
	job := r.pending().runs().writes(store.Stdout, strings.Repeat("x", 20_000)).ends(store.Done)
	request, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://jobsd"+jobsdpb.GetPath, strings.NewReader(`{"jobId":"`+job.Id+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.token("me")}, "Accept-Encoding": {"gzip"}}
	response, err := r.web().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil || len(body) > 2000 {
		t.Fatal(len(body), err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(plain); err != nil || !strings.Contains(string(text), strings.Repeat("x", 20_000)) {
		t.Error(len(text), err)
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string                  { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error {
	return proto.Unmarshal(data, v.(proto.Message))
}

func TestInvalidUTF8InARequestIsRefused(t *testing.T) {
	r := start(t, setup{})
	for field, name := range map[byte]string{2: "bin", 3: "args", 4: "stdin"} {
		message := []byte{field<<3 | 2, 2, 'a', 0xff}
		err := r.cc.Invoke(r.as("me"), jobsdpb.SubmitPath, message, &jobsdpb.SubmitResponse{}, grpc.ForceCodec(rawCodec{}))
		if err == nil || !strings.Contains(err.Error(), "InvalidArgument") || !strings.Contains(err.Error(), "invalid UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for what, message := range map[string][]byte{"rubbish": {0xff, 0xff}, "a cut one": {2<<3 | 2, 200, 'a'}} {
		err := r.cc.Invoke(r.as("me"), jobsdpb.SubmitPath, message, &jobsdpb.SubmitResponse{}, grpc.ForceCodec(rawCodec{}))
		if err == nil || !strings.Contains(err.Error(), "InvalidArgument") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHealth(t *testing.T) {
	r := start(t, setup{healthToken: true})
	check := func(ctx context.Context) (healthpb.HealthCheckResponse_ServingStatus, error) {
		answer, err := healthpb.NewHealthClient(r.cc).Check(ctx, &healthpb.HealthCheckRequest{Service: jobsdpb.Service})
		return answer.GetStatus(), err
	}
	_, err := check(r.ctx())
	r.unauthorized(err)
	if status, err := check(r.as("me")); err != nil || status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("it is %v, %v", status, err)
	}
	r.front.Drain()
	if status, err := check(r.as("me")); err != nil || status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("draining it is %v, %v", status, err)
	}
}

func TestHealthFollowsTheStore(t *testing.T) {
	r := start(t, setup{})
	r.nc.Close()
	answer, err := healthpb.NewHealthClient(r.cc).Check(r.ctx(), &healthpb.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("it is %v, %v", answer.GetStatus(), err)
	}
}

// notes is an Observer that remembers.
type notes struct {
	mu      sync.Mutex
	calls   []string
	watches []int
	agents  []string
}

func (n *notes) Call(name, code string, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if took < 0 {
		name += " in no time"
	}
	n.calls = append(n.calls, name+" "+code)
}

func (n *notes) Watches(open int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watches = append(n.watches, open)
}

func (n *notes) Submitted(agent string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agents = append(n.agents, agent)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := strings.Join(n.calls, ", ")
	for _, open := range n.watches {
		out += "; " + strconv.Itoa(open) + " watches"
	}
	return out + "; " + strings.Join(n.agents, ", ")
}

func TestTheObserverHearsOfAllCalls(t *testing.T) {
	n := &notes{}
	r := start(t, setup{front: front.Config{Observer: n}})
	ctx := r.as("me")
	id, err := r.submit(ctx, &jobsdpb.SubmitRequest{Bin: "sh"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.get(ctx, "x")
	_ = r.cancel(ctx, id)
	w := r.watch(ctx, id)
	w.must()
	w.ends()
	eventually(t, "the end of the watch", func() bool { return strings.Contains(n.String(), "Watch ok") })
	_, _ = r.list(ctx, &jobsdpb.ListRequest{})
	_, _ = r.get(r.ctx(), "x")
	_, _ = call[jobsdpb.JobResponse](r, ctx, "/x/y", &jobsdpb.JobRequest{})
	const want = "Submit ok, Get not_found, Cancel ok, Watch ok, List ok, Get unauthenticated, unknown unimplemented; 1 watches; 0 watches; me"
	if got := n.String(); got != want {
		t.Errorf("it heard %s\nwant %s", got, want)
	}
}
