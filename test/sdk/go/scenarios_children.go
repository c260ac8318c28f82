package main

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

var childWorkflows = []any{doubled, failing, family, leaveBehind, cancelChild}

func doubled(_ workflow.Context, number int) (int, error) { return 2 * number, nil }

func failing(workflow.Context) error { return temporal.NewApplicationError("grounded", "Grounded") }

// family has one child that completes, one that fails, and one that starts under an id that is taken.
func family(ctx workflow.Context) (string, error) {
	var twice int
	if err := workflow.ExecuteChildWorkflow(ctx, doubled, 21).Get(ctx, &twice); err != nil {
		return "", err
	}
	var failure *temporal.ApplicationError
	if err := workflow.ExecuteChildWorkflow(ctx, failing).Get(ctx, nil); !errors.As(err, &failure) {
		return "", fmt.Errorf("the child did not fail: %w", err)
	}
	taken := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID})
	if err := workflow.ExecuteChildWorkflow(taken, doubled, 1).Get(ctx, nil); !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return "", fmt.Errorf("the child started: %w", err)
	}
	return fmt.Sprint(twice, " ", failure.Type()), nil
}

// leaveBehind ends while its child runs.
func leaveBehind(ctx workflow.Context, policy enums.ParentClosePolicy) (string, error) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{ParentClosePolicy: policy})
	var child workflow.Execution
	err := workflow.ExecuteChildWorkflow(ctx, collect, 1).GetChildWorkflowExecution().Get(ctx, &child)
	return child.ID, err
}

func cancelChild(ctx workflow.Context) (bool, error) {
	of, cancel := workflow.WithCancel(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WaitForCancellation: true}))
	child := workflow.ExecuteChildWorkflow(of, cleanUp)
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return false, err
	}
	if err := child.SignalChildWorkflow(ctx, "unheard", nil).Get(ctx, nil); err != nil {
		return false, err
	}
	cancel()
	return temporal.IsCanceledError(child.Get(ctx, nil)), nil
}

var childScenarios = []scenario{
	{"children complete, fail, and do not start under an id that is taken", func(ctx context.Context, s *stage) {
		expectResult(ctx, s.start(ctx, family), "42 Grounded")
	}},
	{"a parent signals its child, cancels it and waits for it", func(ctx context.Context, s *stage) {
		expectResult(ctx, s.start(ctx, cancelChild), true)
	}},
	{"close policies: what happens to a child when its parent ends", func(ctx context.Context, s *stage) {
		left := func(policy enums.ParentClosePolicy) (child string) {
			check(s.start(ctx, leaveBehind, policy).Get(ctx, &child))
			return child
		}
		terminated := left(enums.PARENT_CLOSE_POLICY_TERMINATE)
		asked := left(enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL)
		abandoned := left(enums.PARENT_CLOSE_POLICY_ABANDON)
		eventually(ctx, "a terminated child", func() bool {
			return s.status(ctx, terminated, "") == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
		})
		// It does not look at the request, which stands all the same.
		eventually(ctx, "a cancel request", func() bool {
			run := s.client.GetWorkflow(ctx, asked, "")
			return s.describe(ctx, run).GetWorkflowExtendedInfo().GetCancelRequested()
		})
		for _, child := range []string{asked, abandoned} {
			check(s.client.SignalWorkflow(ctx, child, "", "go", "alone"))
			expectResult(ctx, s.client.GetWorkflow(ctx, child, ""), []string{"alone"})
		}
	}},
}
