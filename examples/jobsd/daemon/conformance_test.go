package daemon_test

import (
	"testing"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

func TestTheDaemonAnswersLikeTheOriginal(t *testing.T) {
	for name, config := range map[string]daemon.Config{
		"over a unix socket": {},
		"over TCP":           {Socket: "-", Listen: "127.0.0.1:0"},
		"in memory":          {Socket: "-", Memory: true},
	} {
		t.Run(name, func(t *testing.T) {
			config.Agents = registry(t)
			d := start(t, config)
			jobstest.Conformance(t, jobstest.Target{
				URL: d.URL(), DialOptions: d.DialOptions(), Shell: "sh", Corrected: true,
				NewAgent: func(t testing.TB, capabilities ...jobstest.Capability) string {
					var names []string
					for _, c := range capabilities {
						if c != "job_wait" { // which the original knows and which gives nothing
							names = append(names, string(c))
						}
					}
					if names == nil {
						names = []string{}
					}
					a := shell(unique("agent"), names...)
					a.Capabilities = names
					if err := config.Agents.Add(a); err != nil {
						t.Fatal(err)
					}
					token, err := config.Agents.Token(a.Name)
					if err != nil {
						t.Fatal(err)
					}
					return token
				},
			})
		})
	}
}
