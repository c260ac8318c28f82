// Command sdk-smoke runs three workflows with the Go SDK on a server and replays what they left behind:
//
//	go run . -address 127.0.0.1:7233
//
// It exits with 0 when every result was right and every history replays.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Activities

func greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

func failOnce(ctx context.Context) (int32, error) {
	attempt := activity.GetInfo(ctx).Attempt
	if attempt == 1 {
		return 0, errors.New("not yet")
	}
	return attempt, nil
}

// Workflows

func greeting(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	})
	var hello string
	if err := workflow.ExecuteActivity(ctx, greet, name).Get(ctx, &hello); err != nil {
		return "", err
	}
	var attempt int32
	if err := workflow.ExecuteActivity(ctx, failOnce).Get(ctx, &attempt); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (attempt %d)", hello, attempt), nil
}

func collect(ctx workflow.Context) ([]string, error) {
	var values []string
	if err := workflow.SetQueryHandler(ctx, "seen", func() ([]string, error) { return values, nil }); err != nil {
		return nil, err
	}
	signals := workflow.GetSignalChannel(ctx, "go")
	for len(values) < 2 {
		var value string
		signals.Receive(ctx, &value)
		values = append(values, value)
	}
	return values, nil
}

func parent(ctx workflow.Context) (string, error) {
	if err := workflow.Sleep(ctx, 10*time.Millisecond); err != nil {
		return "", err
	}
	version := workflow.GetVersion(ctx, "a-change", workflow.DefaultVersion, 1)
	var random int
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return 42 }).Get(&random); err != nil {
		return "", err
	}
	var fromChild string
	if err := workflow.ExecuteChildWorkflow(ctx, child, random).Get(ctx, &fromChild); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, version %d", fromChild, version), nil
}

func child(_ workflow.Context, number int) (string, error) {
	return fmt.Sprintf("child of %d", number), nil
}

// A scenario starts a workflow, does what it needs and checks the result.
type scenario struct {
	name string
	run  func(context.Context, *smoke) (client.WorkflowRun, error)
}

var scenarios = []scenario{
	{"activity", func(ctx context.Context, s *smoke) (client.WorkflowRun, error) {
		return s.runTo(ctx, "Hello, Go! (attempt 2)", greeting, "Go")
	}},
	{"signal and query", func(ctx context.Context, s *smoke) (client.WorkflowRun, error) {
		run, err := s.start(ctx, collect)
		if err != nil {
			return nil, err
		}
		if err := s.client.SignalWorkflow(ctx, run.GetID(), "", "go", "one"); err != nil {
			return run, err
		}
		answer, err := s.client.QueryWorkflow(ctx, run.GetID(), "", "seen")
		if err != nil {
			return run, err
		}
		var seen []string
		if err := answer.Get(&seen); err != nil || len(seen) != 1 || seen[0] != "one" {
			return run, fmt.Errorf("the query saw %v, error %w", seen, err)
		}
		if err := s.client.SignalWorkflow(ctx, run.GetID(), "", "go", "two"); err != nil {
			return run, err
		}
		return run, expect(ctx, run, []string{"one", "two"})
	}},
	{"timer, markers and child", func(ctx context.Context, s *smoke) (client.WorkflowRun, error) {
		return s.runTo(ctx, "child of 42, version 1", parent)
	}},
}

type smoke struct {
	client    client.Client
	taskQueue string
}

func (s *smoke) start(ctx context.Context, definition any, args ...any) (client.WorkflowRun, error) {
	return s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: s.taskQueue}, definition, args...)
}

func (s *smoke) runTo(ctx context.Context, expected string, definition any, args ...any) (client.WorkflowRun, error) {
	run, err := s.start(ctx, definition, args...)
	if err != nil {
		return nil, err
	}
	return run, expect(ctx, run, expected)
}

func expect[T any](ctx context.Context, run client.WorkflowRun, expected T) error {
	var actual T
	if err := run.Get(ctx, &actual); err != nil {
		return err
	}
	if fmt.Sprint(actual) != fmt.Sprint(expected) {
		return fmt.Errorf("expected %v, got %v", expected, actual)
	}
	return nil
}

// replay reads the history back and runs it through the SDK's replayer.
func (s *smoke) replay(ctx context.Context, run client.WorkflowRun) error {
	var read history.History
	events := s.client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		read.Events = append(read.Events, event)
	}
	replayer := worker.NewWorkflowReplayer()
	for _, definition := range []any{greeting, collect, parent, child} {
		replayer.RegisterWorkflow(definition)
	}
	return replayer.ReplayWorkflowHistory(quiet(), &read)
}

func (s *smoke) replayChildren(ctx context.Context, run client.WorkflowRun) error {
	events := s.client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		if started := event.GetChildWorkflowExecutionStartedEventAttributes(); started != nil {
			if err := s.replay(ctx, execution(ctx, s.client, started.GetWorkflowExecution())); err != nil {
				return err
			}
		}
	}
	return nil
}

func execution(ctx context.Context, c client.Client, of *common.WorkflowExecution) client.WorkflowRun {
	return c.GetWorkflow(ctx, of.GetWorkflowId(), of.GetRunId())
}

func main() {
	address := flag.String("address", client.DefaultHostPort, "host:port of the server")
	namespace := flag.String("namespace", client.DefaultNamespace, "namespace")
	flag.Parse()
	if err := runAll(*address, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runAll(address, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: quiet()})
	if err != nil {
		return err
	}
	defer c.Close()
	s := &smoke{client: c, taskQueue: fmt.Sprintf("go-%d", time.Now().UnixNano())}
	w := worker.New(c, s.taskQueue, worker.Options{})
	for _, definition := range []any{greeting, collect, parent, child} {
		w.RegisterWorkflow(definition)
	}
	w.RegisterActivity(greet)
	w.RegisterActivity(failOnce)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	for _, scenario := range scenarios {
		run, err := scenario.run(ctx, s)
		if err == nil {
			err = errors.Join(s.replay(ctx, run), s.replayChildren(ctx, run))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
		fmt.Println("ok:", scenario.name)
	}
	return nil
}

// quiet keeps the SDK's own messages out of the way: one of the activities is meant to fail, and what is wrong comes back as an error.
func quiet() log.Logger {
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 4})))
}
