package jobsclient_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fantasytools/fantasytools/jobsclient"
	"github.com/fantasytools/fantasytools/jobsclient/jobstest"
)

// startDaemon starts a fake daemon; in production the Config comes from FromEnv.
func startDaemon() (jobsclient.Config, func()) {
	daemon, err := jobstest.Start(jobstest.Options{Bins: map[string]jobstest.Bin{
		"report": jobstest.Prints("42 rows\n", 0),
		"sleep":  jobstest.Blocks(nil, ""),
	}})
	if err != nil {
		log.Fatal(err)
	}
	return daemon.Config(), daemon.Close
}

func Example() {
	cfg, stop := startDaemon()
	defer stop()
	client := jobsclient.New(cfg)
	defer func() { _ = client.Close() }()

	ctx := context.Background()
	id, err := client.Submit(ctx, jobsclient.SubmitRequest{Bin: "report", Args: []string{"--year", "2025"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := client.Wait(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(job.Status, " ", job.ExitCode, " ", job.Stdout)
	// Output: done 0 42 rows
}

// A Wait that runs out of time leaves the job alone; Cancel ends it.
func ExampleClient_Wait() {
	cfg, stop := startDaemon()
	defer stop()
	client := jobsclient.New(cfg)
	defer func() { _ = client.Close() }()
	id, err := client.Submit(context.Background(), jobsclient.SubmitRequest{Bin: "sleep"})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	job, err := client.Wait(ctx, id)
	fmt.Println(job.Status, errors.Is(err, context.DeadlineExceeded))

	if err := client.Cancel(context.Background(), id); err != nil {
		fmt.Println(err)
		return
	}
	job, err = client.Wait(context.Background(), id)
	fmt.Println(job.Status, err)
	// Output:
	// running true
	// cancelled <nil>
}

func ExampleClient_List() {
	cfg, stop := startDaemon()
	defer stop()
	client := jobsclient.New(cfg)
	defer func() { _ = client.Close() }()
	ctx := context.Background()
	for _, year := range []string{"2024", "2025"} {
		req := jobsclient.SubmitRequest{Bin: "report", Args: []string{year}, Labels: map[string]string{"year": year}}
		if _, err := client.Submit(ctx, req); err != nil {
			fmt.Println(err)
			return
		}
	}
	jobs, err := client.List(ctx, jobsclient.ListOptions{Labels: map[string]string{"year": "2025"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range jobs {
		fmt.Println(job.Bin, job.Args)
	}
	// Output: report [2025]
}

// Errors are told apart by sentinels, and their texts can be shown as they are.
func ExampleClient_Get() {
	cfg, stop := startDaemon()
	defer stop()
	client := jobsclient.New(cfg)
	defer func() { _ = client.Close() }()

	_, err := client.Get(context.Background(), "job_1")
	fmt.Println(errors.Is(err, jobsclient.ErrNotFound))
	fmt.Println(err)
	// Output:
	// true
	// reading job job_1: there is no such job for this agent: check the id
}
