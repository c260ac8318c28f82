package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// stage is what one scenario plays on. It remembers the workflows that were started, to replay them in the end.
type stage struct {
	client    client.Client
	namespace string
	taskQueue string
	replayer  worker.WorkflowReplayer
	id        string

	mutex   sync.Mutex
	started []workflow.Execution
}

// play runs the scenario, replays its histories, and prints what came of it.
func (s *stage) play(ctx context.Context, each scenario) (err error) {
	begun := time.Now()
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
			if _, isBug := problem.(runtime.Error); isBug {
				err = fmt.Errorf("%v\n%s", problem, debug.Stack())
			}
		}
		if err != nil {
			fmt.Printf("FAILED: %s: %v\n", each.name, err)
			return
		}
		fmt.Printf("ok: %s (%d ms)\n", each.name, time.Since(begun).Milliseconds())
	}()
	each.run(ctx, s)
	return s.replayAll(ctx)
}

// name makes the id of something that belongs to this scenario alone.
func (s *stage) name(what string) string { return s.id + "-" + what }

func (s *stage) start(ctx context.Context, definition any, args ...any) client.WorkflowRun {
	return s.startWith(ctx, client.StartWorkflowOptions{}, definition, args...)
}

func (s *stage) startWith(ctx context.Context, options client.StartWorkflowOptions, definition any, args ...any) client.WorkflowRun {
	if options.TaskQueue == "" {
		options.TaskQueue = s.taskQueue
	}
	run := must(s.client.ExecuteWorkflow(ctx, options, definition, args...))
	s.remember(run)
	return run
}

func (s *stage) remember(run client.WorkflowRun) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.started = append(s.started, workflow.Execution{ID: run.GetID(), RunID: run.GetRunID()})
}

func (s *stage) signal(ctx context.Context, run client.WorkflowRun, name string, arg any) {
	check(s.client.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), name, arg))
}

func (s *stage) describe(ctx context.Context, run client.WorkflowRun) *workflowservice.DescribeWorkflowExecutionResponse {
	return must(s.client.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID()))
}

func (s *stage) status(ctx context.Context, id, runID string) enums.WorkflowExecutionStatus {
	return must(s.client.DescribeWorkflowExecution(ctx, id, runID)).GetWorkflowExecutionInfo().GetStatus()
}

// history reads all events of a run, so far.
func (s *stage) history(ctx context.Context, id, runID string) *history.History {
	read := &history.History{}
	events := s.client.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		read.Events = append(read.Events, must(events.Next()))
	}
	return read
}

// eventsOf picks the events of one type out of a run's history.
func (s *stage) eventsOf(ctx context.Context, run client.WorkflowRun, kind enums.EventType) []*history.HistoryEvent {
	var found []*history.HistoryEvent
	for _, event := range s.history(ctx, run.GetID(), run.GetRunID()).Events {
		if event.GetEventType() == kind {
			found = append(found, event)
		}
	}
	return found
}

// idle waits until the workflow has done what its first task asks of it.
func (s *stage) idle(ctx context.Context, run client.WorkflowRun) {
	eventually(ctx, "a first workflow task", func() bool {
		return len(s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)) > 0
	})
}

// replayAll replays each run that was started, the runs that follow it, and all their children.
func (s *stage) replayAll(ctx context.Context) error {
	seen := map[workflow.Execution]bool{}
	left := s.started
	for len(left) > 0 {
		execution := left[0]
		left = left[1:]
		if seen[execution] {
			continue
		}
		seen[execution] = true
		read := s.history(ctx, execution.ID, execution.RunID)
		options := worker.ReplayWorkflowHistoryOptions{OriginalExecution: execution}
		if err := s.replayer.ReplayWorkflowHistoryWithOptions(quiet(), read, options); err != nil {
			return fmt.Errorf("replay of %s: %w", execution.ID, err)
		}
		for _, event := range read.Events {
			left = append(left, relatives(execution, event)...)
		}
	}
	return nil
}

func relatives(of workflow.Execution, event *history.HistoryEvent) []workflow.Execution {
	if child := event.GetChildWorkflowExecutionStartedEventAttributes(); child != nil {
		return []workflow.Execution{{ID: child.GetWorkflowExecution().GetWorkflowId(), RunID: child.GetWorkflowExecution().GetRunId()}}
	}
	for _, next := range []string{
		event.GetWorkflowExecutionCompletedEventAttributes().GetNewExecutionRunId(),
		event.GetWorkflowExecutionFailedEventAttributes().GetNewExecutionRunId(),
		event.GetWorkflowExecutionTimedOutEventAttributes().GetNewExecutionRunId(),
		event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(),
	} {
		if next != "" {
			return []workflow.Execution{{ID: of.ID, RunID: next}}
		}
	}
	return nil
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(what string, actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Errorf("%s: expected %v, got %v", what, expected, actual))
	}
}

func expectResult[T any](ctx context.Context, run client.WorkflowRun, expected T) {
	var actual T
	check(run.Get(ctx, &actual))
	expect("result", actual, expected)
}

// expectError wants an error of this type.
func expectError[T error](err error) T {
	var wanted T
	if !errors.As(err, &wanted) {
		panic(fmt.Errorf("expected a %T, got %T: %v", wanted, err, err))
	}
	return wanted
}

// eventually waits for what the server does by itself, or shows a moment later.
func eventually(ctx context.Context, what string, isSo func() bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !isSo() {
		select {
		case <-ctx.Done():
			panic(fmt.Errorf("never came true: %s", what))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
