package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

var lifeWorkflows = []any{timers, cleanUp, countDown, secondTry, tick, sleepLong}

// timers lets one fire, cancels another, and gives up on a condition.
func timers(ctx workflow.Context) (string, error) {
	of, cancel := workflow.WithCancel(ctx)
	long := workflow.NewTimer(of, time.Hour)
	if err := workflow.Sleep(ctx, 10*time.Millisecond); err != nil {
		return "", err
	}
	cancel()
	if err := long.Get(ctx, nil); !temporal.IsCanceledError(err) {
		return "", fmt.Errorf("the long timer was not canceled: %w", err)
	}
	came, err := workflow.AwaitWithTimeout(ctx, 10*time.Millisecond, func() bool { return false })
	return fmt.Sprint("condition: ", came), err
}

// cleanUp runs an activity once it has been canceled.
func cleanUp(ctx workflow.Context) error {
	err := workflow.Sleep(ctx, time.Hour)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return errors.Join(err, workflow.ExecuteActivity(quickly(ctx), greet, "cleaner").Get(ctx, nil))
}

func countDown(ctx workflow.Context, from int) (string, error) {
	if from == 0 {
		return workflow.GetInfo(ctx).ContinuedExecutionRunID, nil
	}
	return "", workflow.NewContinueAsNewError(ctx, countDown, from-1)
}

func secondTry(ctx workflow.Context) (int32, error) {
	attempt := workflow.GetInfo(ctx).Attempt
	if attempt == 1 {
		return 0, errors.New("not yet")
	}
	return attempt, nil
}

// tick ends at once when it runs for the first time, and knows in the next run what that one said.
func tick(ctx workflow.Context) (int, error) {
	last := 0
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &last); err != nil {
			return 0, err
		}
	}
	if err := workflow.SetQueryHandler(ctx, "last", func() (int, error) { return last, nil }); err != nil {
		return 0, err
	}
	if last > 0 {
		return 0, workflow.Sleep(ctx, time.Hour)
	}
	return 7, nil
}

func sleepLong(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }

func expectCanceled(err error) { expectError[*temporal.CanceledError](err) }

var lifeScenarios = []scenario{
	{"timers fire and are canceled", func(ctx context.Context, s *stage) {
		run := s.start(ctx, timers)
		expectResult(ctx, run, "condition: false")
		expect("canceled timers", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_TIMER_CANCELED)), 1)
	}},
	{"a workflow is canceled, and cleans up before it ends", func(ctx context.Context, s *stage) {
		run := s.start(ctx, cleanUp)
		s.idle(ctx, run)
		check(s.client.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
		expectCanceled(run.Get(ctx, nil))
		expect("activities", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)), 1)
	}},
	{"a workflow is terminated, once", func(ctx context.Context, s *stage) {
		run := s.start(ctx, sleepLong)
		check(s.client.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "enough"))
		expectError[*temporal.TerminatedError](run.Get(ctx, nil))
		expectError[*serviceerror.NotFound](s.client.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "again"))
	}},
	{"a workflow that times out ends", func(ctx context.Context, s *stage) {
		run := s.startWith(ctx, client.StartWorkflowOptions{WorkflowRunTimeout: time.Second}, sleepLong)
		expectError[*temporal.TimeoutError](run.Get(ctx, nil))
	}},
	{"a start delay holds a workflow back", func(ctx context.Context, s *stage) {
		begun := time.Now()
		run := s.startWith(ctx, client.StartWorkflowOptions{StartDelay: time.Second}, countDown, 0)
		expectResult(ctx, run, "")
		expect("late enough", time.Since(begun) >= time.Second, true)
	}},
	{"continue as new: a chain of runs with one result", func(ctx context.Context, s *stage) {
		run := s.start(ctx, countDown, 3)
		var before string
		check(s.client.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, &before))
		last := s.describe(ctx, s.client.GetWorkflow(ctx, run.GetID(), "")).GetWorkflowExecutionInfo()
		expect("first run", last.GetFirstRunId(), run.GetRunID())
		expect("has a run before", before != "" && before != last.GetExecution().GetRunId(), true)
	}},
	{"a workflow is retried until it completes, and its client gets the result of the last run", func(ctx context.Context, s *stage) {
		retry := &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 3}
		expectResult(ctx, s.startWith(ctx, client.StartWorkflowOptions{RetryPolicy: retry}, secondTry), int32(2))
	}},
	{"a cron schedule runs a workflow again, with its last result, until it is canceled", func(ctx context.Context, s *stage) {
		run := s.startWith(ctx, client.StartWorkflowOptions{CronSchedule: "@every 1s"}, tick)
		eventually(ctx, "the second run", func() bool {
			var last int
			answer, err := s.client.QueryWorkflow(ctx, run.GetID(), "", "last")
			return err == nil && answer.Get(&last) == nil && last == 7
		})
		check(s.client.CancelWorkflow(ctx, run.GetID(), ""))
		expectCanceled(run.Get(ctx, nil))
	}},
	{"id policies: the id of a running workflow is refused, joined or taken over; that of a closed one is refused or used again", func(ctx context.Context, s *stage) {
		options := func(conflict enums.WorkflowIdConflictPolicy, reuse enums.WorkflowIdReusePolicy) client.StartWorkflowOptions {
			return client.StartWorkflowOptions{
				ID: s.name("once"), TaskQueue: s.taskQueue, WorkflowExecutionErrorWhenAlreadyStarted: true,
				WorkflowIDConflictPolicy: conflict, WorkflowIDReusePolicy: reuse,
			}
		}
		again := enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		first := s.startWith(ctx, options(enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, again), collect, 1)
		refused := func(conflict enums.WorkflowIdConflictPolicy, reuse enums.WorkflowIdReusePolicy) {
			_, err := s.client.ExecuteWorkflow(ctx, options(conflict, reuse), collect, 1)
			expectError[*serviceerror.WorkflowExecutionAlreadyStarted](err)
		}
		refused(enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, again)
		shared := s.startWith(ctx, options(enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, again), collect, 1)
		expect("shared run", shared.GetRunID(), first.GetRunID())
		second := s.startWith(ctx, options(enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING, again), collect, 1)
		expect("first run", s.status(ctx, first.GetID(), first.GetRunID()), enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
		s.signal(ctx, second, "go", "one")
		expectResult(ctx, second, []string{"one"})
		fail := enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
		refused(fail, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
		refused(fail, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
		third := s.startWith(ctx, options(fail, again), collect, 0)
		expectResult(ctx, third, []string{})
	}},
	{"a closed workflow is reset to its first task, and gets its signals again", func(ctx context.Context, s *stage) {
		run := s.start(ctx, collect, 2)
		s.idle(ctx, run)
		s.signal(ctx, run, "go", "one")
		s.signal(ctx, run, "go", "two")
		expectResult(ctx, run, []string{"one", "two"})
		answer := must(s.client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
			Namespace:                 s.namespace,
			WorkflowExecution:         &common.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
			Reason:                    "once more",
			RequestId:                 uuid.NewString(),
			WorkflowTaskFinishEventId: 4,
		}))
		next := s.client.GetWorkflow(ctx, run.GetID(), answer.GetRunId())
		s.remember(next)
		expectResult(ctx, next, []string{"one", "two"})
		expect("reset tasks", len(s.eventsOf(ctx, next, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)), 1)
	}},
}
