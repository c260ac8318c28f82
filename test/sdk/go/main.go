// Command sdk-scenarios runs the scenarios of this folder with the Go SDK on a server, all at once, and replays what they left behind:
//
//	go run . -address 127.0.0.1:7233 [-only 'part of a name']
//
// It prints a line for each scenario, and exits with 0 when every one did what it says and every history replays.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

const scenarioTimeout = 4 * time.Minute

// A query has ten seconds, however slow the machine is: not all of them may run at the same time.
const scenariosAtOnce = 12

// A scenario panics through must, check and expect when something is not as it should be.
type scenario struct {
	name string
	run  func(ctx context.Context, s *stage)
}

func scenarios() []scenario {
	var all []scenario
	for _, some := range [][]scenario{activityScenarios, messageScenarios, updateScenarios, lifeScenarios, childScenarios, operationScenarios, workerScenarios} {
		all = append(all, some...)
	}
	return all
}

// workflows is every definition that a history may need to be replayed.
func workflows() []any {
	var all []any
	for _, some := range [][]any{activityWorkflows, messageWorkflows, updateWorkflows, lifeWorkflows, childWorkflows, operationWorkflows, workerWorkflows} {
		all = append(all, some...)
	}
	return all
}

func main() {
	address := flag.String("address", client.DefaultHostPort, "host:port of the server")
	namespace := flag.String("namespace", client.DefaultNamespace, "namespace")
	only := flag.String("only", "", "run only scenarios with this in their name")
	flag.Parse()
	failed, err := runAll(*address, *namespace, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

func runAll(address, namespace, only string) (failed int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: quiet()})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := registerSearchAttributes(ctx, c, namespace); err != nil {
		return 0, err
	}
	taskQueue := fmt.Sprintf("go-%d", time.Now().UnixNano())
	w := newWorker(c, taskQueue, worker.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8})
	if err := w.Start(); err != nil {
		return 0, err
	}
	defer w.Stop()
	replayer := worker.NewWorkflowReplayer()
	for _, definition := range workflows() {
		replayer.RegisterWorkflow(definition)
	}

	results := make(chan error)
	room := make(chan struct{}, scenariosAtOnce)
	var running sync.WaitGroup
	for number, each := range scenarios() {
		if !strings.Contains(each.name, only) {
			continue
		}
		s := &stage{client: c, namespace: namespace, taskQueue: taskQueue, replayer: replayer, id: fmt.Sprintf("%s-%d", taskQueue, number)}
		running.Go(func() {
			room <- struct{}{}
			results <- s.play(ctx, each)
			<-room
		})
	}
	go func() {
		running.Wait()
		close(results)
	}()
	for result := range results {
		if result != nil {
			failed++
		}
	}
	return failed, nil
}

// newWorker is quick to hear, by heartbeats, that an activity is canceled.
func newWorker(c client.Client, taskQueue string, options worker.Options) worker.Worker {
	options.MaxHeartbeatThrottleInterval = 100 * time.Millisecond
	w := worker.New(c, taskQueue, options)
	for _, definition := range workflows() {
		w.RegisterWorkflow(definition)
	}
	for _, definition := range activities {
		w.RegisterActivity(definition)
	}
	return w
}

// registerSearchAttributes adds those that other suites use, too.
func registerSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	for name, kind := range map[string]enums.IndexedValueType{
		"SdkKeyword": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"SdkInt":     enums.INDEXED_VALUE_TYPE_INT,
	} {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace:        namespace,
			SearchAttributes: map[string]enums.IndexedValueType{name: kind},
		})
		if err != nil && !strings.Contains(err.Error(), "already exist") {
			return err
		}
	}
	return nil
}

// quiet keeps the SDK's own messages out of the way: much is meant to fail here, and what is wrong comes back as an error.
func quiet() log.Logger {
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 4})))
}
