package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	wf "go.temporal.io/sdk/workflow"
)

var activityWorkflows = []any{greeting, giveUp, timeOut, goOn, cancelActivity, delegate, retryForLong, local, failedLocal}

// quickly are the options that an activity has unless its workflow is about others.
func quickly(ctx wf.Context) wf.Context {
	return wf.WithActivityOptions(ctx, wf.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	})
}

func greeting(ctx wf.Context, name string) (string, error) {
	ctx = quickly(ctx)
	var hello string
	if err := wf.ExecuteActivity(ctx, greet, name).Get(ctx, &hello); err != nil {
		return "", err
	}
	var attempt int32
	if err := wf.ExecuteActivity(ctx, succeedAt, 3).Get(ctx, &attempt); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (attempt %d)", hello, attempt), nil
}

func giveUp(ctx wf.Context) error {
	return wf.ExecuteActivity(quickly(ctx), failForGood).Get(ctx, nil)
}

// timeOut tells which timeouts two activities ran into.
func timeOut(ctx wf.Context, idleQueue string) ([]string, error) {
	once := &temporal.RetryPolicy{MaximumAttempts: 1}
	unheard := wf.ExecuteActivity(wf.WithActivityOptions(ctx, wf.ActivityOptions{
		TaskQueue:              idleQueue,
		ScheduleToStartTimeout: 200 * time.Millisecond,
		StartToCloseTimeout:    time.Minute,
	}), greet, "nobody")
	slow := wf.ExecuteActivity(wf.WithActivityOptions(ctx, wf.ActivityOptions{
		StartToCloseTimeout: 300 * time.Millisecond,
		RetryPolicy:         once,
	}), overrun)
	var kinds []string
	for _, each := range []wf.Future{unheard, slow} {
		var timeout *temporal.TimeoutError
		if err := each.Get(ctx, nil); !errors.As(err, &timeout) {
			return nil, fmt.Errorf("no timeout: %w", err)
		}
		kinds = append(kinds, timeout.TimeoutType().String())
	}
	return kinds, nil
}

func goOn(ctx wf.Context) (string, error) {
	ctx = wf.WithActivityOptions(ctx, wf.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		HeartbeatTimeout:    time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	})
	var said string
	err := wf.ExecuteActivity(ctx, fallSilentOnce).Get(ctx, &said)
	return said, err
}

// cancelActivity waits for the word, cancels its activity, and says what the activity said about that.
func cancelActivity(ctx wf.Context) (string, error) {
	of, cancel := wf.WithCancel(ctx)
	running := wf.ExecuteActivity(wf.WithActivityOptions(of, wf.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		HeartbeatTimeout:    5 * time.Second,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	}), beatUntilCanceled)
	wf.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	cancel()
	var canceled *temporal.CanceledError
	if err := running.Get(ctx, nil); !errors.As(err, &canceled) {
		return "", fmt.Errorf("not canceled: %w", err)
	}
	var said string
	return said, canceled.Details(&said)
}

func delegate(ctx wf.Context) (string, error) {
	ctx = wf.WithActivityOptions(ctx, wf.ActivityOptions{ActivityID: "delegated", StartToCloseTimeout: 20 * time.Second})
	var result string
	err := wf.ExecuteActivity(ctx, completeElsewhere).Get(ctx, &result)
	return result, err
}

// retryForLong would try again in an hour.
func retryForLong(ctx wf.Context) (int32, error) {
	ctx = wf.WithActivityOptions(ctx, wf.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Hour},
	})
	var attempt int32
	err := wf.ExecuteActivity(ctx, succeedAt, 2).Get(ctx, &attempt)
	return attempt, err
}

func local(ctx wf.Context) (int32, error) {
	ctx = wf.WithLocalActivityOptions(ctx, wf.LocalActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	})
	var attempt int32
	err := wf.ExecuteLocalActivity(ctx, succeedAt, int32(3)).Get(ctx, &attempt)
	return attempt, err
}

func failedLocal(ctx wf.Context) error {
	ctx = wf.WithLocalActivityOptions(ctx, wf.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	return wf.ExecuteLocalActivity(ctx, failForGood).Get(ctx, nil)
}

var activityScenarios = []scenario{
	{"an activity is retried until it completes", func(ctx context.Context, s *stage) {
		run := s.start(ctx, greeting, "Go")
		expectResult(ctx, run, "Hello, Go! (attempt 3)")
		expect("started events", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_ACTIVITY_TASK_STARTED)), 2)
	}},
	{"a non-retryable failure ends activity and workflow, with its type and details", func(ctx context.Context, s *stage) {
		failure := expectError[*temporal.ApplicationError](s.start(ctx, giveUp).Get(ctx, nil))
		var details string
		check(failure.Details(&details))
		expect("failure", []any{failure.Type(), failure.Message(), details, failure.NonRetryable()}, []any{"Hopeless", "no use", "details", true})
	}},
	{"the timeouts of activities are distinguished by their types", func(ctx context.Context, s *stage) {
		expectResult(ctx, s.start(ctx, timeOut, s.name("nobody")), []string{"ScheduleToStart", "StartToClose"})
	}},
	{"an activity without heartbeats times out, and its next attempt continues from its last details", func(ctx context.Context, s *stage) {
		expectResult(ctx, s.start(ctx, goOn), "goes on from halfway")
	}},
	{"an activity is canceled, learns of it by its heartbeat, and reports what it cleaned up", func(ctx context.Context, s *stage) {
		run := s.start(ctx, cancelActivity)
		s.pending(ctx, run, func(each *workflow.PendingActivityInfo) bool { return each.GetHeartbeatDetails() != nil })
		s.signal(ctx, run, "go", nil)
		expectResult(ctx, run, "cleaned up")
	}},
	{"an activity is completed by its token, after a heartbeat from outside", func(ctx context.Context, s *stage) {
		run := s.start(ctx, delegate)
		token := <-tokenOf(run.GetID())
		check(s.client.RecordActivityHeartbeat(ctx, token, "alive"))
		check(s.client.CompleteActivity(ctx, token, "by token", nil))
		expectResult(ctx, run, "by token")
	}},
	{"an activity is completed by its id", func(ctx context.Context, s *stage) {
		run := s.start(ctx, delegate)
		<-tokenOf(run.GetID())
		check(s.client.CompleteActivityByID(ctx, s.namespace, run.GetID(), run.GetRunID(), "delegated", "by id", nil))
		expectResult(ctx, run, "by id")
	}},
	{"an activity is paused while it waits, and continues once it is unpaused", func(ctx context.Context, s *stage) {
		run := s.start(ctx, retryForLong)
		s.pending(ctx, run, func(each *workflow.PendingActivityInfo) bool { return each.GetAttempt() == 2 })
		service := s.client.WorkflowService()
		must(service.PauseActivity(ctx, &workflowservice.PauseActivityRequest{
			Namespace: s.namespace, Execution: executionOf(run), Identity: "operator", Reason: "look",
			Activity: &workflowservice.PauseActivityRequest_Type{Type: "succeedAt"},
		}))
		s.pending(ctx, run, func(each *workflow.PendingActivityInfo) bool {
			return each.GetPaused() && each.GetState() == enums.PENDING_ACTIVITY_STATE_PAUSED
		})
		must(service.UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
			Namespace: s.namespace, Execution: executionOf(run), Identity: "operator",
			Activity: &workflowservice.UnpauseActivityRequest_Type{Type: "succeedAt"},
		}))
		expectResult(ctx, run, int32(2))
	}},
	{"an activity that waits for its retry is reset, and starts again", func(ctx context.Context, s *stage) {
		run := s.start(ctx, retryForLong)
		ended := func() time.Time {
			last := s.pending(ctx, run, func(each *workflow.PendingActivityInfo) bool { return each.GetAttempt() == 2 })
			return last.GetLastAttemptCompleteTime().AsTime()
		}
		first := ended()
		must(s.client.WorkflowService().ResetActivity(ctx, &workflowservice.ResetActivityRequest{
			Namespace: s.namespace, Execution: executionOf(run), Identity: "operator",
			Activity: &workflowservice.ResetActivityRequest_Id{Id: "5"},
		}))
		eventually(ctx, "another first attempt", func() bool { return ended().After(first) })
		check(s.client.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "seen enough"))
	}},
	{"a local activity is retried by the worker, and is one marker", func(ctx context.Context, s *stage) {
		run := s.start(ctx, local)
		expectResult(ctx, run, int32(3))
		expect("markers", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_MARKER_RECORDED)), 1)
	}},
	{"a local activity that fails for good fails its workflow", func(ctx context.Context, s *stage) {
		failure := expectError[*temporal.ApplicationError](s.start(ctx, failedLocal).Get(ctx, nil))
		expect("type", failure.Type(), "Hopeless")
	}},
}

// pending waits for the one activity of a workflow to be as it is wanted.
func (s *stage) pending(ctx context.Context, run client.WorkflowRun, isSo func(*workflow.PendingActivityInfo) bool) *workflow.PendingActivityInfo {
	var found *workflow.PendingActivityInfo
	eventually(ctx, "a pending activity as it is wanted", func() bool {
		all := s.describe(ctx, run).GetPendingActivities()
		if len(all) == 1 {
			found = all[0]
		}
		return found != nil && isSo(found)
	})
	return found
}

func executionOf(run client.WorkflowRun) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()}
}
