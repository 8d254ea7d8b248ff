package pilottest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// Example makes a network with a directory and one specialist and asks it as a
// program would ask the real one. A test uses New, which needs no error handling.
func Example() {
	dir, err := os.MkdirTemp("", "network")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	network, err := pilottest.Open(pilottest.Config{Dir: dir, Generation: pilottest.V116})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = network.Close() }()
	me := network.AddNode(pilottest.Node{Name: "me"})
	network.Specialist("btc-price", pilottest.Script{Data: `{"usd":97000}`})

	cmd := exec.Command(network.Binary, "send-message", "btc-price", "--data=/data {}", "--wait=30s", "--json")
	cmd.Env = me.Env()
	out, err := cmd.Output()
	if err != nil {
		fmt.Println(err)
		return
	}
	var answer struct {
		Data struct{ Reply struct{ Data string } }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Data.Reply.Data)

	call := network.LastCall()
	fmt.Println(call.Verb, call.Args, call.Flags["data"], network.Err())
	// Output:
	// {"usd":97000}
	// send-message [btc-price] /data {} <nil>
}

// ExampleNetwork_Fault spoils the next run only.
func ExampleNetwork_Fault() {
	dir, err := os.MkdirTemp("", "network")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	network, err := pilottest.Open(pilottest.Config{Dir: dir, Generation: pilottest.V12})
	if err != nil {
		fmt.Println(err)
		return
	}
	me := network.AddNode(pilottest.Node{Name: "me"})
	network.Fault(pilottest.Fault{Verb: "trust", Times: 1, Code: "not_running", Message: "daemon is not running"})

	for range 2 {
		cmd := exec.Command(network.Binary, "trust", "--json")
		cmd.Env = me.Env()
		out, _ := cmd.CombinedOutput()
		fmt.Print(string(out))
	}
	// Output:
	// {"code":"not_running","message":"daemon is not running","status":"error"}
	// {"data":{"trusted":[]},"status":"ok"}
}
