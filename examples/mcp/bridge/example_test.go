package bridge_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fantasytools/fantasytools/examples/mcp/bridge"
	"github.com/fantasytools/fantasytools/tool"
)

func ExampleAdd() {
	ctx := context.Background()
	tools, err := tool.LoadTools([]tool.Def{{Name: "echo", Description: "Says it again.", Binary: "echo", Parallel: true}}, "", nil)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	b, err := bridge.Add(server, tools, nil)
	if err != nil {
		log.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports() // a program would use mcp.StdioTransport
	serverSession, err := server.Connect(ctx, there, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"args": []string{"hello"}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Content[0].(*mcp.TextContent).Text)
	_ = client.Close()
	_ = serverSession.Wait()
	b.Close() // ends the calls that still run
	// Output: hello
}
