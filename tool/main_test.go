//go:build unix

package tool

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"charm.land/fantasy"
	"go.uber.org/goleak"
)

// childVar makes the test binary one of the programs that tests run.
const childVar = "FANTASYTOOLS_TEST_CHILD"

// children are those programs, by the value of childVar.
var children = map[string]func(){
	"argv": printArgv,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVar)]; child != nil {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// memoryVar is the script that measureMemory runs.
const memoryVar = "FANTASYTOOLS_TEST_SCRIPT"

// measureMemory runs a script as a tool and prints by how many KiB the peak of
// this process's memory rose, and the call's metadata.
func measureMemory() {
	tools, err := LoadTools([]Def{{Name: "sh", Description: "A shell.", Binary: "/bin/sh", Timeout: -1}}, "", nil)
	if err != nil {
		panic(err)
	}
	run := func(script string) string {
		resp, err := tools[0].Run(context.Background(), fantasy.ToolCall{Input: fmt.Sprintf(`{"args":["-c",%q]}`, script)})
		if err != nil {
			panic(err)
		}
		return resp.Metadata
	}
	run("echo warm")
	before := peakMemory()
	metadata := run(os.Getenv(memoryVar))
	fmt.Println(peakMemory()-before, metadata)
}

// peakMemory is the most memory this process has had resident, in KiB, as Linux
// tells it.
func peakMemory() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	peak, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		panic(err)
	}
	return peak
}
