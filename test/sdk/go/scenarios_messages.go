package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

var messageWorkflows = []any{collect, tell}

// collect waits for so many signals, and shows what came so far.
func collect(ctx workflow.Context, wanted int) ([]string, error) {
	values := []string{}
	if err := workflow.SetQueryHandler(ctx, "seen", func() ([]string, error) { return values, nil }); err != nil {
		return nil, err
	}
	if err := workflow.SetQueryHandler(ctx, "broken", func() ([]string, error) { return nil, errors.New("no answer") }); err != nil {
		return nil, err
	}
	signals := workflow.GetSignalChannel(ctx, "go")
	for len(values) < wanted {
		var value string
		signals.Receive(ctx, &value)
		values = append(values, value)
	}
	return values, nil
}

// tell signals one workflow, cancels another, and signals one that is not there.
func tell(ctx workflow.Context, signaled, canceled, missing string) (string, error) {
	if err := workflow.SignalExternalWorkflow(ctx, signaled, "", "go", "from outside").Get(ctx, nil); err != nil {
		return "", err
	}
	if err := workflow.RequestCancelExternalWorkflow(ctx, canceled, "").Get(ctx, nil); err != nil {
		return "", err
	}
	err := workflow.SignalExternalWorkflow(ctx, missing, "", "go", "").Get(ctx, nil)
	if err == nil {
		return "", errors.New("a workflow that is not there was signaled")
	}
	return fmt.Sprintf("%T", err), nil
}

func (s *stage) seen(ctx context.Context, run client.WorkflowRun) []string {
	var seen []string
	check(must(s.client.QueryWorkflow(ctx, run.GetID(), run.GetRunID(), "seen")).Get(&seen))
	return seen
}

var messageScenarios = []scenario{
	{"signals reach the workflow in order, and a query sees each that was acknowledged", func(ctx context.Context, s *stage) {
		run := s.start(ctx, collect, 12)
		wanted := []string{}
		for n := range 12 {
			wanted = append(wanted, fmt.Sprint(n))
			s.signal(ctx, run, "go", fmt.Sprint(n))
			if n == 5 {
				expect("seen", s.seen(ctx, run), wanted)
			}
		}
		expectResult(ctx, run, wanted)
	}},
	{"a failing or unknown query leaves the workflow alone", func(ctx context.Context, s *stage) {
		run := s.start(ctx, collect, 1)
		_, err := s.client.QueryWorkflow(ctx, run.GetID(), "", "broken")
		expect("failed", expectError[*serviceerror.QueryFailed](err).Error(), "no answer")
		_, err = s.client.QueryWorkflow(ctx, run.GetID(), "", "strange")
		expect("unknown", strings.Contains(expectError[*serviceerror.QueryFailed](err).Error(), "unknown queryType strange"), true)
		expect("failed tasks", len(s.eventsOf(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)), 0)
		s.signal(ctx, run, "go", "one")
		expectResult(ctx, run, []string{"one"})
	}},
	{"a closed workflow answers queries, unless the caller rejects that", func(ctx context.Context, s *stage) {
		run := s.start(ctx, collect, 0)
		expectResult(ctx, run, []string{})
		expect("seen", s.seen(ctx, run), []string{})
		answer := must(s.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: run.GetID(), QueryType: "seen", QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
		}))
		expect("status", answer.QueryRejected.GetStatus(), enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}},
	{"signal with start starts a workflow, and then only signals it", func(ctx context.Context, s *stage) {
		options := client.StartWorkflowOptions{TaskQueue: s.taskQueue}
		id := s.name("signaled")
		first := must(s.client.SignalWithStartWorkflow(ctx, id, "go", "one", options, collect, 2))
		s.remember(first)
		again := must(s.client.SignalWithStartWorkflow(ctx, id, "go", "two", options, collect, 2))
		expect("run", again.GetRunID(), first.GetRunID())
		expectResult(ctx, first, []string{"one", "two"})
	}},
	{"a workflow signals and cancels others, and learns of one that does not exist", func(ctx context.Context, s *stage) {
		signaled, canceled := s.start(ctx, collect, 1), s.start(ctx, cleanUp)
		s.idle(ctx, canceled)
		expectResult(ctx, s.start(ctx, tell, signaled.GetID(), canceled.GetID(), s.name("missing")), "*internal.UnknownExternalWorkflowExecutionError")
		expectResult(ctx, signaled, []string{"from outside"})
		expectCanceled(canceled.Get(ctx, nil))
	}},
	{"a signal to a workflow that is closed or unknown is refused", func(ctx context.Context, s *stage) {
		run := s.start(ctx, collect, 0)
		check(run.Get(ctx, nil))
		for _, id := range []string{run.GetID(), s.name("unknown")} {
			expectError[*serviceerror.NotFound](s.client.SignalWorkflow(ctx, id, "", "go", "late"))
		}
	}},
}
